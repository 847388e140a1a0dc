package group

import (
	"cmp"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/machine"
)

// Committed offsets are the larger part of what a coordinator remembers: a broker may keep millions, most of them one
// partition each of a topic that many groups read. A map of maps of maps costs several times what is in it. So a group has
// a sorted list of topics, a topic a sorted list of partitions, names are stored once in the machine, and what few commits
// have stands apart. Sorted lists also give every walk one order.
//
// All of it is durable state: it changes in Apply alone. Offsets of open transactions stand beside the committed ones of
// their topic (pending_offsets.go).

// offsets are what one group has committed, or has in open transactions.
type offsets struct {
	topics []*topicOffsets // by name
}

// topicOffsets are a group's offsets of one topic. It exists while it has any.
type topicOffsets struct {
	topic *offsetTopic
	group string
	place int         // where topic.in has it
	list  []committed // by partition
	open  *openOffsets
}

// committed is one committed offset.
type committed struct {
	partition   int32
	leaderEpoch int32 // noLeaderEpoch: not given
	offset      int64
	at          int64 // when, in milliseconds
	id          *topicID
	more        *commitDetail
}

// topicID is shared by the commits of a topic; nil: not given. It never changes.
type topicID [16]byte

// commitDetail is what few commits have; nil: nothing of it. It never changes, so answers may point into it.
type commitDetail struct {
	metadata string
	expires  int64 // noExpiry: as the group's
}

// offsetIndex finds the offsets of a topic in all groups, and keeps one copy of its name.
type offsetIndex struct {
	topics  map[string]*offsetTopic
	stored  int64 // how many committed offsets
	pending int64 // how many in open transactions
}

// offsetTopic is one topic of the index. It exists while a group has offsets of it.
type offsetTopic struct {
	name string
	in   []*topicOffsets // one a group, in no order
}

// applyOffset changes the committed offsets by a record for whose key isOffsetKey holds. An error says why the record had
// no effect. A commit of an unknown group makes it a simple one, as in a replay: such groups have no record of their own.
func (m *Machine) applyOffset(r machine.Record) error {
	k, err := readOffsetKey(r.Key)
	if err != nil {
		return err
	}
	g := m.group(k.Group)
	if r.Value == nil {
		if g != nil {
			m.removeOffset(g, k.Topic, k.Partition)
		}
		return nil
	}
	v, err := readOffsetValue(r.Value)
	if err != nil {
		return err
	}
	if g == nil {
		g = m.groupForCommit(strings.Clone(k.Group))
	}
	t := m.offsets.of(g, k.Topic)
	if r.Producer.Transactional {
		m.holdOffset(r.Producer, t, k.Partition, v)
		return nil
	}
	m.offsets.set(t, t.offset(k.Partition, v))
	t.open.overtake(k.Partition)
	return nil
}

// of returns a group's offsets of a topic, which are begun if there are none: one must follow.
func (x *offsetIndex) of(g *Group, topic string) *topicOffsets {
	if t := g.offsets.topic(topic); t != nil {
		return t
	}
	return x.add(g.name, &g.offsets, topic)
}

// offset is v as t keeps it. Strings of v are copied as far as they are kept.
func (t *topicOffsets) offset(partition int32, v kmsg.OffsetCommitValue) committed {
	return committed{
		partition: partition, leaderEpoch: v.LeaderEpoch, offset: v.Offset, at: v.CommitTimestamp,
		id: t.share(partition, v.TopicID), more: detail(v),
	}
}

// set commits c.
func (x *offsetIndex) set(t *topicOffsets, c committed) {
	i, found := t.search(c.partition)
	if found {
		t.list[i] = c
		return
	}
	t.list = slices.Insert(t.list, i, c)
	x.stored++
}

// add begins the offsets of one more topic.
func (x *offsetIndex) add(group string, o *offsets, name string) *topicOffsets {
	topic := x.topics[name]
	if topic == nil {
		topic = &offsetTopic{name: strings.Clone(name)}
		if x.topics == nil {
			x.topics = map[string]*offsetTopic{}
		}
		x.topics[topic.name] = topic
	}
	t := &topicOffsets{topic: topic, group: group, place: len(topic.in)}
	topic.in = append(topic.in, t)
	i, _ := o.search(name)
	o.topics = slices.Insert(o.topics, i, t)
	return t
}

// removeOffset takes away what a partition has, also in open transactions.
func (m *Machine) removeOffset(g *Group, topic string, partition int32) {
	t := g.offsets.topic(topic)
	if t == nil {
		return
	}
	if i, found := t.search(partition); found {
		t.list = slices.Delete(t.list, i, i+1)
		m.offsets.stored--
	}
	m.dropOpen(t, partition)
	m.offsets.tidy(&g.offsets, t)
}

// tidy forgets what is empty after something was taken away.
func (x *offsetIndex) tidy(o *offsets, t *topicOffsets) {
	if t.open != nil && len(t.open.list) == 0 {
		t.open = nil
	}
	if len(t.list) > 0 || t.open != nil {
		return
	}
	if at, found := o.search(t.topic.name); found {
		o.topics = slices.Delete(o.topics, at, at+1)
		x.forget(t)
	}
}

// forget takes t out of its topic: the last one moves into its place.
func (x *offsetIndex) forget(t *topicOffsets) {
	in := t.topic.in
	last := len(in) - 1
	in[t.place] = in[last]
	in[t.place].place = t.place
	in[last] = nil
	t.topic.in = in[:last]
	if last == 0 {
		delete(x.topics, t.topic.name)
	}
}

// names are the topics that offsets are kept for, in order.
func (x *offsetIndex) names() []string {
	names := make([]string, 0, len(x.topics))
	for name := range x.topics {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (o *offsets) empty() bool { return len(o.topics) == 0 }

func (o *offsets) search(topic string) (int, bool) {
	return slices.BinarySearchFunc(o.topics, topic, func(t *topicOffsets, name string) int {
		return strings.Compare(t.topic.name, name)
	})
}

// topic returns the offsets of one topic, nil when there are none.
func (o *offsets) topic(name string) *topicOffsets {
	if i, found := o.search(name); found {
		return o.topics[i]
	}
	return nil
}

// tombstones take away all offsets.
func (o *offsets) tombstones(group string) []machine.Record {
	var out []machine.Record
	for _, t := range o.topics {
		out = t.tombstones(group, out)
	}
	return out
}

func (t *topicOffsets) tombstones(group string, out []machine.Record) []machine.Record {
	for _, p := range t.partitions() {
		out = append(out, offsetTombstone(group, t.topic.name, p))
	}
	return out
}

// partitions are those that have an offset, committed or not, in order.
func (t *topicOffsets) partitions() []int32 {
	all := make([]int32, 0, len(t.list))
	for i := range t.list {
		all = append(all, t.list[i].partition)
	}
	if t.open != nil {
		for i := range t.open.list {
			all = append(all, t.open.list[i].value.partition)
		}
		slices.Sort(all)
		all = slices.Compact(all)
	}
	return all
}

// search finds a partition. Nearly always all of them are there, and one stands where its number says.
func (t *topicOffsets) search(partition int32) (int, bool) {
	if i := int(partition); i >= 0 && i < len(t.list) && t.list[i].partition == partition {
		return i, true
	}
	return slices.BinarySearchFunc(t.list, partition, func(c committed, p int32) int { return cmp.Compare(c.partition, p) })
}

// get returns what is committed for a partition, nil for nothing. The result is good until the next Apply.
func (t *topicOffsets) get(partition int32) *committed {
	if t == nil {
		return nil
	}
	if i, found := t.search(partition); found {
		return &t.list[i]
	}
	return nil
}

// share returns a pointer to id that a commit of the topic has already, where one is at hand: the partition's, the first
// or the last one's.
func (t *topicOffsets) share(partition int32, id topicID) *topicID {
	if id == (topicID{}) {
		return nil
	}
	if n := len(t.list); n > 0 {
		i, _ := t.search(partition)
		for _, c := range []*committed{&t.list[min(i, n-1)], &t.list[0], &t.list[n-1]} {
			if c.id != nil && *c.id == id {
				return c.id
			}
		}
	}
	kept := id // not &id: that would allocate in every call
	return &kept
}

func detail(v kmsg.OffsetCommitValue) *commitDetail {
	if v.Metadata == "" && v.ExpireTimestamp == noExpiry {
		return nil
	}
	return &commitDetail{metadata: strings.Clone(v.Metadata), expires: v.ExpireTimestamp}
}

// expires is when the committer wanted c to end, in milliseconds; noExpiry: not said.
func (c *committed) expires() int64 {
	if c.more == nil {
		return noExpiry
	}
	return c.more.expires
}

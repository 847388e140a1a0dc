package group

import (
	"cmp"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/machine"
)

// Committed offsets are the larger part of what a coordinator remembers: a broker may keep millions, most of them one
// partition each of a topic that many groups read. A map of maps of maps costs several times what is in it. So a group has
// a sorted list of topics, a topic a sorted list of partitions, names are stored once in the machine, and what few commits
// have stands apart. Sorted lists also give every walk one order.
//
// All of it is durable state: it changes in Apply alone (applyOffset). Offsets of open transactions will stand beside the
// committed ones, per producer; a plain commit or a tombstone that is applied after them marks those of its partition as
// overtaken, which is the same as comparing their places in the log (R-D22).

// offsets are what one group has committed.
type offsets struct {
	topics []*topicOffsets // by name
}

// topicOffsets are a group's offsets of one topic. It exists while it has any.
type topicOffsets struct {
	topic *offsetTopic
	group string
	place int         // where topic.in has it
	list  []committed // by partition
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
	topics map[string]*offsetTopic
	stored int64 // how many offsets
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
			m.offsets.remove(&g.offsets, k.Topic, k.Partition)
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
	m.offsets.put(g.name, &g.offsets, k, v)
	return nil
}

// put stores v. Strings of k and v are copied as far as they are kept.
func (x *offsetIndex) put(group string, o *offsets, k kmsg.OffsetCommitKey, v kmsg.OffsetCommitValue) {
	t := o.topic(k.Topic)
	if t == nil {
		t = x.add(group, o, k.Topic)
	}
	i, found := t.search(k.Partition)
	if !found {
		t.list = slices.Insert(t.list, i, committed{partition: k.Partition})
		x.stored++
	}
	c := &t.list[i]
	c.leaderEpoch, c.offset, c.at = v.LeaderEpoch, v.Offset, v.CommitTimestamp
	c.id = t.share(c.id, v.TopicID)
	c.more = detail(v)
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

// remove takes one offset away, with its topic when it was the last.
func (x *offsetIndex) remove(o *offsets, topic string, partition int32) {
	at, found := o.search(topic)
	if !found {
		return
	}
	t := o.topics[at]
	i, found := t.search(partition)
	if !found {
		return
	}
	t.list = slices.Delete(t.list, i, i+1)
	x.stored--
	if len(t.list) == 0 {
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
	out = slices.Grow(out, len(t.list))
	for i := range t.list {
		out = append(out, offsetTombstone(group, t.topic.name, t.list[i].partition))
	}
	return out
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

// share returns a pointer to id that a commit of the topic has already, where one is at hand: was, or the first one's.
func (t *topicOffsets) share(was *topicID, id topicID) *topicID {
	if id == (topicID{}) {
		return nil
	}
	for _, have := range []*topicID{was, t.list[0].id, t.list[len(t.list)-1].id} {
		if have != nil && *have == id {
			return have
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

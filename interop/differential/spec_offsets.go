package differential

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// commitSpec is an OffsetCommit request.
type commitSpec struct {
	group    string
	version  int16
	id       string
	instance string
	of       string // whose generation is sent; "": none, −1
	plus     int32
	topics   []commitTopic
	// retention is what v2 to v4 name, in milliseconds.
	retention int64
}

type commitTopic struct {
	name       string
	byID       string // "" its own, "unknown", "zero": for v10
	partitions []commitPartition
}

type commitPartition struct {
	partition int32
	offset    int64
	epoch     int32
	metadata  text
}

// text is a string that is long: so many times what it repeats. Null when it
// repeats nothing.
type text struct {
	of    string
	times int
}

func (t text) String() string {
	if t.of == "" {
		return "null"
	}
	return fmt.Sprintf("%q*%d", t.of, t.times)
}

func (t text) pointer() *string {
	if t.of == "" {
		return nil
	}
	return kmsg.StringPtr(strings.Repeat(t.of, t.times))
}

func (c commitSpec) String() string {
	s := fmt.Sprintf("as %q generation", c.id)
	if c.of == "" {
		s += " none"
	} else {
		s += fmt.Sprintf(" %s%+d", c.of, c.plus)
	}
	if c.instance != "" {
		s += " instance " + c.instance
	}
	if c.version < 5 && c.retention != -1 {
		s += fmt.Sprint(" retention ", c.retention)
	}
	return fmt.Sprintf("%s %q %v", s, c.group, c.topics)
}

func (c commitSpec) step() step {
	return step{
		text: say("OffsetCommit", c.version, "%s", c),
		request: func(s *side) kmsg.Request {
			request := kmsg.NewPtrOffsetCommitRequest()
			request.Version, request.Group, request.MemberID = c.version, c.group, s.cast.id(c.id)
			request.InstanceID, request.Generation, request.RetentionTimeMillis = optional(c.instance), -1, c.retention
			if c.of != "" {
				request.Generation = s.cast.player(c.of).generation + c.plus
			}
			s.cast.committed[c.group] = true
			for _, t := range c.topics {
				request.Topics = append(request.Topics, t.build(s, request.Generation < 0))
			}
			return request
		},
	}
}

// build leaves out metadata that are too long when short is set: a commit of
// which nothing is kept makes a group in Kafka alone.
func (t commitTopic) build(s *side, short bool) kmsg.OffsetCommitRequestTopic {
	out := kmsg.NewOffsetCommitRequestTopic()
	out.Topic, out.TopicID = t.name, s.anyID(t.name, t.byID)
	for _, p := range t.partitions {
		one := kmsg.NewOffsetCommitRequestTopicPartition()
		one.Partition, one.Offset, one.LeaderEpoch, one.Metadata = p.partition, p.offset, s.epoch(t.name, p.epoch), p.metadata.pointer()
		if short && p.metadata.times > 1000 {
			one.Metadata = nil
		}
		out.Partitions = append(out.Partitions, one)
	}
	return out
}

// anyID is the id of a topic, or another.
func (s *side) anyID(topic, which string) [16]byte {
	switch which {
	case "unknown":
		return s.id("nothing")
	case "zero":
		return [16]byte{}
	}
	return s.id(topic)
}

// fetchTopic is a topic whose committed offsets are asked for.
type fetchTopic struct {
	name       string
	byID       string
	partitions []int32
}

// offsetFetchSpec is an OffsetFetch request, single to v7 and batched from v8.
type offsetFetchSpec struct {
	version int16
	groups  []string // before v8 the first counts
	topics  []fetchTopic
	all     bool // null topics
	stable  bool
	member  string // what v9 says of the member; "": null
	epoch   int32
}

func (f offsetFetchSpec) step() step {
	return step{
		text: say("OffsetFetch", f.version, "%q %v all=%v stable=%v member %q epoch %d %s", f.groups, f.topics, f.all, f.stable, f.member, f.epoch, f.again()),
		request: func(s *side) kmsg.Request {
			request := kmsg.NewPtrOffsetFetchRequest()
			request.Version, request.RequireStable = f.version, f.stable
			if f.version < 8 {
				request.Group = f.groups[0]
				request.Topics = f.single()
				return request
			}
			for _, name := range f.groups {
				g := kmsg.NewOffsetFetchRequestGroup()
				g.Group, g.MemberID, g.MemberEpoch, g.Topics = name, optional(f.member), f.epoch, f.batched(s)
				request.Groups = append(request.Groups, g)
			}
			return request
		},
	}
}

func (f offsetFetchSpec) single() []kmsg.OffsetFetchRequestTopic {
	if f.all {
		return nil
	}
	topics := []kmsg.OffsetFetchRequestTopic{}
	for _, t := range f.topics {
		one := kmsg.NewOffsetFetchRequestTopic()
		one.Topic, one.Partitions = t.name, t.partitions
		topics = append(topics, one)
	}
	return topics
}

func (f offsetFetchSpec) batched(s *side) []kmsg.OffsetFetchRequestGroupTopic {
	if f.all {
		return nil
	}
	topics := []kmsg.OffsetFetchRequestGroupTopic{}
	for _, t := range f.topics {
		one := kmsg.NewOffsetFetchRequestGroupTopic()
		one.Topic, one.TopicID, one.Partitions = t.name, s.anyID(t.name, t.byID), t.partitions
		topics = append(topics, one)
	}
	return topics
}

// offsetDeleteSpec is an OffsetDelete request.
type offsetDeleteSpec struct {
	group  string
	topics []fetchTopic
}

func (d offsetDeleteSpec) step() step {
	return step{
		text: say("OffsetDelete", 0, "%q %v", d.group, d.topics),
		request: func(*side) kmsg.Request {
			request := kmsg.NewPtrOffsetDeleteRequest()
			request.Group = d.group
			for _, t := range d.topics {
				one := kmsg.NewOffsetDeleteRequestTopic()
				one.Topic = t.name
				for _, p := range t.partitions {
					one.Partitions = append(one.Partitions, kmsg.OffsetDeleteRequestTopicPartition{Partition: p})
				}
				request.Topics = append(request.Topics, one)
			}
			return request
		},
	}
}

// again marks requests that name a group twice, or a topic, or an id that is
// nobody's.
func (f offsetFetchSpec) again() string {
	var topics []string
	for _, t := range f.topics {
		if t.byID != "" {
			topics = append(topics, t.byID)
			continue
		}
		topics = append(topics, t.name)
	}
	return again(f.groups) + again(topics)
}

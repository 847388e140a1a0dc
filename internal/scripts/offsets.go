package scripts

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Offsets builds requests about committed offsets, and those of simple members around them. The first word of a command is
// the group, "-" the empty one; the second of a member's is its name.
type Offsets struct {
	T     Failer
	Group func(name string) string // what the broker calls a group
	IDs   map[string]string        // of members, by name, as they were told
}

func (b Offsets) group(o Options) string {
	if o.Words[0] == "-" {
		return b.Group("")
	}
	return b.Group(o.Words[0])
}

// id is the member id behind a name; one that never joined stands for itself.
func (b Offsets) id(name string) string {
	if id, joined := b.IDs[name]; joined {
		return id
	}
	return name
}

// Join subscribes to topics=, or with raw=, in hexadecimal.
func (b Offsets) Join(o Options) *kmsg.JoinGroupRequest {
	r := kmsg.NewPtrJoinGroupRequest()
	r.Version, r.Group, r.MemberID = int16(o.Number("v", 3)), b.group(o), b.IDs[o.Words[1]]
	r.ProtocolType = o.Text("type", "consumer")
	r.SessionTimeoutMillis, r.RebalanceTimeoutMillis = 30_000, 60_000
	if r.InstanceID = o.Pointer("inst"); r.InstanceID != nil {
		r.Version = 5
	}
	p := kmsg.NewJoinGroupRequestProtocol()
	p.Name = "range"
	if raw := o.Text("raw", ""); o.Given("raw") {
		p.Metadata = unhex(b.T, raw)
	} else {
		m := kmsg.NewConsumerMemberMetadata()
		m.Version, m.Topics = 3, list(o.Text("topics", "t"))
		p.Metadata = m.AppendTo(nil)
	}
	r.Protocols = append(r.Protocols, p)
	return r
}

// Sync has the assignments MEMBER=topic/0,topic/1.
func (b Offsets) Sync(o Options) *kmsg.SyncGroupRequest {
	r := kmsg.NewPtrSyncGroupRequest()
	r.Version, r.Group, r.MemberID, r.Generation = 3, b.group(o), b.id(o.Words[1]), int32(o.Number("gen", 1))
	for _, name := range slices.Sorted(maps.Keys(b.IDs)) {
		if !o.Given(name) {
			continue
		}
		a := kmsg.NewConsumerMemberAssignment()
		for _, place := range list(o.Text(name, "")) {
			topic, partition := o.place(place)
			a.Topics = append(a.Topics, kmsg.ConsumerMemberAssignmentTopic{Topic: topic, Partitions: []int32{partition}})
		}
		r.GroupAssignment = append(r.GroupAssignment, kmsg.SyncGroupRequestGroupAssignment{MemberID: b.IDs[name], MemberAssignment: a.AppendTo(nil)})
	}
	return r
}

// Heartbeat is of generation 1 unless gen= says otherwise.
func (b Offsets) Heartbeat(o Options) *kmsg.HeartbeatRequest {
	return &kmsg.HeartbeatRequest{Version: 3, Group: b.group(o), MemberID: b.id(o.Words[1]), Generation: int32(o.Number("gen", 1))}
}

// Leave is of a version that names one member.
func (b Offsets) Leave(o Options) *kmsg.LeaveGroupRequest {
	return &kmsg.LeaveGroupRequest{Version: 2, Group: b.group(o), MemberID: b.id(o.Words[1])}
}

// Commit is of topic/0=5[,epoch=3][,meta=x*10][,id=7] …
func (b Offsets) Commit(o Options) *kmsg.OffsetCommitRequest {
	r := kmsg.NewPtrOffsetCommitRequest()
	r.Version, r.Group, r.MemberID = int16(o.Number("v", 8)), b.group(o), b.id(o.Text("as", ""))
	r.Generation, r.InstanceID, r.RetentionTimeMillis = int32(o.Number("gen", -1)), o.Pointer("inst"), o.Number("keep", -1)
	for _, place := range o.Places {
		where, what, _ := strings.Cut(place, "=")
		t, p := kmsg.NewOffsetCommitRequestTopic(), kmsg.NewOffsetCommitRequestTopicPartition()
		t.Topic, p.Partition = o.place(where)
		parts := strings.Split(what, ",")
		p.Offset = o.number(parts[0])
		for _, part := range parts[1:] {
			switch key, value, _ := strings.Cut(part, "="); key {
			case "epoch":
				p.LeaderEpoch = int32(o.number(value))
			case "meta":
				p.Metadata = kmsg.StringPtr(o.repeated(value))
			case "id":
				t.TopicID[0] = byte(o.number(value))
			}
		}
		t.Partitions = append(t.Partitions, p)
		r.Topics = append(r.Topics, t)
	}
	return r
}

// Fetch is of topic/0[,id=7] …; without places of all.
func (b Offsets) Fetch(o Options) kmsg.OffsetFetchRequestGroup {
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = b.group(o)
	for _, place := range o.Places {
		where, id, identified := strings.Cut(place, ",id=")
		t := kmsg.NewOffsetFetchRequestGroupTopic()
		topic, partition := o.place(where)
		if t.Topic, t.Partitions = topic, []int32{partition}; identified {
			t.TopicID[0] = byte(o.number(id))
		}
		g.Topics = append(g.Topics, t)
	}
	return g
}

// Drop deletes topic/0 …
func (b Offsets) Drop(o Options) *kmsg.OffsetDeleteRequest {
	r := kmsg.NewPtrOffsetDeleteRequest()
	r.Group = b.group(o)
	for _, place := range o.Places {
		topic, partition := o.place(place)
		r.Topics = append(r.Topics, kmsg.OffsetDeleteRequestTopic{Topic: topic, Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{Partition: partition}}})
	}
	return r
}

func list(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

// place reads "topic/3".
func (o Options) place(text string) (topic string, partition int32) {
	topic, number, _ := strings.Cut(text, "/")
	return topic, int32(o.number(number))
}

// SayOffsets is an answer in words, a line for each partition.
func SayOffsets(value any) (lines []string) {
	say := func(topic string, partition int32, code int16) {
		lines = append(lines, fmt.Sprintf("%s/%d %s", topic, partition, Code(code)))
	}
	switch v := value.(type) {
	case *kmsg.JoinGroupResponse:
		return []string{fmt.Sprintf("joined %s generation %d", Code(v.ErrorCode), v.Generation)}
	case *kmsg.SyncGroupResponse:
		return []string{"synced " + Code(v.ErrorCode)}
	case *kmsg.HeartbeatResponse:
		return []string{"heartbeat " + Code(v.ErrorCode)}
	case *kmsg.LeaveGroupResponse:
		return []string{"left " + Code(v.ErrorCode)}
	case *kmsg.OffsetFetchResponseGroup:
		return sayFetched(v)
	case *kmsg.OffsetCommitResponse:
		for _, t := range v.Topics {
			for _, p := range t.Partitions {
				say(t.Topic, p.Partition, p.ErrorCode)
			}
		}
	case *kmsg.TxnOffsetCommitResponse:
		for _, t := range v.Topics {
			for _, p := range t.Partitions {
				say(t.Topic, p.Partition, p.ErrorCode)
			}
		}
	case *kmsg.OffsetDeleteResponse:
		if v.ErrorCode != 0 {
			return []string{Code(v.ErrorCode)}
		}
		for _, t := range v.Topics {
			for _, p := range t.Partitions {
				say(t.Topic, p.Partition, p.ErrorCode)
			}
		}
	case int16:
		return []string{Code(v)}
	default:
		return []string{fmt.Sprintf("%T", value)}
	}
	return lines
}

func sayFetched(g *kmsg.OffsetFetchResponseGroup) (lines []string) {
	if g.ErrorCode != 0 {
		return []string{Code(g.ErrorCode)}
	}
	for _, t := range g.Topics {
		if len(t.Partitions) == 0 {
			lines = append(lines, t.Topic+" without partitions")
		}
		for _, p := range t.Partitions {
			line := fmt.Sprintf("%s/%d %d", t.Topic, p.Partition, p.Offset)
			if p.LeaderEpoch != -1 {
				line += fmt.Sprintf(" epoch %d", p.LeaderEpoch)
			}
			if id := t.TopicID[0]; id != 0 {
				line += fmt.Sprintf(" id %d", id)
			}
			if text(p.Metadata) != "" || p.Metadata == nil {
				line += fmt.Sprintf(" %.20q", text(p.Metadata))
			}
			if p.ErrorCode != 0 {
				line += " " + Code(p.ErrorCode)
			}
			lines = append(lines, line)
		}
	}
	if lines == nil {
		return []string{"nothing"}
	}
	return lines
}

// Code is the name of an error code.
func Code(code int16) string {
	if code == 0 {
		return "ok"
	}
	return kerr.TypedErrorForCode(code).Message
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

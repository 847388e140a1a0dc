package group

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/machine"
)

// commit builds the request of a script's line.
func (s *offsetScript) commit(c command) Commit {
	r := kmsg.NewPtrOffsetCommitRequest()
	r.Version, r.Group, r.MemberID, r.Generation = int16(c.int32("v", 8)), name(c), s.id(c.text("as", "")), c.int32("gen", -1)
	if inst, given := c.options["inst"]; given {
		r.InstanceID = &inst
	}
	if keep, given := c.options["keep"]; given {
		r.RetentionTimeMillis = number(keep)
	}
	for _, place := range c.places {
		where, what, _ := strings.Cut(place, "=")
		topic, partition := topicPartition(where)
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Partition = partition
		parts := strings.Split(what, ",")
		p.Offset = number(parts[0])
		t := kmsg.OffsetCommitRequestTopic{Topic: topic}
		for _, part := range parts[1:] {
			switch key, value, _ := strings.Cut(part, "="); key {
			case "epoch":
				p.LeaderEpoch = int32(number(value))
			case "meta":
				p.Metadata = kmsg.StringPtr(repeated(value))
			case "id":
				t.TopicID[0] = byte(number(value))
			}
		}
		t.Partitions = append(t.Partitions, p)
		r.Topics = append(r.Topics, t)
	}
	return Commit{Request: r}
}

// name is the group's; "-" stands for the empty one.
func name(c command) string {
	if c.words[0] == "-" {
		return ""
	}
	return c.words[0]
}

// repeated reads "x*10" as ten times x.
func repeated(text string) string {
	if what, times, found := strings.Cut(text, "*"); found {
		return strings.Repeat(what, int(number(times)))
	}
	return text
}

func (s *offsetScript) fetch(c command) Fetch {
	f := Fetch{Group: name(c)}
	for _, place := range c.places {
		where, id, identified := strings.Cut(place, ",id=")
		topic, partition := topicPartition(where)
		t := kmsg.OffsetFetchRequestGroupTopic{Topic: topic, Partitions: []int32{partition}}
		if identified {
			t.TopicID[0] = byte(number(id))
		}
		f.Topics = append(f.Topics, t)
	}
	return f
}

func (s *offsetScript) drop(c command) DeleteOffsets {
	r := kmsg.NewPtrOffsetDeleteRequest()
	r.Group = name(c)
	for _, place := range c.places {
		topic, partition := topicPartition(place)
		p := []kmsg.OffsetDeleteRequestTopicPartition{{Partition: partition}}
		r.Topics = append(r.Topics, kmsg.OffsetDeleteRequestTopic{Topic: topic, Partitions: p})
	}
	return DeleteOffsets{Request: r}
}

// print writes down the answers of a command, and remembers the ids of who joined.
func (s *offsetScript) print() string {
	var lines []string
	for _, a := range s.w.answers {
		what := s.describe(a)
		if a.who != "" {
			for i := range what {
				what[i] = a.who + ": " + what[i]
			}
		}
		lines = append(lines, what...)
	}
	return strings.Join(indent(lines), "")
}

func indent(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = "  " + l + "\n"
	}
	return out
}

func (s *offsetScript) describe(a answered) []string {
	switch v := a.value.(type) {
	case *kmsg.JoinGroupResponse:
		s.ids[a.who] = v.MemberID
		return []string{fmt.Sprintf("joined %s generation %d", codeName(v.ErrorCode), v.Generation)}
	case *kmsg.SyncGroupResponse:
		return []string{"synced " + codeName(v.ErrorCode)}
	case *kmsg.HeartbeatResponse:
		return []string{"heartbeat " + codeName(v.ErrorCode)}
	case *kmsg.LeaveGroupResponse:
		return []string{"left " + codeName(v.ErrorCode)}
	case *kmsg.OffsetCommitResponse:
		return describeCommit(v)
	case *kmsg.OffsetFetchResponseGroup:
		return describeFetch(v)
	case *kmsg.OffsetDeleteResponse:
		return describeDrop(v)
	case *kmsg.TxnOffsetCommitResponse:
		return describeTxnCommit(v)
	case Counts:
		return []string{fmt.Sprintf("%d offsets, %d pending, %d commits, %d deleted", v.Offsets, v.Pending, v.Commits, v.Deleted)}
	case int16:
		return []string{codeName(v)}
	case []string:
		return v
	case nil:
		return []string{"done"}
	}
	return []string{fmt.Sprintf("%T", a.value)}
}

func describeCommit(r *kmsg.OffsetCommitResponse) (out []string) {
	for _, t := range r.Topics {
		for _, p := range t.Partitions {
			out = append(out, fmt.Sprintf("%s/%d %s", t.Topic, p.Partition, codeName(p.ErrorCode)))
		}
	}
	return out
}

func describeFetch(g *kmsg.OffsetFetchResponseGroup) (out []string) {
	if g.ErrorCode != 0 {
		return []string{codeName(g.ErrorCode)}
	}
	for _, t := range g.Topics {
		if len(t.Partitions) == 0 {
			out = append(out, t.Topic+" without partitions")
		}
		for _, p := range t.Partitions {
			line := fmt.Sprintf("%s/%d %d", t.Topic, p.Partition, p.Offset)
			if p.LeaderEpoch != noLeaderEpoch {
				line += fmt.Sprintf(" epoch %d", p.LeaderEpoch)
			}
			if id := t.TopicID[0]; id != 0 {
				line += fmt.Sprintf(" id %d", id)
			}
			if text(p.Metadata) != "" || p.Metadata == nil {
				line += fmt.Sprintf(" %.20q", text(p.Metadata))
			}
			if p.ErrorCode != 0 {
				line += " " + codeName(p.ErrorCode)
			}
			out = append(out, line)
		}
	}
	if out == nil {
		return []string{"nothing"}
	}
	return out
}

func describeDrop(r *kmsg.OffsetDeleteResponse) (out []string) {
	if r.ErrorCode != 0 {
		return []string{codeName(r.ErrorCode)}
	}
	for _, t := range r.Topics {
		for _, p := range t.Partitions {
			out = append(out, fmt.Sprintf("%s/%d %s", t.Topic, p.Partition, codeName(p.ErrorCode)))
		}
	}
	return out
}

func codeName(code int16) string {
	if code == 0 {
		return "ok"
	}
	return kerr.TypedErrorForCode(code).Message
}

// printRecords writes down the records of the last step.
func printRecords(records []machine.Record) string {
	var lines []string
	for _, r := range records {
		lines = append(lines, describeRecord(r))
	}
	return strings.Join(indent(lines), "")
}

func describeRecord(r machine.Record) string {
	version, _ := keyVersion(r.Key)
	what := "group"
	if isOffsetKey(version) {
		k, err := readOffsetKey(r.Key)
		what = fmt.Sprintf("offset of %s in %s/%d (%v)", k.Group, k.Topic, k.Partition, err)
		what = strings.TrimSuffix(what, " (<nil>)")
	}
	if r.Value == nil {
		return what + ": tombstone"
	}
	if !isOffsetKey(version) {
		return what + ": metadata"
	}
	if of := r.Producer; of.Transactional {
		what += fmt.Sprintf(" by %d.%d", of.ID, of.Epoch)
	}
	return fmt.Sprintf("%s: version %d", what, r.Value[1])
}

package offsets

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// command is what follows a command's name in a script.
type command struct {
	words   []string
	options map[string]string
	places  []string
}

func parse(fields []string) command {
	c := command{options: map[string]string{}}
	for _, f := range fields {
		name, value, option := strings.Cut(f, "=")
		switch {
		case strings.Contains(name, "/"):
			c.places = append(c.places, f)
		case option:
			c.options[name] = value
		default:
			c.words = append(c.words, f)
		}
	}
	return c
}

func (c command) text(name, otherwise string) string {
	if v, given := c.options[name]; given {
		return v
	}
	return otherwise
}

func (c command) number(name string, otherwise int64) int64 {
	if v, given := c.options[name]; given {
		return number(v)
	}
	return otherwise
}

func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic(err) // a script's author reads it
	}
	return n
}

func topicPartition(text string) (string, int32) {
	topic, partition, _ := strings.Cut(text, "/")
	return topic, int32(number(partition))
}

func list(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

// asker makes the request of a command; nil for one that cannot be asked over the wire.
func (p *player) asker(name string, c command) func() answer {
	switch name {
	case "join":
		return p.join(c)
	case "sync":
		return p.sync(c)
	case "leave":
		return p.leave(c)
	case "commit":
		return p.commit(c)
	case "fetch":
		return p.fetch(c)
	case "drop":
		return p.drop(c)
	case "delete":
		return p.delete(c)
	}
	return nil
}

// send sends one request in one version over a connection of its own: a parked one holds up what comes behind it.
func send[R kmsg.Response](p *player, version int16, r kmsg.Request, answered func(R) []string) answer {
	only := kversion.Stable()
	only.SetMaxKeyVersion(r.Key(), version)
	client, err := kgo.NewClient(kgo.SeedBrokers(p.addr), kgo.MaxVersions(only))
	if err != nil {
		return answer{lines: []string{err.Error()}}
	}
	defer client.Close()
	got, err := client.Request(p.ctx, r)
	if err != nil {
		return answer{lines: []string{err.Error()}}
	}
	if got.GetVersion() != version {
		return answer{lines: []string{fmt.Sprintf("answered in version %d, asked in %d", got.GetVersion(), version)}}
	}
	return answer{lines: answered(got.(R))}
}

func (p *player) group(c command) string {
	if c.words[0] == "-" {
		return ""
	}
	return p.prefix + c.words[0]
}

func (p *player) id(name string) string {
	if id, joined := p.ids[name]; joined {
		return id
	}
	return name
}

func (p *player) join(c command) func() answer {
	r, version := kmsg.NewPtrJoinGroupRequest(), int16(3)
	who := c.words[1]
	r.Group, r.MemberID, r.ProtocolType = p.group(c), p.ids[who], c.text("type", "consumer")
	r.SessionTimeoutMillis, r.RebalanceTimeoutMillis = 30_000, 60_000
	if inst := c.text("inst", ""); inst != "" {
		r.InstanceID, version = &inst, 5
	}
	protocol := kmsg.NewJoinGroupRequestProtocol()
	protocol.Name, protocol.Metadata = "range", subscription(c)
	r.Protocols = append(r.Protocols, protocol)
	return func() answer {
		var id string
		a := send(p, version, r, func(got *kmsg.JoinGroupResponse) []string {
			id = got.MemberID
			return []string{fmt.Sprintf("%s: joined %s generation %d", who, code(got.ErrorCode), got.Generation)}
		})
		a.who, a.id = who, id
		return a
	}
}

// subscription is the metadata of a member: raw bytes, or topics.
func subscription(c command) []byte {
	if raw, given := c.options["raw"]; given {
		b, err := hex.DecodeString(raw)
		if err != nil {
			panic(err) // a script's author reads it
		}
		return b
	}
	m := kmsg.NewConsumerMemberMetadata()
	m.Topics = list(c.text("topics", "t"))
	return m.AppendTo(nil)
}

func (p *player) sync(c command) func() answer {
	r := kmsg.NewPtrSyncGroupRequest()
	who := c.words[1]
	r.Group, r.MemberID, r.Generation = p.group(c), p.id(who), int32(c.number("gen", 1))
	for name, id := range p.ids {
		given, named := c.options[name]
		if !named {
			continue
		}
		a := kmsg.NewConsumerMemberAssignment()
		for _, place := range list(given) {
			topic, partition := topicPartition(place)
			a.Topics = append(a.Topics, kmsg.ConsumerMemberAssignmentTopic{Topic: topic, Partitions: []int32{partition}})
		}
		r.GroupAssignment = append(r.GroupAssignment, kmsg.SyncGroupRequestGroupAssignment{MemberID: id, MemberAssignment: a.AppendTo(nil)})
	}
	return func() answer {
		return send(p, 3, r, func(got *kmsg.SyncGroupResponse) []string {
			return []string{fmt.Sprintf("%s: synced %s", who, code(got.ErrorCode))}
		})
	}
}

func (p *player) leave(c command) func() answer {
	r := kmsg.NewPtrLeaveGroupRequest()
	who := c.words[1]
	r.Group, r.MemberID = p.group(c), p.id(who)
	return func() answer {
		return send(p, 2, r, func(got *kmsg.LeaveGroupResponse) []string {
			return []string{fmt.Sprintf("%s: left %s", who, code(got.ErrorCode))}
		})
	}
}

func (p *player) commit(c command) func() answer {
	r := kmsg.NewPtrOffsetCommitRequest()
	version := min(int16(c.number("v", 8)), 9) // version 10 names topics by id: see package files
	as := c.text("as", "")
	r.Group, r.MemberID, r.Generation = p.group(c), p.id(as), int32(c.number("gen", -1))
	r.RetentionTimeMillis = c.number("keep", -1)
	if inst, given := c.options["inst"]; given {
		r.InstanceID = &inst
	}
	for _, place := range c.places {
		where, what, _ := strings.Cut(place, "=")
		topic, partition := topicPartition(where)
		r.Topics = append(r.Topics, kmsg.OffsetCommitRequestTopic{Topic: topic, Partitions: []kmsg.OffsetCommitRequestTopicPartition{offset(partition, what)}})
	}
	return func() answer {
		return send(p, version, r, func(got *kmsg.OffsetCommitResponse) (out []string) {
			for _, t := range got.Topics {
				for _, o := range t.Partitions {
					line := fmt.Sprintf("%s/%d %s", t.Topic, o.Partition, code(o.ErrorCode))
					if as != "" {
						line = as + ": " + line
					}
					out = append(out, line)
				}
			}
			return out
		})
	}
}

// offset reads "5,epoch=3,meta=x*10".
func offset(partition int32, text string) kmsg.OffsetCommitRequestTopicPartition {
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	parts := strings.Split(text, ",")
	p.Partition, p.Offset = partition, number(parts[0])
	for _, part := range parts[1:] {
		switch key, value, _ := strings.Cut(part, "="); key {
		case "epoch":
			p.LeaderEpoch = int32(number(value))
		case "meta":
			if what, times, found := strings.Cut(value, "*"); found {
				value = strings.Repeat(what, int(number(times)))
			}
			p.Metadata = &value
		}
	}
	return p
}

func (p *player) fetch(c command) func() answer {
	if slices.ContainsFunc(c.places, func(s string) bool { return strings.Contains(s, ",id=") }) {
		return nil
	}
	r := kmsg.NewPtrOffsetFetchRequest()
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = p.group(c)
	for _, place := range c.places {
		topic, partition := topicPartition(place)
		g.Topics = append(g.Topics, kmsg.OffsetFetchRequestGroupTopic{Topic: topic, Partitions: []int32{partition}})
	}
	r.Groups = append(r.Groups, g)
	return func() answer {
		return send(p, 8, r, func(got *kmsg.OffsetFetchResponse) []string { return fetched(got.Groups[0]) })
	}
}

func fetched(g kmsg.OffsetFetchResponseGroup) (out []string) {
	if g.ErrorCode != 0 {
		return []string{code(g.ErrorCode)}
	}
	for _, t := range g.Topics {
		for _, p := range t.Partitions {
			line := fmt.Sprintf("%s/%d %d", t.Topic, p.Partition, p.Offset)
			if p.LeaderEpoch != -1 {
				line += fmt.Sprintf(" epoch %d", p.LeaderEpoch)
			}
			if p.Metadata == nil {
				line += " null"
			} else if *p.Metadata != "" {
				line += fmt.Sprintf(" %.20q", *p.Metadata)
			}
			if p.ErrorCode != 0 {
				line += " " + code(p.ErrorCode)
			}
			out = append(out, line)
		}
	}
	if out == nil {
		return []string{"nothing"}
	}
	return out
}

func (p *player) drop(c command) func() answer {
	r := kmsg.NewPtrOffsetDeleteRequest()
	r.Group = p.group(c)
	for _, place := range c.places {
		topic, partition := topicPartition(place)
		r.Topics = append(r.Topics, kmsg.OffsetDeleteRequestTopic{Topic: topic, Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{Partition: partition}}})
	}
	return func() answer {
		return send(p, 0, r, func(got *kmsg.OffsetDeleteResponse) (out []string) {
			if got.ErrorCode != 0 {
				return []string{code(got.ErrorCode)}
			}
			for _, t := range got.Topics {
				for _, o := range t.Partitions {
					out = append(out, fmt.Sprintf("%s/%d %s", t.Topic, o.Partition, code(o.ErrorCode)))
				}
			}
			return out
		})
	}
}

func (p *player) delete(c command) func() answer {
	r := kmsg.NewPtrDeleteGroupsRequest()
	r.Groups = []string{p.group(c)}
	return func() answer {
		return send(p, 2, r, func(got *kmsg.DeleteGroupsResponse) []string { return []string{code(got.Groups[0].ErrorCode)} })
	}
}

func code(c int16) string {
	if c == 0 {
		return "ok"
	}
	return kerr.TypedErrorForCode(c).Message
}

package members

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// request builds what an actor sends.
func (p *player) request(who *actor, verb string, o options) kmsg.Request {
	switch verb {
	case "join", "joins":
		return p.join(who, o)
	case "sync":
		return p.sync(who, o)
	case "beat":
		r := &kmsg.HeartbeatRequest{Version: 4, Group: p.group(o), MemberID: p.id(o, who), InstanceID: o.pointer("inst")}
		r.Generation = p.generation(o, who)
		return r
	case "leaves":
		return p.leave(who, o)
	case "commits":
		r := kmsg.NewPtrOffsetCommitRequest()
		r.Version, r.Group, r.MemberID, r.Generation = 8, p.group(o), p.id(o, who), p.generation(o, who)
		partition := kmsg.NewOffsetCommitRequestTopicPartition()
		partition.Offset = 1
		r.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: "t", Partitions: []kmsg.OffsetCommitRequestTopicPartition{partition}}}
		return r
	}
	p.t.Fatalf("nobody can %s", verb)
	return nil
}

// group is the option's, with the script's prefix; the empty one stays.
func (p *player) group(o options) string {
	if g := o.take("group", "g"); g != "" {
		return p.prefix + g
	}
	return ""
}

// id is the actor's, or what the option says: the script's ids stand for real ones, "-" for none.
func (p *player) id(o options, who *actor) string {
	given := o.take("id", "")
	switch {
	case given == "":
		return who.id
	case given == "-":
		return ""
	}
	return p.realID(given)
}

// realID finds a member by the script's id: by what was told, or, where nobody was told, by the client id.
func (p *player) realID(given string) string {
	if id, told := p.ids[given]; told {
		return id
	}
	if m := scriptID.FindStringSubmatch(given); m != nil {
		for _, member := range p.describe("g", 5).Members {
			if member.ClientID == m[1] {
				return member.MemberID
			}
		}
	}
	return given
}

func (p *player) generation(o options, who *actor) int32 {
	return int32(number(o.take("gen", fmt.Sprint(who.generation))))
}

func (p *player) milliseconds(text string) int32 {
	d, err := time.ParseDuration(text)
	if err != nil {
		p.t.Fatal(err)
	}
	return int32(d.Milliseconds())
}

func (p *player) join(who *actor, o options) *kmsg.JoinGroupRequest {
	r := kmsg.NewPtrJoinGroupRequest()
	r.Version, r.Group, r.MemberID = int16(number(o.take("v", "9"))), p.group(o), p.id(o, who)
	r.InstanceID, r.Reason, r.ProtocolType = o.pointer("inst"), o.pointer("reason"), o.take("type", "consumer")
	r.SessionTimeoutMillis, r.RebalanceTimeoutMillis = p.milliseconds(o.take("session", "10s")), p.milliseconds(o.take("rebalance", "60s"))
	for _, w := range o.words {
		name, said, _ := strings.Cut(w, ":")
		r.Protocols = append(r.Protocols, kmsg.JoinGroupRequestProtocol{Name: repeated(name), Metadata: metadata(said)})
	}
	if held := o.take("held", ""); held != "" {
		r.UnknownTags.Set(10000, withheld(strings.Split(held, ",")))
	}
	if r.MemberID == "" {
		who.id, who.generation = "", -1
	}
	return r
}

// withheld are the bytes of the tagged field in which a member says what it holds back (docs/format/group-tags.md).
func withheld(words []string) []byte {
	b := binary.AppendUvarint(nil, uint64(len(words))+1)
	for _, w := range words {
		name, said, _ := strings.Cut(w, ":")
		b = append(binary.AppendUvarint(b, uint64(len(name))+1), name...)
		b = append(binary.AppendUvarint(b, uint64(len(metadata(said)))+1), metadata(said)...)
		b = append(b, 0)
	}
	return b
}

func (p *player) sync(who *actor, o options) *kmsg.SyncGroupRequest {
	r := kmsg.NewPtrSyncGroupRequest()
	r.Version, r.Group, r.MemberID = int16(number(o.take("v", "5"))), p.group(o), p.id(o, who)
	r.InstanceID, r.Generation = o.pointer("inst"), p.generation(o, who)
	kind, protocol := o.take("type", "consumer"), o.take("protocol", who.protocol)
	if kind != "-" {
		r.ProtocolType, r.Protocol = &kind, &protocol
	}
	names := make([]string, 0, len(o.named))
	for name := range o.named {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		a := kmsg.SyncGroupRequestGroupAssignment{MemberID: name, MemberAssignment: []byte(o.named[name])}
		if to := p.actors[name]; to != nil {
			a.MemberID = to.id
		}
		r.GroupAssignment = append(r.GroupAssignment, a)
	}
	return r
}

func (p *player) leave(who *actor, o options) *kmsg.LeaveGroupRequest {
	r := kmsg.NewPtrLeaveGroupRequest()
	r.Version, r.Group, r.MemberID = int16(number(o.take("v", "5"))), p.group(o), p.id(o, who)
	instance, reason := o.pointer("inst"), o.pointer("reason")
	for _, name := range o.words {
		m := kmsg.LeaveGroupRequestMember{MemberID: name, Reason: reason}
		if of := p.actors[name]; of != nil {
			m.MemberID = of.id
		}
		r.Members = append(r.Members, m)
	}
	if len(o.words) == 0 {
		r.Members = []kmsg.LeaveGroupRequestMember{{MemberID: r.MemberID, InstanceID: instance, Reason: reason}}
	}
	return r
}

package scripts

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/grouptags"
)

// Actor is a client, who uses the id and the generation that it was told.
type Actor struct {
	Name, ID, Protocol string
	Generation         int32
}

// Members builds what members of groups send.
type Members struct {
	T     Failer
	Group func(name string) string // what the broker calls a group
	ID    func(id string) string   // and a member whose id is written out
	Actor func(name string) *Actor // nil: nobody is called so
}

// Request is what an actor sends, who is a member of the group g unless group= says otherwise. id=, gen= and protocol= stand
// in for what it was told.
func (m Members) Request(who *Actor, verb string, o Options) kmsg.Request {
	switch verb {
	case "join", "joins":
		return m.join(who, o)
	case "sync":
		return m.sync(who, o)
	case "beat":
		return &kmsg.HeartbeatRequest{
			Version: 4, Group: m.group(o), MemberID: m.id(o, who), InstanceID: o.Pointer("inst"), Generation: generation(o, who),
		}
	case "leaves":
		return m.leave(who, o)
	case "commits":
		r := kmsg.NewPtrOffsetCommitRequest()
		r.Version, r.Group, r.MemberID, r.Generation = 8, m.group(o), m.id(o, who), generation(o, who)
		partition := kmsg.NewOffsetCommitRequestTopicPartition()
		partition.Offset = 1
		r.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: "t", Partitions: []kmsg.OffsetCommitRequestTopicPartition{partition}}}
		return r
	}
	m.T.Fatalf("nobody can %s", verb)
	return nil
}

// Again is the second request of who "joins": with the id that the first was told to come with.
func Again(r *kmsg.JoinGroupRequest, who *Actor) (again *kmsg.JoinGroupRequest, told bool) {
	if r.MemberID != "" || who.ID == "" || who.Generation >= 0 {
		return nil, false
	}
	second := *r
	second.MemberID = who.ID
	return &second, true
}

func (m Members) group(o Options) string { return m.Group(o.Text("group", "g")) }

func (m Members) id(o Options, who *Actor) string {
	if !o.Given("id") {
		return who.ID
	}
	if id := o.Text("id", ""); id != "" {
		return m.ID(id)
	}
	return ""
}

func generation(o Options, who *Actor) int32 { return int32(o.Number("gen", int64(who.Generation))) }

func (m Members) join(who *Actor, o Options) *kmsg.JoinGroupRequest {
	r := kmsg.NewPtrJoinGroupRequest()
	r.Version, r.Group, r.MemberID = int16(o.Number("v", 9)), m.group(o), m.id(o, who)
	r.InstanceID, r.Reason, r.ProtocolType = o.Pointer("inst"), o.Pointer("reason"), o.Text("type", "consumer")
	r.SessionTimeoutMillis, r.RebalanceTimeoutMillis = o.Milliseconds("session", "10s"), o.Milliseconds("rebalance", "60s")
	for _, p := range o.protocols(o.Words) {
		r.Protocols = append(r.Protocols, kmsg.JoinGroupRequestProtocol{Name: p.Name, Metadata: p.Metadata})
	}
	if held := o.Text("held", ""); held != "" {
		r.UnknownTags.Set(grouptags.JoinWithheld, grouptags.AppendProtocols(nil, o.protocols(strings.Split(held, ","))))
	}
	if r.MemberID == "" {
		who.ID, who.Generation = "", -1
	}
	return r
}

// protocols reads "range:metadata"; metadata that begin with 0x are bytes.
func (o Options) protocols(words []string) (all []grouptags.Protocol) {
	for _, w := range words {
		name, metadata, _ := strings.Cut(w, ":")
		p := grouptags.Protocol{Name: o.repeated(name), Metadata: []byte(metadata)}
		if digits, ok := strings.CutPrefix(metadata, "0x"); ok {
			p.Metadata = unhex(o.t, digits)
		}
		all = append(all, p)
	}
	return all
}

func unhex(t Failer, digits string) []byte {
	b, err := hex.DecodeString(digits)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return b
}

// sync: names of actors stand for their ids.
func (m Members) sync(who *Actor, o Options) *kmsg.SyncGroupRequest {
	r := kmsg.NewPtrSyncGroupRequest()
	r.Version, r.Group, r.MemberID = int16(o.Number("v", 5)), m.group(o), m.id(o, who)
	r.InstanceID, r.Generation = o.Pointer("inst"), generation(o, who)
	if o.named["type"] != "-" {
		kind, protocol := o.Text("type", "consumer"), o.Text("protocol", who.Protocol)
		r.ProtocolType, r.Protocol = &kind, &protocol
	}
	for _, name := range o.others("v", "group", "id", "inst", "gen", "type", "protocol") {
		r.GroupAssignment = append(r.GroupAssignment, kmsg.SyncGroupRequestGroupAssignment{MemberID: m.named(name), MemberAssignment: []byte(o.named[name])})
	}
	return r
}

// named is the id of an actor; any other name stands for itself.
func (m Members) named(name string) string {
	if a := m.Actor(name); a != nil {
		return a.ID
	}
	return name
}

// leave: without words the actor itself.
func (m Members) leave(who *Actor, o Options) *kmsg.LeaveGroupRequest {
	r := kmsg.NewPtrLeaveGroupRequest()
	r.Version, r.Group, r.MemberID = int16(o.Number("v", 5)), m.group(o), m.id(o, who)
	reason := o.Pointer("reason")
	for _, name := range o.Words {
		r.Members = append(r.Members, kmsg.LeaveGroupRequestMember{MemberID: m.named(name), Reason: reason})
	}
	if len(o.Words) == 0 {
		r.Members = []kmsg.LeaveGroupRequestMember{{MemberID: r.MemberID, InstanceID: o.Pointer("inst"), Reason: reason}}
	}
	return r
}

// SayMember is an answer to a member, or about a group, in words; a description has a line for each member, indented.
func SayMember(value any) (line string, known bool) {
	switch v := value.(type) {
	case *kmsg.JoinGroupResponse:
		return sayJoined(v), true
	case *kmsg.SyncGroupResponse:
		if v.ErrorCode != 0 {
			return "sync " + Code(v.ErrorCode), true
		}
		return fmt.Sprintf("assigned %q", v.MemberAssignment), true
	case *kmsg.HeartbeatResponse:
		return "beat " + Code(v.ErrorCode), true
	case *kmsg.LeaveGroupResponse:
		line = "leave " + Code(v.ErrorCode)
		for _, m := range v.Members {
			line += fmt.Sprintf(", %s/%s %s", m.MemberID, text(m.InstanceID), Code(m.ErrorCode))
		}
		return line, true
	case *kmsg.OffsetCommitResponse:
		return "commit " + Code(v.Topics[0].Partitions[0].ErrorCode), true
	case *kmsg.DescribeGroupsResponseGroup:
		return sayGroup(v), true
	}
	return "", false
}

func sayJoined(v *kmsg.JoinGroupResponse) string {
	if v.ErrorCode != 0 {
		return strings.TrimSpace(fmt.Sprintf("join %s %s", Code(v.ErrorCode), v.MemberID))
	}
	line := fmt.Sprintf("generation %d of %s as %s", v.Generation, text(v.Protocol), v.MemberID)
	if len(v.Members) == 0 {
		return line + ", led by " + v.LeaderID
	}
	line += ", leads"
	for _, m := range v.Members {
		line += " " + m.MemberID
		if m.InstanceID != nil {
			line += "/" + *m.InstanceID
		}
		line += fmt.Sprintf("=%q", m.ProtocolMetadata)
	}
	if v.LeaderID != v.MemberID {
		line += ", but leader is " + v.LeaderID
	}
	if v.SkipAssignment {
		line += ", assigns nothing"
	}
	return line
}

func sayGroup(v *kmsg.DescribeGroupsResponseGroup) string {
	line := fmt.Sprintf("%s %q %q", v.State, v.ProtocolType, v.Protocol)
	if v.ErrorCode != 0 {
		line += " " + Code(v.ErrorCode) + " " + text(v.ErrorMessage)
	}
	for _, m := range v.Members {
		line += fmt.Sprintf("\n  %s/%s %s %s %q %q", m.MemberID, text(m.InstanceID), m.ClientID, m.ClientHost, m.ProtocolMetadata, m.MemberAssignment)
	}
	return line
}

package group

import (
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/grouptags"
)

// The scripts of testdata/members say, of what happens: answers, who had asked and when; then the groups that are not what they
// were. The commands:
//
//	settings NAME=VALUE…   delay=3s size=10 union=off protocols=off; restarts
//	at 3s                  lets time pass until then, counted from the start
//	A join [NAME:METADATA…] [held=NAME:METADATA,…] [v=9] [id=] [inst=] [type=consumer] [session=10s] [rebalance=60s] [reason=]
//	A joins …              join, and again with the id when it is asked to
//	A sync [gen=] [protocol=] [type=] [B=ASSIGNMENT…]      the names of actors stand for their ids
//	A beat [gen=] [inst=] [id=]
//	A leaves [v=5] [B…] [inst=…] [reason=]   itself, or others by name, or by instance id
//	A commits [gen=] [as=]
//	describe [v=6] | list | delete | count | history | notes | records | waiting | restart
//
// An actor uses the id and the generation that it was told; id= and gen= say others, "id=-" none. All have group=g.
func TestMemberScripts(t *testing.T) {
	playScripts(t, "testdata/members", func(t *testing.T) player {
		s := &script{stage: newStage(t, memberSettings())}
		return func(line int, words []string) string {
			s.line = line
			return strings.Join(indent(s.run(words)), "")
		}
	})
}

type script struct {
	*stage
	line int
}

func (s *script) run(words []string) []string {
	before := s.states()
	s.said = nil
	if words[0] != "records" && words[0] != "notes" {
		s.fresh, s.notes = nil, nil
	}
	switch words[0] {
	case "settings":
		s.set(words[1:])
	case "at":
		s.advance(s.start.Add(s.duration(words[1])))
	case "restart":
		s.restart()
	case "records", "notes", "waiting", "history":
		s.show(words[0])
	case "describe", "list", "delete", "count":
		s.ask(words[0], parseOptions(words[1:]))
	default:
		s.act(s.actor(words[0]), words[1], parseOptions(words[2:]))
	}
	return append(s.said, s.groupLines(before)...)
}

func (s *script) set(words []string) {
	for _, w := range words {
		name, value, _ := strings.Cut(w, "=")
		switch name {
		case "delay":
			s.settings.InitialRebalanceDelay = s.duration(value)
		case "size":
			s.settings.MaxSize = int(number(value))
		case "union":
			s.settings.UnionAdmission = value != "off"
		case "protocols":
			s.settings.ProtocolsPersisted = value != "off"
		default:
			s.t.Fatalf("line %d: no setting %s", s.line, name)
		}
	}
	s.restart()
}

func (s *script) duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		s.t.Fatalf("line %d: %v", s.line, err)
	}
	return d
}

// options are the words of a command: those with = by name, others in order.
type options struct {
	words []string
	named map[string]string
}

func parseOptions(words []string) options {
	o := options{named: map[string]string{}}
	for _, w := range words {
		if name, value, ok := strings.Cut(w, "="); ok {
			o.named[name] = repeated(value)
		} else {
			o.words = append(o.words, w)
		}
	}
	return o
}

// take returns an option and forgets it.
func (o options) take(name, otherwise string) string {
	v, given := o.named[name]
	delete(o.named, name)
	if !given {
		return otherwise
	}
	return v
}

// id is an option for a member id: "-" is none.
func (o options) id(otherwise string) string {
	id := o.take("id", otherwise)
	if id == "-" {
		return ""
	}
	return id
}

func (o options) pointer(name string) *string {
	if v, given := o.named[name]; given {
		delete(o.named, name)
		v = strings.ReplaceAll(v, "_", " ")
		return &v
	}
	return nil
}

func (s *script) act(who *actor, verb string, o options) {
	switch verb {
	case "join":
		s.step(who, s.join(who, o))
	case "joins":
		in := s.join(who, o)
		s.step(who, in)
		if in.Request.MemberID == "" && who.id != "" && who.generation < 0 {
			again := *in.Request
			again.MemberID = who.id
			s.step(who, Join{Request: &again, ClientID: in.ClientID, Host: in.Host, NewID: s.nextID()})
		}
	case "sync":
		s.step(who, s.sync(who, o))
	case "beat":
		r := kmsg.NewPtrHeartbeatRequest()
		r.Version, r.Group, r.MemberID, r.InstanceID = 4, o.take("group", "g"), o.id(who.id), o.pointer("inst")
		r.Generation = int32(number(o.take("gen", fmt.Sprint(who.generation))))
		s.step(who, Heartbeat{Request: r})
	case "leaves":
		s.step(who, s.leave(who, o))
	case "commits":
		r := commitOf(o.take("group", "g"), "t", 0, 1)
		r.MemberID, r.Generation = o.id(who.id), int32(number(o.take("gen", fmt.Sprint(who.generation))))
		s.step(who, Commit{Request: r})
	default:
		s.t.Fatalf("line %d: nobody can %s", s.line, verb)
	}
}

func (s *script) join(who *actor, o options) Join {
	r := kmsg.NewPtrJoinGroupRequest()
	r.Version, r.Group = int16(number(o.take("v", "9"))), o.take("group", "g")
	r.MemberID, r.InstanceID, r.Reason = o.id(who.id), o.pointer("inst"), o.pointer("reason")
	r.ProtocolType = o.take("type", "consumer")
	r.SessionTimeoutMillis = int32(s.duration(o.take("session", "10s")).Milliseconds())
	r.RebalanceTimeoutMillis = int32(s.duration(o.take("rebalance", "60s")).Milliseconds())
	if held := o.take("held", ""); held != "" {
		r.UnknownTags.Set(grouptags.JoinWithheld, grouptags.AppendProtocols(nil, protocolsOf(strings.Split(held, ","))))
	}
	for _, p := range protocolsOf(o.words) {
		r.Protocols = append(r.Protocols, kmsg.JoinGroupRequestProtocol{Name: p.Name, Metadata: p.Metadata})
	}
	if r.MemberID == "" {
		who.id, who.generation = "", -1
	}
	return Join{Request: r, ClientID: who.name, Host: "/127.0.0.1", NewID: s.nextID()}
}

// protocolsOf reads "range:metadata"; metadata that begin with 0x are bytes.
func protocolsOf(words []string) []grouptags.Protocol {
	var all []grouptags.Protocol
	for _, w := range words {
		name, metadata, _ := strings.Cut(w, ":")
		p := grouptags.Protocol{Name: repeated(name), Metadata: []byte(metadata)}
		if digits, ok := strings.CutPrefix(metadata, "0x"); ok {
			p.Metadata, _ = hex.DecodeString(digits)
		}
		all = append(all, p)
	}
	return all
}

func (s *script) sync(who *actor, o options) Sync {
	r := kmsg.NewPtrSyncGroupRequest()
	r.Version, r.Group = int16(number(o.take("v", "5"))), o.take("group", "g")
	r.MemberID, r.InstanceID = o.id(who.id), o.pointer("inst")
	r.Generation = int32(number(o.take("gen", fmt.Sprint(who.generation))))
	kind, protocol := o.take("type", "consumer"), o.take("protocol", who.protocol)
	if kind != "-" {
		r.ProtocolType, r.Protocol = &kind, &protocol
	}
	for _, name := range slices.Sorted(maps.Keys(o.named)) {
		a := kmsg.SyncGroupRequestGroupAssignment{MemberID: name, MemberAssignment: []byte(o.named[name])}
		if to := s.actors[name]; to != nil {
			a.MemberID = to.id
		}
		r.GroupAssignment = append(r.GroupAssignment, a)
	}
	return Sync{Request: r}
}

func (s *script) leave(who *actor, o options) Leave {
	r := kmsg.NewPtrLeaveGroupRequest()
	r.Version, r.Group = int16(number(o.take("v", "5"))), o.take("group", "g")
	id, inst, reason := o.id(who.id), o.pointer("inst"), o.pointer("reason")
	r.MemberID = id
	for _, name := range o.words {
		m := kmsg.LeaveGroupRequestMember{MemberID: name, Reason: reason}
		if of := s.actors[name]; of != nil {
			m.MemberID = of.id
		}
		r.Members = append(r.Members, m)
	}
	if len(o.words) == 0 {
		r.Members = []kmsg.LeaveGroupRequestMember{{MemberID: id, InstanceID: inst, Reason: reason}}
	}
	return Leave{Request: r}
}

func (s *script) ask(what string, o options) {
	name := o.take("group", "g")
	switch what {
	case "describe":
		s.step(nil, Describe{Group: name, Version: int16(number(o.take("v", "6")))})
	case "list":
		s.step(nil, List{})
	case "delete":
		s.step(nil, Delete{Group: name})
	case "count":
		s.step(nil, Count{})
	}
}

func (s *script) show(what string) {
	switch what {
	case "waiting":
		for _, c := range s.waiting {
			s.said = append(s.said, fmt.Sprintf("%s's %s", c.who.name, strings.TrimPrefix(fmt.Sprintf("%T", c.in), "group.")))
		}
		slices.Sort(s.said)
	case "notes":
		for _, n := range s.notes {
			line := n.Level.String() + " " + n.Message
			for _, a := range n.Attrs {
				line += " " + a.String()
			}
			s.said = append(s.said, line)
		}
	case "records":
		for _, r := range s.fresh {
			s.said = append(s.said, recordLines(r)...)
		}
	case "history":
		s.said = append(s.said, s.history("g")...)
	}
}

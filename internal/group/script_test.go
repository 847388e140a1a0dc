package group

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/scripts"
)

var rewrite = flag.Bool("rewrite", false, "write what happens into the files of testdata instead of comparing")

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
//	A commits [gen=] [id=]
//	describe [v=6] | list | delete | count | history | lists | notes | records | waiting | restart
//
// An actor uses the id and the generation that it was told; id= and gen= say others, "id=-" none. All have group=g.
func TestMemberScripts(t *testing.T) {
	scripts.Play(t, "testdata/members", *rewrite, func(t *testing.T) scripts.Player {
		s := &script{stage: newStage(t, memberSettings())}
		return s.run
	})
}

type script struct {
	*stage
	line int
}

func (s *script) run(line int, words []string) []string {
	before := s.states()
	s.line, s.said = line, nil
	if words[0] != "records" && words[0] != "notes" {
		s.fresh, s.notes = nil, nil
	}
	switch words[0] {
	case "settings":
		s.set(words[1:])
	case "at":
		s.advance(s.start.Add(scripts.Duration(s, words[1])))
	case "restart":
		s.restart()
	case "records", "notes", "waiting", "history", "lists":
		s.show(words[0])
	case "describe", "list", "delete", "count":
		s.ask(words[0], scripts.Parse(s, words[1:]))
	default:
		s.act(s.actor(words[0]), words[1], scripts.Parse(s, words[2:]))
	}
	return append(s.said, s.groupLines(before)...)
}

// Helper and Fatalf say in which line it was.
func (s *script) Helper() { s.t.Helper() }

func (s *script) Fatalf(format string, args ...any) {
	s.t.Helper()
	s.t.Fatalf("line %d: %s", s.line, fmt.Sprintf(format, args...))
}

func (s *script) set(words []string) {
	for _, w := range words {
		name, value, _ := strings.Cut(w, "=")
		switch name {
		case "delay":
			s.settings.InitialRebalanceDelay = scripts.Duration(s, value)
		case "size":
			s.settings.MaxSize = int(scripts.Number(s, value))
		case "union":
			s.settings.UnionAdmission = value != "off"
		case "protocols":
			s.settings.ProtocolsPersisted = value != "off"
		default:
			s.Fatalf("no setting %s", name)
		}
	}
	s.restart()
}

func (s *script) act(who *actor, verb string, o scripts.Options) {
	switch r := s.requests().Request(&who.Actor, verb, o).(type) {
	case *kmsg.JoinGroupRequest:
		s.join(who, r)
		if again, told := scripts.Again(r, &who.Actor); told && verb == "joins" {
			s.join(who, again)
		}
	case *kmsg.SyncGroupRequest:
		s.step(who, Sync{Request: r})
	case *kmsg.HeartbeatRequest:
		s.step(who, Heartbeat{Request: r})
	case *kmsg.LeaveGroupRequest:
		s.step(who, Leave{Request: r})
	case *kmsg.OffsetCommitRequest:
		s.step(who, Commit{Request: r})
	}
}

func (s *script) requests() scripts.Members {
	asWritten := func(name string) string { return name }
	return scripts.Members{T: s, Group: asWritten, ID: asWritten, Actor: func(name string) *scripts.Actor {
		if a := s.actors[name]; a != nil {
			return &a.Actor
		}
		return nil
	}}
}

func (s *script) join(who *actor, r *kmsg.JoinGroupRequest) {
	s.step(who, Join{Request: r, ClientID: who.Name, Host: "/127.0.0.1", NewID: s.nextID()})
}

func (s *script) ask(what string, o scripts.Options) {
	name := o.Text("group", "g")
	switch what {
	case "describe":
		s.step(nil, Describe{Group: name, Version: int16(o.Number("v", 6))})
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
			s.said = append(s.said, fmt.Sprintf("%s's %s", c.who.Name, strings.TrimPrefix(fmt.Sprintf("%T", c.in), "group.")))
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
	case "lists":
		s.said = append(s.said, s.lists("g")...)
	}
}

package group

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/scripts"
)

// The scripts of testdata/offsets say, of what happens: answers, in order, with the name of who had asked. The commands:
//
//	settings NAME…                     before anything else: ownership (R-C18), delay (of first rounds, 3 s; else none)
//	join GROUP MEMBER [v=3] [inst=] [topics=a,b | raw=HEX] [type=consumer]
//	sync GROUP MEMBER [gen=1] [MEMBER=topic/0,topic/1 …]
//	heartbeat GROUP MEMBER [gen=1]
//	alive GROUP MEMBER DURATION [gen=1]  heartbeats all the time
//	leave GROUP MEMBER
//	commit GROUP [as=MEMBER] [inst=] [gen=-1] [v=8] [keep=MILLISECONDS] topic/0=5[,epoch=3][,meta=x*10][,id=7] …
//	fetch GROUP topic/0[,id=7] …       without topics: all
//	fetch-stable GROUP topic/0 …       the same, and wants no offsets that an open transaction may change
//	txn GROUP PRODUCER[.EPOCH] [as=] [inst=] [gen=] [v=5] [guard=NAME] topic/0=5 …
//	guard NAME GROUP PRODUCER[.EPOCH]  for a later txn; else it is taken at once
//	committed PRODUCER[.EPOCH]         the marker that ends its transaction, or:
//	aborted PRODUCER[.EPOCH]
//	drop GROUP topic/0 …               OffsetDelete
//	delete GROUP                       DeleteGroups
//	topics-deleted TOPIC …
//	topics | groups | count | advance DURATION | restart | records
func TestOffsetScripts(t *testing.T) {
	scripts.Play(t, "testdata/offsets", *rewrite, func(t *testing.T) scripts.Player { return newOffsetScript(t).run })
}

type offsetScript struct {
	t        *testing.T
	w        *world
	line     int
	requests scripts.Offsets
	guards   map[string]GuardToken
}

func newOffsetScript(t *testing.T) *offsetScript {
	s := &offsetScript{t: t, w: newWorld(t, offsetSettings()), guards: map[string]GuardToken{}}
	s.requests = scripts.Offsets{T: s, Group: func(name string) string { return name }, IDs: map[string]string{}}
	return s
}

// Helper and Fatalf say in which line it was.
func (s *offsetScript) Helper() { s.t.Helper() }

func (s *offsetScript) Fatalf(format string, args ...any) {
	s.t.Helper()
	s.t.Fatalf("line %d: %s", s.line, fmt.Sprintf(format, args...))
}

// run runs one command and returns what it made happen.
func (s *offsetScript) run(line int, words []string) []string {
	s.t.Helper()
	s.line, s.w.answers = line, nil
	if !slices.Contains([]string{"records", "fetch", "fetch-stable", "groups", "topics", "count"}, words[0]) {
		s.w.last = nil
	}
	o := scripts.Parse(s, words[1:])
	switch words[0] {
	case "settings":
		s.set(o.Words)
	case "advance":
		s.w.advance(scripts.Duration(s, o.Words[0]))
	case "restart":
		s.w.restart()
	case "records":
		return describeRecords(s.w.last)
	case "guard":
		s.guards[o.Words[0]] = s.guard(o.Words[1], s.producer(o.Words[2]))
	case "committed", "aborted":
		s.w.mark(s.producer(o.Words[0]), words[0] == "committed")
	case "groups":
		return slices.Sorted(maps.Keys(s.w.m.groups))
	default:
		s.request(words[0], o)
	}
	return s.said()
}

func (s *offsetScript) request(name string, o scripts.Options) {
	switch name {
	case "join":
		who := o.Words[1]
		s.w.step(who, Join{Request: s.requests.Join(o), ClientID: who, Host: "/127.0.0.1", NewID: strconv.Itoa(int(s.w.next))})
	case "sync":
		s.w.step(o.Words[1], Sync{Request: s.requests.Sync(o)})
	case "heartbeat":
		s.w.step(o.Words[1], Heartbeat{Request: s.requests.Heartbeat(o)})
	case "alive":
		s.alive(o)
	case "leave":
		s.w.step(o.Words[1], Leave{Request: s.requests.Leave(o)})
	case "commit":
		s.w.step(o.Text("as", ""), Commit{Request: s.requests.Commit(o)})
	case "txn":
		s.w.step(o.Text("as", ""), s.txn(o))
	case "fetch", "fetch-stable":
		asked := s.requests.Fetch(o)
		s.w.step("", Fetch{Group: asked.Group, Topics: asked.Topics, RequireStable: name == "fetch-stable"})
	case "drop":
		s.w.step("", DeleteOffsets{Request: s.requests.Drop(o)})
	case "delete":
		s.w.step("", Delete{Group: o.Words[0]})
	case "topics-deleted":
		s.w.step("", DeleteTopics{Topics: o.Words})
	case "topics":
		s.w.step("", Topics{})
	case "count":
		s.w.step("", Count{})
	default:
		s.Fatalf("%s is no command", name)
	}
}

func (s *offsetScript) set(names []string) {
	for _, n := range names {
		switch n {
		case "ownership":
			s.w.settings.CommitOwnershipCheck = true
		case "delay":
			s.w.settings.InitialRebalanceDelay = 3 * time.Second
		default:
			s.Fatalf("no setting %s", n)
		}
	}
	s.w.restart()
}

// alive lets time pass for a member that heartbeats.
func (s *offsetScript) alive(o scripts.Options) {
	for until := s.w.now.Add(scripts.Duration(s, o.Words[2])); s.w.now.Before(until); {
		s.w.advance(20 * time.Second)
		if beat := s.w.ask(Heartbeat{Request: s.requests.Heartbeat(o)}).(*kmsg.HeartbeatResponse); beat.ErrorCode != 0 {
			s.Fatalf("%s", scripts.Code(beat.ErrorCode))
		}
	}
	s.w.answers = nil
}

// said is the answers of a command; the ids of who joined are remembered.
func (s *offsetScript) said() (lines []string) {
	for _, a := range s.w.answers {
		if v, joined := a.value.(*kmsg.JoinGroupResponse); joined {
			s.requests.IDs[a.who] = v.MemberID
		}
		for _, line := range saidOffsets(a.value) {
			if a.who != "" {
				line = a.who + ": " + line
			}
			lines = append(lines, line)
		}
	}
	return lines
}

func saidOffsets(value any) []string {
	switch v := value.(type) {
	case Counts:
		return []string{fmt.Sprintf("%d offsets, %d pending, %d commits, %d deleted", v.Offsets, v.Pending, v.Commits, v.Deleted)}
	case []string:
		return v
	case nil:
		return []string{"done"}
	}
	return scripts.SayOffsets(value)
}

package group

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/assign"
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
	playScripts(t, "testdata/offsets", func(t *testing.T) player {
		s := &offsetScript{t: t, w: newWorld(t, offsetSettings()), ids: map[string]string{}, guards: map[string]GuardToken{}}
		return func(line int, words []string) string {
			s.line = line
			return s.run(words)
		}
	})
}

type offsetScript struct {
	t    *testing.T
	w    *world
	line int
	ids  map[string]string // member ids by the name in the script

	guards map[string]GuardToken
}

// run runs one command and returns what it made happen.
func (s *offsetScript) run(words []string) string {
	s.t.Helper()
	s.w.answers = nil
	if !slices.Contains([]string{"records", "fetch", "fetch-stable", "groups", "topics", "count"}, words[0]) {
		s.w.last = nil
	}
	c := parseCommand(words[1:])
	switch words[0] {
	case "settings":
		s.set(c.words)
	case "advance":
		s.w.advance(s.duration(c.words[0]))
	case "restart":
		s.w.restart()
	case "records":
		return printRecords(s.w.last)
	case "guard":
		s.guards[c.words[0]] = s.guard(c.words[1], c.words[2])
	case "committed", "aborted":
		s.w.mark(producerOf(c.words[0]), words[0] == "committed")
	case "groups":
		return strings.Join(indent(slices.Sorted(maps.Keys(s.w.m.groups))), "")
	default:
		s.request(words[0], c)
	}
	return s.print()
}

func (s *offsetScript) request(name string, c command) {
	switch name {
	case "join":
		s.w.step(c.words[1], s.join(c))
	case "sync":
		s.w.step(c.words[1], s.sync(c))
	case "heartbeat":
		s.w.step(c.words[1], s.heartbeat(c))
	case "alive":
		s.alive(c)
	case "leave":
		r := kmsg.NewPtrLeaveGroupRequest()
		r.Version, r.Group, r.MemberID = 2, c.words[0], s.id(c.words[1])
		s.w.step(c.words[1], Leave{Request: r})
	case "commit":
		s.w.step(c.text("as", ""), s.commit(c))
	case "txn":
		s.w.step(c.text("as", ""), s.txn(c))
	case "fetch", "fetch-stable":
		f := s.fetch(c)
		f.RequireStable = name == "fetch-stable"
		s.w.step("", f)
	case "drop":
		s.w.step("", s.drop(c))
	case "delete":
		s.w.step("", Delete{Group: c.words[0]})
	case "topics-deleted":
		s.w.step("", DeleteTopics{Topics: c.words})
	case "topics":
		s.w.step("", Topics{})
	case "count":
		s.w.step("", Count{})
	default:
		s.t.Fatalf("line %d: %s is no command", s.line, name)
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
			s.t.Fatalf("line %d: no setting %s", s.line, n)
		}
	}
	s.w.restart()
}

func (s *offsetScript) duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		s.t.Fatalf("line %d: %v", s.line, err)
	}
	return d
}

// id is the member id behind a name; one that never joined stands for itself.
func (s *offsetScript) id(name string) string {
	if id, joined := s.ids[name]; joined {
		return id
	}
	return name
}

func (s *offsetScript) join(c command) Join {
	r := kmsg.NewPtrJoinGroupRequest()
	r.Version, r.Group, r.MemberID = int16(c.int32("v", 3)), c.words[0], s.ids[c.words[1]]
	r.ProtocolType = c.text("type", consumerProtocol)
	r.SessionTimeoutMillis, r.RebalanceTimeoutMillis = 30_000, 60_000
	if inst := c.text("inst", ""); inst != "" {
		r.InstanceID, r.Version = &inst, 5
	}
	p := kmsg.NewJoinGroupRequestProtocol()
	p.Name = "range"
	if raw, given := c.options["raw"]; given {
		p.Metadata = unhex(s.t, raw)
	} else {
		p.Metadata = assign.Subscription{Topics: list(c.text("topics", "t"))}.Append(nil, 3)
	}
	r.Protocols = append(r.Protocols, p)
	return Join{Request: r, ClientID: c.words[1], Host: "/127.0.0.1", NewID: strconv.Itoa(int(s.w.next))}
}

func (s *offsetScript) sync(c command) Sync {
	r := kmsg.NewPtrSyncGroupRequest()
	r.Version, r.Group, r.MemberID, r.Generation = 3, c.words[0], s.id(c.words[1]), c.int32("gen", 1)
	for _, name := range slices.Sorted(maps.Keys(s.ids)) {
		given, named := c.options[name]
		if !named {
			continue
		}
		var a assign.Assignment
		for _, tp := range list(given) {
			topic, partition := topicPartition(tp)
			a.Partitions = append(a.Partitions, assign.TopicPartitions{Topic: topic, Partitions: []int32{partition}})
		}
		r.GroupAssignment = append(r.GroupAssignment, kmsg.SyncGroupRequestGroupAssignment{MemberID: s.ids[name], MemberAssignment: a.Append(nil, 1)})
	}
	return Sync{Request: r}
}

// command is what follows a command's name: words, and options of the form name=value. Words with a slash are places.
type command struct {
	words   []string
	options map[string]string
	places  []string
}

func parseCommand(fields []string) command {
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

func (c command) int32(name string, otherwise int32) int32 {
	if v, given := c.options[name]; given {
		return int32(number(v))
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

func list(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

// topicPartition reads "topic/3".
func topicPartition(text string) (string, int32) {
	topic, partition, _ := strings.Cut(text, "/")
	return topic, int32(number(partition))
}

func (s *offsetScript) heartbeat(c command) Heartbeat {
	r := kmsg.NewPtrHeartbeatRequest()
	r.Version, r.Group, r.MemberID, r.Generation = 3, c.words[0], s.id(c.words[1]), c.int32("gen", 1)
	return Heartbeat{Request: r}
}

// alive lets time pass for a member that heartbeats.
func (s *offsetScript) alive(c command) {
	for until := s.w.now.Add(s.duration(c.words[2])); s.w.now.Before(until); {
		s.w.advance(20 * time.Second)
		if beat := s.w.ask(s.heartbeat(c)).(*kmsg.HeartbeatResponse); beat.ErrorCode != 0 {
			s.t.Fatalf("line %d: %s", s.line, codeName(beat.ErrorCode))
		}
	}
	s.w.answers = nil
}

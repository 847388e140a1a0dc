package group

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/machine"
	"github.com/skeinstream/skein/internal/scripts"
)

// stage runs a machine as the coordinator's loop does, with actors who join one group after another, and checks after every
// step what must always hold (check_test.go). Actors are named; each remembers the id and the generation that it was told.
type stage struct {
	t        scripts.Failer
	settings Settings
	start    time.Time
	now      time.Time
	wake     time.Time
	m        *Machine
	twin     *Machine // is given the same, and must decide the same
	log      []machine.Record
	fresh    []machine.Record // of the last command
	notes    []machine.Note   // likewise
	lastID   int
	token    machine.Token
	waiting  map[machine.Token]call
	actors   map[string]*actor
	said     []string // what happened in the last command
	assigned map[string]string
	reached  map[string]int32 // generation by group
}

// call is a request under way.
type call struct {
	who *actor
	in  any
}

// actor is a client.
type actor struct {
	scripts.Actor
	forgotten bool     // the broker does not know its id any more
	leads     []string // the members that it is to assign to
	next      string   // what a client that behaves does next: "join", "sync", or "beat"
}

func memberSettings() Settings {
	s := offsetSettings()
	s.InitialRebalanceDelay, s.UnionAdmission, s.ProtocolsPersisted = 3*time.Second, true, true
	return s
}

func newStage(t scripts.Failer, s Settings) *stage {
	st := &stage{
		t: t, settings: s, start: time.UnixMilli(1_700_000_000_000).UTC(), actors: map[string]*actor{},
		assigned: map[string]string{}, reached: map[string]int32{},
	}
	st.now = st.start
	st.restart()
	return st
}

// restart replays the log into a machine that knows nothing. Who waits is told by the loop.
func (st *stage) restart() {
	st.waiting = map[machine.Token]call{}
	st.m, st.twin = New(st.settings), New(st.settings)
	for _, r := range st.log {
		st.m.Apply(r)
		st.twin.Apply(r)
	}
	st.reached = map[string]int32{}
	st.take(st.m.Loaded(st.now), st.twin.Loaded(st.now))
}

// actor returns the actor of a name.
func (st *stage) actor(name string) *actor {
	if st.actors[name] == nil {
		st.actors[name] = &actor{Actor: scripts.Actor{Name: name, Generation: -1}}
	}
	return st.actors[name]
}

// step gives the machine one input.
func (st *stage) step(who *actor, in any) {
	st.t.Helper()
	st.token++
	st.waiting[st.token] = call{who, in}
	st.take(st.m.Step(st.now, st.token, in), st.twin.Step(st.now, st.token, in))
}

// advance lets time pass.
func (st *stage) advance(until time.Time) {
	st.t.Helper()
	for n := 0; !st.wake.IsZero() && !st.wake.After(until); n++ {
		if n > 100_000 {
			st.t.Fatalf("the machine wants a tick at %v for ever", st.wake)
		}
		st.now = later(st.now, st.wake)
		st.take(st.m.Tick(st.now), st.twin.Tick(st.now))
		if !st.wake.IsZero() && !st.wake.After(st.now) {
			st.t.Fatalf("after the tick of %v the machine wants one at %v", st.now, st.wake)
		}
	}
	st.now = later(st.now, until)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (st *stage) take(o, twin machine.Output) {
	st.t.Helper()
	if a, b := digest(o), digest(twin); a != b {
		st.t.Fatalf("the same input leads to\n%s\nand to\n%s", a, b)
	}
	st.wake = o.Wake
	for _, r := range o.Records {
		r.Key, r.Value = bytes.Clone(r.Key), bytes.Clone(r.Value)
		st.log, st.fresh = append(st.log, r), append(st.fresh, r)
		st.m.Apply(r)
		st.twin.Apply(r)
	}
	st.notes = append(st.notes, o.Notes...)
	for _, r := range o.Replies {
		c, asked := st.waiting[r.To]
		if !asked {
			st.t.Fatalf("token %d is answered twice, or never asked: %v", r.To, r.Value)
		}
		delete(st.waiting, r.To)
		st.hear(c, st.sent(r.Value))
	}
	st.check()
}

// digest is all of an output.
func digest(o machine.Output) string {
	b := fmt.Appendf(nil, "%v wake %v notes %v", o.Records, o.Wake, o.Notes)
	for _, r := range o.Replies {
		b = fmt.Appendf(b, " to %d: ", r.To)
		switch v := r.Value.(type) {
		case kmsg.Response:
			b = v.AppendTo(b)
		case *kmsg.DescribeGroupsResponseGroup:
			all := kmsg.DescribeGroupsResponse{Version: 6, Groups: []kmsg.DescribeGroupsResponseGroup{*v}}
			b = all.AppendTo(b)
		default:
			b = fmt.Appendf(b, "%+v", v)
		}
	}
	return string(b)
}

// sent is an answer as it arrives: what its version cannot carry is lost.
func (st *stage) sent(value any) any {
	v, ok := value.(kmsg.Response)
	if !ok {
		return value
	}
	back := v.RequestKind().ResponseKind()
	back.SetVersion(v.GetVersion())
	if err := back.ReadFrom(v.AppendTo(nil)); err != nil {
		st.t.Fatalf("%T version %d cannot be read: %v", v, v.GetVersion(), err)
	}
	return back
}

// hear lets an actor remember what it was told.
func (st *stage) hear(c call, value any) {
	who := c.who
	switch v := value.(type) {
	case *kmsg.JoinGroupResponse:
		who.joined(v)
	case *kmsg.SyncGroupResponse:
		st.hearAssignment(c.in.(Sync).Request, v)
		who.told(v.ErrorCode, "beat")
	case *kmsg.HeartbeatResponse:
		who.told(v.ErrorCode, "beat")
	}
	line := saying(value)
	if line == "" {
		return
	}
	if who != nil {
		line = who.Name + ": " + line
	}
	if st.now.After(st.start) {
		line = fmt.Sprintf("%v %s", st.now.Sub(st.start), line)
	}
	st.said = append(st.said, line)
}

func (who *actor) joined(v *kmsg.JoinGroupResponse) {
	switch who.told(v.ErrorCode, "sync"); v.ErrorCode {
	case 0:
		who.ID, who.Generation, who.Protocol, who.leads = v.MemberID, v.Generation, text(v.Protocol), nil
		for _, m := range v.Members {
			if !v.SkipAssignment {
				who.leads = append(who.leads, m.MemberID)
			}
		}
	case kerr.MemberIDRequired.Code:
		who.ID = v.MemberID
	}
}

// told is what a client makes of a code.
func (who *actor) told(code int16, next string) {
	who.next = next
	switch code {
	case 0:
	case kerr.UnknownMemberID.Code, kerr.FencedInstanceID.Code:
		who.forgotten, who.next = true, "join"
	default:
		who.next = "join"
	}
}

// hearAssignment fails when a member is given two assignments in one generation.
func (st *stage) hearAssignment(r *kmsg.SyncGroupRequest, v *kmsg.SyncGroupResponse) {
	if v.ErrorCode != 0 {
		return
	}
	key := fmt.Sprintf("%s %d %s", r.Group, r.Generation, r.MemberID)
	if before, given := st.assigned[key]; given && before != string(v.MemberAssignment) {
		st.t.Fatalf("%s was assigned %q and then %q", key, before, v.MemberAssignment)
	}
	st.assigned[key] = string(v.MemberAssignment)
}

func (st *stage) nextID() string {
	st.lastID++
	return strconv.Itoa(st.lastID)
}

// saying is an answer in words.
func saying(value any) string {
	if line, known := scripts.SayMember(value); known {
		return line
	}
	switch v := value.(type) {
	case []kmsg.ListGroupsResponseGroup:
		var all []string
		for _, g := range v {
			all = append(all, fmt.Sprintf("%s %q %s %s", g.Group, g.ProtocolType, g.GroupState, g.GroupType))
		}
		return strings.Join(all, "\n  ")
	case int16:
		return "delete " + scripts.Code(v)
	case Counts:
		return fmt.Sprintf("%v members %d rebalances %d", v.Groups, v.Members, v.Rebalances)
	}
	return fmt.Sprintf("%T", value)
}

// groupLines are the groups that a command changed.
func (st *stage) groupLines(before map[string]string) []string {
	after := st.states()
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if after[name] != before[name] {
			lines = append(lines, name+" is "+after[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if after[name] == "" {
			lines = append(lines, name+" is gone")
		}
	}
	return lines
}

func (st *stage) states() map[string]string {
	all := map[string]string{}
	for name, g := range st.m.groups {
		all[name] = fmt.Sprintf("%v, generation %d, %d members", g.state, g.generation, g.members.len())
	}
	return all
}

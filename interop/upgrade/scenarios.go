package upgrade

import (
	"os"
	"slices"
	"strings"

	"github.com/skeinstream/skein/interop/internal/member"
)

// envLong set to 1 chooses the long form.
const envLong = "SKEIN_INTEROP_LONG"

func long() bool { return os.Getenv(envLong) == "1" }

// The Skein consumer as it is by default, and as it is configured to let old code
// in on any broker (R-C14, R-C21).
const (
	oursDefault = "default"
	oursYields  = "range,cooperative-sticky"
)

// cooperates has another member come and go: only the partitions that it has
// meanwhile are touched.
func (l *life) cooperates(c code) {
	l.t.Helper()
	l.phase("one comes and goes: %v", c)
	since := member.Now()
	s := &slot{name: "z"}
	l.slots = append(l.slots, s)
	l.start(s, c)
	l.settle("another comes")
	moved := l.seen.Owned(s.now()) // its share
	l.touchedOnly("another comes", since, moved)
	since = member.Now()
	l.leave(s)
	l.slots = l.slots[:len(l.slots)-1]
	l.settle("it leaves")
	l.touchedOnly("it leaves", since, moved)
}

func (l *life) touchedOnly(what string, since int64, moved []int32) {
	l.t.Helper()
	if touched := l.seen.Touched(since); !slices.Equal(touched, moved) {
		l.t.Errorf("%s: partitions %v moved, and %v were touched", what, moved, touched)
	}
}

// stops has another member come and go in a group that is EAGER: everything is
// given up, twice.
func (l *life) stops(c code) {
	l.t.Helper()
	l.phase("one comes and goes: %v", c)
	since := member.Now()
	s := &slot{name: "z"}
	l.slots = append(l.slots, s)
	l.start(s, c)
	l.settle("another comes")
	if touched := l.seen.Touched(since); len(touched) != partitions {
		l.t.Errorf("only partitions %v were touched in a group that is EAGER", touched)
	}
	l.leave(s)
	l.slots = l.slots[:len(l.slots)-1]
	l.settle("it leaves")
}

// refused: old code comes to a group on Kafka that is cooperative. It is told so,
// and nobody else notices (M11).
func (l *life) refused(old code) {
	l.t.Helper()
	l.phase("old code comes too early: %v", old)
	since, before := member.Now(), l.generation()
	const name = "early"
	l.seen.MayFail(name)
	early := l.run(&slot{name: name}, name, old)
	var why string
	l.must(l.seen.Await(l.t.Context(), "it is refused", func() bool { why = l.seen.Refused(name); return why != "" }))
	early.Kill()
	if !strings.Contains(strings.ToLower(why), "inconsistent") {
		l.t.Errorf("it was refused with %q", why)
	}
	l.settle("it is refused")
	if after := l.generation(); after.number != before.number {
		l.t.Errorf("generation %d follows %d", after.number, before.number)
	}
	l.touchedOnly("it is refused", since, nil)
}

// down takes the fleet from our default to old code. Skein lets old code in at
// once (R-C15); Kafka, whose groups have forgotten the names that are withheld,
// needs a bounce before, unless the old code knows a name of those (R-C21).
func (l *life) down(ours, old code) {
	l.t.Helper()
	if !l.w.broker.IsSkein() && !old.cooperative() {
		if old.tells() {
			l.refused(old)
		}
		l.roll("down, a bounce before", code{ours.Client, oursYields})
	}
	l.roll("down", old)
}

// thereAndBack: up in one bounce, one comes and goes, down, and, in the long
// form, up again.
func (l *life) thereAndBack(old, ours code) {
	l.t.Helper()
	l.phase("old: %v", old)
	l.fleet(old, old, old)
	l.roll("up", ours)
	l.cooperates(ours)
	l.down(ours, old)
	if long() {
		l.roll("up again", ours)
		l.cooperates(ours)
		l.down(ours, old)
	}
	l.finish()
}

// twoBounces is the way of stock clients: a list of both in between, up and down
// (R-C7, R-C8, R-C20).
func (l *life) twoBounces(old member.Client, stock member.Client) {
	l.t.Helper()
	both, cooperative := code{stock, "cooperative-sticky,range"}, code{stock, "cooperative-sticky"}
	l.phase("old: %v", code{old, "range"})
	l.fleet(code{old, "range"}, code{old, "range"}, code{old, "range"})
	l.roll("up, first bounce", both)
	l.stops(both)
	l.roll("up, second bounce", cooperative)
	l.cooperates(cooperative)
	l.roll("down, first bounce", both)
	l.roll("down, second bounce", code{old, "range"})
	l.finish()
}

// faults: the bounces up and down, in which members, leaders and the broker are
// killed and started again.
func (l *life) faults(old, ours code) {
	l.t.Helper()
	l.phase("old: %v", old)
	l.fleet(old, old, old)
	l.phase("up, one is killed: %v", ours)
	l.bounce(l.slots[0], ours)
	l.kill(l.slots[1], ours)
	// A Kafka may be away for longer than the session. librdkafka's commit in the callback of what is revoked then waits for a
	// coordinator for minutes, and its member does not come back.
	if long() || l.w.broker.IsSkein() {
		l.phase("the broker starts again, mixed")
		l.restart()
	}
	l.phase("up, the leader is killed")
	l.kill(l.leader(), ours)
	for _, s := range l.slots {
		l.bounce(s, ours)
	}
	l.cooperates(ours)
	l.phase("the broker starts again, cooperative")
	l.restart()
	l.phase("the leader is killed, cooperative")
	l.kill(l.leader(), ours)
	l.cooperates(ours)
	l.down(ours, old)
	l.phase("the leader is killed, old")
	l.kill(l.leader(), old)
	l.finish()
}

// statics: the bounces of static members, who do not leave; each that comes takes
// the place of one that stopped, or was killed, within its session (M22). There is no
// round after the one that made them COOPERATIVE, so that their lists are whole
// still, and Kafka, too, lets old code in at once (M10).
func (l *life) statics(old, ours code) {
	l.t.Helper()
	l.static = true
	l.phase("old, static: %v", old)
	l.fleet(old, old, old)
	l.roll("up", ours)
	l.phase("one is killed and comes back: %v", ours)
	s := l.slots[0]
	s.process.Kill()
	l.start(s, ours)
	l.settle("it comes back")
	l.roll("down", old)
	l.finish()
}

// mixed: a fleet of several clients, each bounced on its own, and back.
func (l *life) mixed(ours code, old ...code) {
	l.t.Helper()
	l.phase("old: %v", old)
	l.fleet(old...)
	l.roll("up", ours)
	l.cooperates(ours)
	if !l.w.broker.IsSkein() && !old[0].cooperative() {
		if i := slices.IndexFunc(old, code.tells); i >= 0 {
			l.refused(old[i])
		}
		l.roll("down, a bounce before", code{ours.Client, oursYields})
	}
	l.phase("down")
	for i, s := range l.slots {
		l.bounce(s, old[i])
	}
	l.finish()
}

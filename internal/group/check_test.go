package group

import (
	"bytes"

	"github.com/skeinstream/skein/internal/machine"
)

// check fails when something does not hold that must hold between any two steps.
func (st *stage) check() {
	st.t.Helper()
	st.checkDurable()
	st.checkWake()
	parked := 0
	for name, g := range st.m.groups {
		if g.name != name || g.generation < st.reached[name] {
			st.t.Fatalf("group %s went from generation %d to %d", name, st.reached[name], g.generation)
		}
		st.reached[name] = g.generation
		st.checkRoster(g)
		st.checkState(g)
		st.checkProtocols(g)
		st.checkStored(g)
		for who := range g.members.all() {
			parked += st.checkCallers(who)
		}
	}
	for name := range st.reached {
		if st.m.groups[name] == nil {
			delete(st.reached, name)
		}
	}
	if parked != len(st.waiting) {
		st.t.Fatalf("%d callers wait, and %d are remembered", len(st.waiting), parked)
	}
}

// checkDurable: what is durable is what a replay makes of the records (R-D16).
func (st *stage) checkDurable() {
	replayed := New(st.settings)
	for _, r := range st.log {
		replayed.Apply(r)
	}
	if live, again := dumpOffsets(st.m), dumpOffsets(replayed); live != again {
		st.t.Fatalf("offsets:\n%s\nafter a replay:\n%s", live, again)
	}
	for name, g := range replayed.groups {
		if live := st.m.groups[name]; g.stored != nil && (live == nil || !bytes.Equal(live.stored, g.stored)) {
			st.t.Fatalf("group %s is not what the log says", name)
		}
	}
	for name, g := range st.m.groups {
		if again := replayed.groups[name]; g.stored != nil && (again == nil || again.stored == nil) {
			st.t.Fatalf("group %s is not in the log", name)
		}
	}
}

// checkWake: the machine asks to be called before anything is due.
func (st *stage) checkWake() {
	if next := st.m.timers.Next(); !next.IsZero() && (st.wake.IsZero() || st.wake.After(next)) {
		st.t.Fatalf("a timer is due at %v, and the machine wants to be called at %v", next, st.wake)
	}
}

// checkRoster: the indexes and counts of the members are right.
func (st *stage) checkRoster(g *Group) {
	offering, accepting, seen := names{}, names{}, 0
	joining, withholding, unsynced, static := 0, 0, 0, 0
	var last *member
	for who := range g.members.all() {
		seen++
		if g.members.byID[who.id] != who || who.before != last || who.static() && g.members.byInstance[*who.instance] != who {
			st.t.Fatalf("member %s of %s is not where it should be", who.id, g.name)
		}
		last = who
		for _, p := range who.offers {
			offering.add(p.Name, 1)
			accepting.add(p.Name, 1)
		}
		for _, p := range who.withheld {
			accepting.add(p.Name, 1)
		}
		joining += count(who.join.waits)
		unsynced += count(who.unsynced)
		withholding += count(len(who.withheld) > 0)
		static += count(who.static())
		if !who.waits() && !who.timer.Runs() {
			st.t.Fatalf("nothing ends the session of %s", who.id)
		}
	}
	r := &g.members
	if r.last != last || len(r.byID) != seen || len(r.byInstance) != static || r.joining != joining || r.withholding != withholding {
		st.t.Fatalf("members of %s: %d, %d joining, %d withholding; counted %d, %d, %d", g.name, len(r.byID), r.joining, r.withholding, seen, joining, withholding)
	}
	if !sameCounts(offering, r.offering) || !sameCounts(accepting, r.accepting) || (g.state == Stable || g.state == CompletingRebalance) && g.unsynced != unsynced {
		st.t.Fatalf("names of %s: %v and %v, counted %v and %v", g.name, r.offering, r.accepting, offering, accepting)
	}
}

func sameCounts(a, b names) bool {
	for name := range a {
		if a[name] != b[name] {
			return false
		}
	}
	return len(a) == len(b)
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// checkState: what waits, and for what, fits the state (R-D1).
func (st *stage) checkState(g *Group) {
	leads := g.leader != nil && g.members.byID[g.leader.id] == g.leader
	switch {
	case leads != (g.members.len() > 0),
		g.state == Empty && g.members.len() > 0,
		g.state == Dead,
		(g.state == CompletingRebalance || g.state == Stable) && (g.members.len() == 0 || g.protocol == nil),
		g.state == PreparingRebalance && !g.timer.Runs(),
		g.state == CompletingRebalance && !g.timer.Runs(),
		g.state == Stable && g.timer.Runs() != (g.unsynced > 0),
		g.state == Empty && g.timer.Runs():
		st.t.Fatalf("group %s: %v with %d members, leader %v, unsynced %d, timer %v", g.name, g.state, g.members.len(), leads, g.unsynced, g.timer.Runs())
	}
	all := g.state == PreparingRebalance && !g.round.first && g.members.joining == g.members.len() && g.pending.len() == 0
	if all {
		st.t.Fatalf("group %s waits for nobody (FR-B11)", g.name)
	}
	for id, timer := range g.pending.timers {
		if !timer.Runs() || g.members.byID[id] != nil {
			st.t.Fatalf("id %s of %s is pending for ever, or a member", id, g.name)
		}
	}
	if len(g.history) > historyMax {
		st.t.Fatalf("history of %s has %d entries", g.name, len(g.history))
	}
}

// checkProtocols: who waits in a round offers something that everybody knows (R-C15), and what is selected is known to all.
func (st *stage) checkProtocols(g *Group) {
	for who := range g.members.all() {
		if g.state == PreparingRebalance && who.join.waits && !g.members.accepting.shared(who.offers, g.members.len()) {
			st.t.Fatalf("%s waits in %s with nothing that all know", who.id, g.name)
		}
		if (g.state == CompletingRebalance || g.state == Stable) && g.members.accepting[*g.protocol] != g.members.len() {
			st.t.Fatalf("%s has selected %q, which %d of %d members know", g.name, *g.protocol, g.members.accepting[*g.protocol], g.members.len())
		}
	}
}

// checkStored: a group that waits for nobody is in the log as it is.
func (st *stage) checkStored(g *Group) {
	if g.state != Stable && g.state != Empty || g.stored == nil {
		return
	}
	again := New(st.settings)
	again.Apply(machine.Record{Key: groupKey(g.name), Value: g.stored})
	again.Loaded(st.now)
	stored := again.groups[g.name]
	if stored.generation != g.generation || stored.protocolType != g.protocolType && g.generation > 0 || stored.members.len() != g.members.len() {
		st.t.Fatalf("%s has generation %d and %d members, and in the log %d and %d", g.name, g.generation, g.members.len(), stored.generation, stored.members.len())
	}
	for who := range g.members.all() {
		kept := stored.members.byID[who.id]
		if kept == nil || !bytes.Equal(kept.assignment, who.assignment) || st.settings.ProtocolsPersisted && !sameProtocols(kept.offers, who.offers) {
			st.t.Fatalf("member %s of %s is not in the log as it is", who.id, g.name)
		}
	}
}

// checkCallers counts the callers that a member holds, each of whom must still wait (R-K31).
func (st *stage) checkCallers(who *member) int {
	n := 0
	for _, p := range []parked{who.join, who.sync} {
		if !p.waits {
			continue
		}
		n++
		if _, waits := st.waiting[p.token]; !waits {
			st.t.Fatalf("member %s keeps a caller who has been answered", who.id)
		}
	}
	if n > 1 {
		st.t.Fatalf("both a Join and a Sync of %s wait", who.id)
	}
	return n
}

var _ machine.Machine = (*Machine)(nil)

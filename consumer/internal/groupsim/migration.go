package groupsim

import (
	"fmt"
	"slices"

	"github.com/skeinstream/skein/consumer/internal/membership"
)

// migration is what the judge knows of a group of the new protocol (KIP-848), and of its way there and back: row M23.
type migration struct {
	modern   *modern  // as it is stored; nil: the group is a classic one
	there    []string // our members that were in the classic group when it was converted
	back     []string // and in the other when it went back
	stranded bool     // the coordinator was lost between the way back and the round that deals out what was the leaver's
	taken    map[partition]taken
	expelled map[string]bool // members of the new protocol's group that have been, and are not
}

// taken is what is taken from under a member. Kafka's conversion takes what a COOPERATIVE one is to give up, by the classic plan, and does not know
// yet, or is about to, in its callback: the coordinator knows what is assigned, and not who has it still, and the member has no way to
// say so. And whoever was expelled from a group of the new protocol, and joins again as if nothing were, has what others were given; ours find out
// by the clock, and lose it.
type taken struct {
	from *incarnation
	*place
	back bool // it was expelled, and is let in again
}

// takes sees a conversion.
func (j *judge) takes(g *modern) {
	j.taken = map[partition]taken{}
	for _, p := range j.w.order {
		if p.now == nil {
			continue
		}
		for at, pos := range p.now.places {
			m := g.holder(membership.TopicPartition{Topic: at.topic, Partition: at.index})
			if l := j.ids[p.now.brain.Generation().Member]; m == nil || l == nil || l != j.ids[m.ID] {
				j.taken[at] = taken{from: p.now, place: pos}
			}
		}
	}
}

// isTaken says that it was taken from under a member, which may still go on with it and commit.
func (j *judge) isTaken(at partition, from *incarnation) bool {
	t, has := j.taken[at]
	return has && t.from == from && !j.w.seams.strict && !(t.back && from.spec.ours())
}

// stillHas says that it is there and was taken from under it.
func (j *judge) stillHas(at partition, from *incarnation) bool {
	t, has := j.taken[at]
	return has && t.from == from && t.place == from.places[at] && !j.w.seams.strict
}

// letsIn looks for members that were expelled and are there again under the same name.
func (j *judge) letsIn(g *modern) {
	if j.modern != nil {
		for _, m := range j.modern.Members {
			j.expelled[m.ID] = g.member(m.ID) == nil
		}
	}
	for _, m := range g.Members {
		l := j.ids[m.ID]
		if !m.classic() || !j.expelled[m.ID] || l == nil {
			continue
		}
		delete(j.expelled, m.ID)
		for at, pos := range l.of.places {
			j.taken[at] = taken{from: l.of, place: pos, back: true}
		}
	}
}

// within says that a process is a member of the generation in force: it was told so, or is about to be.
func (j *judge) within(i *incarnation) bool {
	id := i.brain.Generation().Member
	l := j.ids[id]
	if l == nil || l.of != i {
		return false
	}
	if j.modern != nil { // where each member has an epoch of its own
		m := j.modern.member(id)
		return m != nil && l.generation == m.Epoch
	}
	return l.generation == j.generation
}

// recordModern sees what the coordinator stores of a group of the new protocol; nil is that it is one no more.
func (j *judge) recordModern(value []byte) {
	if value == nil {
		if j.modern != nil && len(j.modern.Members) == 0 {
			j.forget()
		}
		j.modern = nil
		return
	}
	g := decodeModern(value)
	j.letsIn(g)
	j.modern, j.stranded = g, false
	s := &snapshot{generation: g.Epoch, modern: true}
	for _, m := range g.Members {
		s.members = append(s.members, j.storedModern(m))
		s.topics += fmt.Sprint(m.Topics)
	}
	if g.Epoch > j.generation {
		j.generation = g.Epoch
		j.rounds, j.began = j.rounds+1, j.w.Now
		j.since++
	}
	j.changed(s)
	if j.last != nil && !j.last.modern {
		j.there = j.last.ours()
		j.takes(g)
	}
	if g.settled() && s.shared() && slices.ContainsFunc(s.ours(), func(id string) bool { return slices.Contains(j.there, id) }) {
		j.row("M23 there")
	}
	j.last, j.failover = s, false
}

// forget sees an empty group go, in whose place a classic one begins with generation 1.
func (j *judge) forget() {
	for _, l := range j.ids {
		l.generation = -1
	}
	j.generation, j.last, j.there, j.back = 0, nil, nil, nil
}

func (j *judge) storedModern(m *modernMember) stored {
	if !m.classic() && j.ids[m.ID] == nil { // it has chosen its own name
		for _, p := range j.w.order {
			if p.now != nil && p.now.name() == m.ID {
				j.ids[m.ID] = &life{of: p.now}
				j.disturbed()
			}
		}
	}
	out := stored{id: m.ID, epoch: m.Epoch, claim: len(m.Assigned) > 0, given: len(m.Assigned)}
	if l := j.ids[m.ID]; l != nil {
		out.of = l.of
	}
	for _, held := range [][]membership.TopicPartition{m.Assigned, m.Revoking} {
		for _, tp := range held {
			if l := j.w.logs[partition{tp.Topic, tp.Partition}]; l != nil {
				l.given = m.ID
			}
		}
	}
	return out
}

// settled says that all members have come to the plan.
func (g *modern) settled() bool {
	return g.find(func(m *modernMember) bool { return m.Epoch != g.Epoch || len(m.Revoking) > 0 || m.Waits }) == nil
}

// ours are the ids of our members.
func (s *snapshot) ours() (ids []string) {
	for _, m := range s.members {
		if m.of != nil && m.of.spec.ours() {
			ids = append(ids, m.id)
		}
	}
	return ids
}

// shared says that a member of the new protocol and one of ours have something each.
func (s *snapshot) shared() bool {
	has := func(is func(spec) bool) bool {
		return slices.ContainsFunc(s.members, func(m stored) bool { return m.of != nil && is(m.of.spec) && m.given > 0 })
	}
	return has(func(s spec) bool { return s.ours() }) && has(func(s spec) bool { return s.code == 'K' })
}

// goesBack sees a classic group: one that was of the new protocol, and the first round after that.
func (j *judge) goesBack(s *snapshot) {
	switch {
	case j.last == nil:
	case j.last.modern:
		s.converted, j.back = true, j.last.ours()
	case j.last.converted:
		if slices.ContainsFunc(s.ours(), func(id string) bool { return slices.Contains(j.back, id) }) {
			j.row("M23 back")
		}
		j.back, j.stranded = nil, false
	}
}

package upgrade

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/skeinstream/skein/interop/internal/member"
)

// maxGenerations is how many generations may follow the one that first had its
// members (R-C26).
const maxGenerations = 3

// settling is how long a client may take to notice that the broker is back, or to
// draw the conclusion that it has been away for longer than a session.
const settling = 10 * time.Second

// verdict is what judge finds.
type verdict struct {
	wrongs []string // what must not be, told
	counts
	phases []figures
}

// counts are of what must be 0.
type counts struct {
	overlaps    int // partitions that had two owners, or whose records somebody handled who did not own them
	duplicates  int // records handled again although nobody had died or was thrown out
	lost        int // records that nobody handled
	regressions int // committed offsets below an earlier one, or of a member that was no owner any more
	expelled    int // live members whose partitions were given to others
	slow        int // memberships that were not settled after maxGenerations
}

// figures are of one phase.
type figures struct {
	name        string
	stops       []int64 // how long, in microseconds, partitions had no owner, one a stop
	stopped     map[int32]int64
	reread      int // records handled again since their commit died with their owner
	generations int
	followed    int32 // the most generations that followed a change of members
	protocols   []string
}

// judge tells what of a history must not be: a partition with two owners; a
// record that nobody handled; one that was handled twice, unless an owner died
// before it committed; an offset that went back; a live member that was thrown out; a group
// that did not settle.
func judge(h history) verdict {
	j := newJudge(h)
	events := member.Sorted(h.events)
	for _, e := range merged(events, h.commits) {
		j.step(e)
	}
	for p, end := range h.ends {
		if high := j.at(p).high; high != end {
			j.lost += max(1, int(end-high))
			j.wrong("partition %d is handled up to %d of %d", p, high, end)
		}
	}
	j.unheard(events, h.commits)
	j.rounds(h.generations)
	return j.verdict
}

// merged is the events and the commits in the order of time, the latter as
// events of nobody.
func merged(events []member.Event, commits []commit) []member.Event {
	all := slices.Clone(events)
	for _, c := range commits {
		all = append(all, member.Event{At: c.at, Kind: member.Committed, Partitions: []int32{c.partition}, First: c.offset})
	}
	return member.Sorted(all)
}

// partition is what is known of one at a moment.
type partition struct {
	number  int32
	owner   string
	free    int64 // since when it has had no owner; 0: it never had one
	began   bool  // its owner has handled something
	reading int64 // what its owner handles next
	high    int64 // below it everything has been handled
	next    int64 // below it nothing may be handled again; below high where an owner died before it committed
	offset  int64 // the group's
}

// died says that the owner is gone and can commit nothing more.
func (p *partition) died(at int64) {
	p.owner, p.free, p.next = "", at, min(p.next, p.offset)
}

type judging struct {
	verdict
	partitions map[int32]*partition
	marks      []phase
	leaving    map[string]bool
	calm       int64 // until when a start of the broker is felt
}

func newJudge(h history) *judging {
	j := &judging{partitions: map[int32]*partition{}, leaving: map[string]bool{}, marks: h.phases}
	if len(j.marks) == 0 {
		j.marks = []phase{{math.MinInt64, "all"}}
	}
	for _, p := range j.marks {
		j.phases = append(j.phases, figures{name: p.name, stopped: map[int32]int64{}})
	}
	return j
}

func (j *judging) wrong(format string, args ...any) {
	j.wrongs = append(j.wrongs, fmt.Sprintf(format, args...))
}

func (j *judging) at(p int32) *partition {
	if j.partitions[p] == nil {
		j.partitions[p] = &partition{number: p}
	}
	return j.partitions[p]
}

// phase is that of a moment.
func (j *judging) phase(at int64) *figures {
	i := len(j.marks) - 1
	for i > 0 && j.marks[i].at > at {
		i--
	}
	return &j.phases[i]
}

func (j *judging) step(e member.Event) {
	switch e.Kind {
	case member.Ended:
		for _, p := range j.partitions {
			if p.owner == e.Member {
				p.died(e.At)
			}
		}
	case member.Down:
		j.calm = math.MaxInt64
	case member.Up:
		j.calm = e.At + settling.Microseconds()
	case member.Leaving:
		j.leaving[e.Member] = true
	case member.Lost:
		if j.leaving[e.Member] { // in the middle of a rebalance that is called so; it has committed before
			e.Kind = member.Revoked
			break
		}
		// Whom a broker that is away does not answer may draw the same conclusion.
		if e.At > j.calm {
			j.expelled++
			j.wrong("a live member was thrown out: %v", e)
		}
	}
	for _, p := range e.Partitions {
		j.about(e, j.at(p))
	}
}

// about takes what an event says of one partition.
func (j *judging) about(e member.Event, p *partition) {
	switch {
	case e.Kind == member.Assigned:
		j.assigned(e, p)
	case e.Kind == member.Handled:
		j.handled(e, p)
	case e.Kind == member.Committed && e.Member == "":
		j.committed(e, p)
	case e.Kind == member.Committed && p.owner != "" && p.owner != e.Member:
		j.regressions++
		j.wrong("a commit was accepted while %s owned the partition: %v", p.owner, e)
	case e.Kind == member.Revoked && p.owner == e.Member:
		p.owner, p.free = "", e.At
	case e.Kind == member.Lost && p.owner == e.Member:
		p.died(e.At)
	}
}

func (j *judging) assigned(e member.Event, p *partition) {
	switch {
	case p.owner != "" && p.owner != e.Member:
		j.overlaps++
		j.wrong("the partition is still owned by %s: %v", p.owner, e)
	case p.owner == "" && p.free != 0:
		f := j.phase(e.At)
		f.stops = append(f.stops, e.At-p.free)
		f.stopped[p.number] += e.At - p.free
	}
	p.owner, p.began, p.next = e.Member, false, max(p.next, p.offset)
}

func (j *judging) handled(e member.Event, p *partition) {
	if p.owner != e.Member {
		j.overlaps++
		j.wrong("the owner is %q: %v", p.owner, e)
		p.high = max(p.high, e.Last+1)
		return
	}
	if e.Count != e.Last-e.First+1 {
		j.lost++
		j.wrong("%d records from %d to %d: %v", e.Count, e.First, e.Last, e)
	}
	switch {
	case e.First > p.high || p.began && e.First > p.reading:
		j.lost++
		j.wrong("nobody has handled what is before it, from %d on: %v", p.high, e)
	case e.First < p.next:
		again := int(min(p.next, e.Last+1) - e.First)
		j.duplicates += again
		j.wrong("%d records are handled again: %v", again, e)
	case e.First < p.high:
		j.phase(e.At).reread += int(min(p.high, e.Last+1) - e.First)
	}
	p.began, p.reading = true, e.Last+1
	p.next, p.high = max(p.next, p.reading), max(p.high, p.reading)
}

func (j *judging) committed(e member.Event, p *partition) {
	if e.First < p.offset {
		j.regressions++
		j.wrong("the offset goes back from %d: %v", p.offset, e)
	}
	if e.First > p.high {
		j.lost++
		j.wrong("the offset is beyond %d, which nobody has handled: %v", p.high, e)
	}
	p.offset = e.First
}

// unheard looks for commits that a member was told of and the broker does not know.
func (j *judging) unheard(events []member.Event, commits []commit) {
	known := map[commit]bool{}
	for _, c := range commits {
		known[commit{partition: c.partition, offset: c.offset}] = true
	}
	for _, e := range events {
		if e.Kind == member.Committed && e.Member != "" && !known[commit{partition: e.Partitions[0], offset: e.First}] {
			j.regressions++
			j.wrong("the broker has not written down what it accepted: %v", e)
		}
	}
}

// rounds looks at the generations: in none has a partition two owners, and not
// many follow a change of the members.
func (j *judging) rounds(generations []generation) {
	var members []string
	var since int32
	for _, g := range generations {
		if g.gone { // what follows is a classic group that comes of another: its numbers have gone on without us
			members = nil
			continue
		}
		f := j.phase(g.at)
		f.generations++
		if len(g.members) == 0 {
			continue
		}
		if len(f.protocols) == 0 || f.protocols[len(f.protocols)-1] != g.protocol {
			f.protocols = append(f.protocols, g.protocol)
		}
		if ids := g.ids(); !slices.Equal(ids, members) {
			members, since = ids, g.number
		}
		followed := g.number - since
		f.followed = max(f.followed, followed)
		if followed == maxGenerations+1 {
			j.slow++
			j.wrong("generation %d is the %dth with the members %v", g.number, followed+1, members)
		}
		j.planned(g)
	}
}

func (j *judging) planned(g generation) {
	owners := map[int32]string{}
	for id, m := range g.members {
		for _, p := range m.partitions {
			if owners[p] != "" {
				j.overlaps++
				j.wrong("generation %d gives partition %d to %s and %s", g.number, p, owners[p], id)
			}
			owners[p] = id
		}
	}
}

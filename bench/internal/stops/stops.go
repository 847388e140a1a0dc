// Package stops tells from what the members of a group say when which partition
// stood still, and why. It is pure: a trace goes in, judgements come out.
//
// Members say what they own and which records they are done with, all stamped
// by one monotonic clock. A trace is cut at the changes of membership: a member
// comes, leaves, or is killed. Whatever happens from one change to the next one
// is laid to the first.
package stops

import (
	"cmp"
	"slices"
	"time"
)

// Kind is what an event tells.
type Kind string

const (
	Assigned Kind = "assigned" // the client gave the member partitions
	Revoked  Kind = "revoked"  // the client took partitions from it
	Lost     Kind = "lost"     // others may have had them already
	Handled  Kind = "handled"  // the member is done with records First to Last of one partition
	Ended    Kind = "ended"    // the member's process is gone
)

// Event is one moment of a member's life.
type Event struct {
	At          time.Duration // by a clock that all members share
	Member      string
	Kind        Kind
	Partitions  []int32
	First, Last int64 // offsets, of Handled
}

// Change is a change of membership.
type Change struct {
	At   time.Duration
	Name string
	Live []string // members from now on
	Calm bool     // nothing is changed: what is seen is the machine's noise
}

// Trace is the life of one group on one topic.
type Trace struct {
	Written [][]time.Duration // by partition, and then by offset: when the record was in the log
	Events  []Event
	Changes []Change      // in the order of time, none at the same moment
	End     time.Duration // of the last change's time
}

// Stop is how long a partition stood still at a change: the longest time that a
// record waited in the log, since the one before was handled, to be handled for
// the first time. It is the longest gap between two handled records beyond the
// time between two written ones; what holds up the producer does not count.
type Stop struct {
	Partition int32
	Took      time.Duration
	From, To  string // owners before and after; the same for one that stays
	Needed    bool   // the partition had to move for the group to be fair again
}

// Moved tells whether another member has the partition now.
func (s Stop) Moved() bool { return s.From != s.To }

// Outcome is what a change did.
type Outcome struct {
	Change
	Stops   []Stop // of each partition
	Fewest  int    // partitions that move in the best plan
	Reread  int64  // records that were handled again
	Skipped int64  // records that nobody handled before a later one of their partition was
}

// Moves counts the partitions that went to another member.
func (o Outcome) Moves() (n int) {
	for _, s := range o.Stops {
		if s.Moved() {
			n++
		}
	}
	return n
}

// Judge tells what each change of a trace did.
func Judge(t Trace) []Outcome {
	events := slices.Clone(t.Events)
	slices.SortStableFunc(events, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	j := judge{Trace: t, owners: map[int32]string{}, next: map[int32]int64{}, progress: map[int32][]step{}}
	outcomes := make([]Outcome, len(t.Changes))
	at := 0
	for i, c := range t.Changes {
		at += j.play(events[at:], c.At, nil)
		outcomes[i] = Outcome{Change: c}
		before := j.ownersNow()
		at += j.play(events[at:], j.until(i), &outcomes[i])
		j.settle(&outcomes[i], before, j.ownersNow())
	}
	j.play(events[at:], 1<<62, nil)
	for i := range outcomes {
		j.stops(&outcomes[i], j.until(i))
		need(outcomes[i].Stops, outcomes[i].Live, outcomes[i].Fewest)
	}
	return outcomes
}

type judge struct {
	Trace
	owners   map[int32]string
	next     map[int32]int64 // below it everything is handled
	progress map[int32][]step
}

// step is the moment at which a record was handled for the first time, and with
// it all that were handled together.
type step struct {
	at     time.Duration
	offset int64
}

// until is when the time of a change is over.
func (j *judge) until(i int) time.Duration {
	if i+1 < len(j.Changes) {
		return j.Changes[i+1].At
	}
	return j.End
}

// play takes in the events before a moment and returns how many these are. What
// is read again or left out goes into o.
func (j *judge) play(events []Event, before time.Duration, o *Outcome) (n int) {
	for ; n < len(events) && events[n].At < before; n++ {
		e := events[n]
		for _, p := range e.Partitions {
			switch e.Kind {
			case Assigned:
				j.owners[p] = e.Member
			case Handled:
				j.handled(p, e, o)
			}
		}
	}
	return n
}

func (j *judge) handled(p int32, e Event, o *Outcome) {
	if o == nil {
		o = &Outcome{}
	}
	next, known := j.next[p]
	if !known {
		next = e.First // where the trace begins
	}
	o.Reread += max(0, min(e.Last+1, next)-e.First)
	o.Skipped += max(0, e.First-next)
	if e.Last+1 > next {
		j.progress[p] = append(j.progress[p], step{e.At, max(e.First, next)})
	}
	j.next[p] = max(next, e.Last+1)
}

// ownersNow is who had each partition last: one that is just revoked still
// belongs to whom it is taken from, until another one has it.
func (j *judge) ownersNow() []string {
	now := make([]string, len(j.Written))
	for p := range now {
		now[p] = j.owners[int32(p)]
	}
	return now
}

func (j *judge) settle(o *Outcome, before, after []string) {
	for p := range before {
		o.Stops = append(o.Stops, Stop{Partition: int32(p), From: before[p], To: after[p]})
	}
	o.Fewest = fewest(before, o.Live)
}

// stops measures how long each partition stood still within the time of o. A
// stop that begins before is counted whole: the last record before a change is
// where it begins. One that goes on beyond the end is counted up to there.
func (j *judge) stops(o *Outcome, end time.Duration) {
	for i := range o.Stops {
		s := &o.Stops[i]
		steps := j.progress[s.Partition]
		first, _ := slices.BinarySearchFunc(steps, o.At, func(x step, at time.Duration) int { return cmp.Compare(x.at, at) })
		last := time.Duration(0)
		if first > 0 {
			last = steps[first-1].at
		}
		for _, x := range append(slices.Clone(steps[first:]), step{j.End, j.next[s.Partition]}) {
			s.Took = max(s.Took, min(x.at, end)-max(last, j.written(s.Partition, x.offset)))
			if x.at >= end {
				break
			}
			last = x.at
		}
	}
}

// written is when a record was in the log; one that was not to the end waits for nobody.
func (j *judge) written(partition int32, offset int64) time.Duration {
	if of := j.Written[partition]; offset < int64(len(of)) {
		return of[offset]
	}
	return j.End
}

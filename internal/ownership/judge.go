package ownership

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Judge looks at a whole history. Ends is what producers were told of each partition: everything below is to be handled.
func Judge(history []Event, ends map[int32]int64) Verdict {
	sorted := slices.Clone(history)
	slices.SortStableFunc(sorted, func(a, b Event) int { return a.At.Compare(b.At) })
	w := NewWatch()
	for _, e := range sorted {
		w.See(e)
	}
	return w.Verdict(ends)
}

// Watch judges a history while it happens.
type Watch struct {
	partitions  map[int32]*partition
	generations map[int32]bool
	phases      []*Phase
	v           Verdict
	last        time.Time
}

// partition is one, as it stands.
type partition struct {
	Partition
	owner   string
	fresh   bool      // the owner has handled nothing yet
	from    int64     // the committed offset when the owner got it
	at      int64     // where the owner goes on
	next    int64     // below it somebody has handled everything
	offset  int64     // committed
	handled time.Time // the last record
	stopped bool      // no record has come since an owner gave it up
	died    bool      // the last owner could not commit all that it had handled
}

// NewWatch has seen nothing.
func NewWatch() *Watch {
	return &Watch{partitions: map[int32]*partition{}, generations: map[int32]bool{}}
}

// See takes the next event; their times do not go back.
func (w *Watch) See(e Event) {
	w.last = e.At
	switch e.Kind {
	case Began:
		w.began(e)
	case Joined:
		w.joined(e)
	case Ended:
		for _, id := range w.owned(e.Member) {
			w.of(id).release(true)
		}
	}
	for _, id := range e.Partitions {
		w.saw(e, w.of(id))
	}
}

func (w *Watch) saw(e Event, p *partition) {
	switch e.Kind {
	case Assigned:
		w.assigned(e, p)
	case Revoked, Lost:
		w.released(e, p)
	case Handled:
		w.handled(e, p)
	case Committed:
		w.committed(e, p)
	case Refused:
		w.v.Refused++
		p.died = p.died || p.owner == e.Member
	}
}

// Owner is whose a partition is now, "" for nobody's.
func (w *Watch) Owner(id int32) string { return w.of(id).owner }

func (w *Watch) of(id int32) *partition {
	p := w.partitions[id]
	if p == nil {
		p = &partition{Partition: Partition{ID: id}}
		w.partitions[id] = p
	}
	return p
}

func (w *Watch) owned(member string) (ids []int32) {
	for id, p := range w.partitions {
		if p.owner == member {
			ids = append(ids, id)
		}
	}
	return ids
}

// phase is the one that runs; a history without any has one without a name.
func (w *Watch) phase() *Phase {
	if len(w.phases) == 0 {
		w.began(Event{At: w.last})
	}
	return w.phases[len(w.phases)-1]
}

func (w *Watch) began(e Event) {
	next := &Phase{Name: e.Phase, Clean: e.Clean, limit: e.Limit, began: e.At, stopped: map[int32]bool{}}
	if n := len(w.phases); n > 0 {
		w.phases[n-1].Took = e.At.Sub(w.phases[n-1].began)
		next.Assignor = w.phases[n-1].Assignor
	}
	w.phases = append(w.phases, next)
}

func (w *Watch) joined(e Event) {
	phase := w.phase()
	phase.Assignor = e.Assignor
	if w.generations[e.Generation] {
		return
	}
	w.generations[e.Generation] = true
	phase.Generations++
	if phase.limit > 0 && phase.Generations == int(phase.limit)+1 {
		w.wrong(e, "%q takes more than %d generations", phase.Name, phase.limit)
	}
}

func (w *Watch) assigned(e Event, p *partition) {
	if p.owner != "" && p.owner != e.Member {
		p.Overlaps++
		w.wrong(e, "partition %d is still owned by %s", p.ID, p.owner)
	}
	p.owner, p.fresh, p.from = e.Member, true, p.offset
}

func (w *Watch) released(e Event, p *partition) {
	if p.owner == e.Member {
		p.release(e.Kind == Lost)
	}
	if e.Kind == Lost && w.phase().Clean {
		w.wrong(e, "a live member was thrown out")
	}
}

// release takes the owner away. One that committed what it handled leaves nothing to be handled again.
func (p *partition) release(died bool) {
	p.owner, p.died = "", p.died || died
	p.stopped = !p.handled.IsZero()
}

func (w *Watch) handled(e Event, p *partition) {
	if p.owner != e.Member {
		w.wrong(e, "partition %d is owned by %q", p.ID, p.owner)
		return
	}
	if e.Count != e.Last-e.First+1 {
		w.wrong(e, "%d records from %d to %d", e.Count, e.First, e.Last)
	}
	switch {
	case !p.fresh && e.First != p.at:
		w.wrong(e, "partition %d goes on at %d, not at %d", p.ID, e.First, p.at)
	case p.fresh && e.First < p.from:
		w.wrong(e, "partition %d begins at %d, below the committed offset %d", p.ID, e.First, p.from)
	case p.fresh && e.First > p.next:
		w.wrong(e, "partition %d begins at %d: nobody has handled %d", p.ID, e.First, p.next)
	}
	w.again(e, p)
	w.flows(e, p)
	p.fresh, p.died, p.at = false, false, e.Last+1
	p.Records += max(0, p.at-max(p.next, e.First))
	p.next = max(p.next, p.at)
}

// again counts what was handled before. That may be only where the owner before could not commit it, and never in a clean phase.
func (w *Watch) again(e Event, p *partition) {
	n := min(p.next, e.Last+1) - e.First
	if n <= 0 {
		return
	}
	p.Duplicates += n
	phase := w.phase()
	if phase.Duplicates += n; phase.Clean || !p.died {
		w.wrong(e, "%d of partition %d's records are handled again", n, p.ID)
	}
}

// flows says that records come: what stood still does so no longer.
func (w *Watch) flows(e Event, p *partition) {
	gap := e.At.Sub(p.handled)
	switch {
	case p.handled.IsZero():
	case p.stopped:
		p.Stops, p.Stopped, p.Longest = p.Stops+1, p.Stopped+gap, max(p.Longest, gap)
		phase := w.phase()
		phase.stopped[p.ID], phase.Longest = true, max(phase.Longest, gap)
	default:
		p.Pause = max(p.Pause, gap)
	}
	p.handled, p.stopped = e.At, false
}

func (w *Watch) committed(e Event, p *partition) {
	if e.Member != "" {
		w.v.Commits++
		if p.owner != "" && p.owner != e.Member {
			w.wrong(e, "partition %d is owned by %s", p.ID, p.owner)
		}
		p.died = p.died && p.owner != e.Member
	}
	if e.First < p.offset {
		w.wrong(e, "the offset of partition %d goes back from %d", p.ID, p.offset)
	}
	if e.First > p.next {
		w.wrong(e, "nobody has handled partition %d beyond %d", p.ID, p.next)
	}
	p.offset = e.First
}

// wrong puts down what must not be, with the moment.
func (w *Watch) wrong(e Event, format string, args ...any) {
	w.v.Wrongs = append(w.v.Wrongs, fmt.Sprintf(format, args...)+": "+e.String())
}

// Verdict is what it comes to if it ends here. Without ends, nothing is called lost. The watch goes on.
func (w *Watch) Verdict(ends map[int32]int64) Verdict {
	v := w.v
	v.Wrongs = append([]string{}, w.v.Wrongs...)
	v.Generations = len(w.generations)
	for _, id := range slices.Sorted(maps.Keys(ends)) {
		if p := w.of(id); p.next != ends[id] {
			v.Wrongs = append(v.Wrongs, fmt.Sprintf("partition %d was handled up to %d of %d", id, p.next, ends[id]))
		}
	}
	for _, p := range slices.SortedFunc(maps.Values(w.partitions), func(a, b *partition) int { return cmp.Compare(a.ID, b.ID) }) {
		sum := p.Partition
		if end, known := ends[p.ID]; known {
			sum.Lost = max(0, end-p.next)
		}
		v.Partitions = append(v.Partitions, sum)
		v.Records, v.Duplicates, v.Overlaps, v.Lost = v.Records+sum.Records, v.Duplicates+sum.Duplicates, v.Overlaps+sum.Overlaps, v.Lost+sum.Lost
	}
	for i, phase := range w.phases {
		sum := *phase
		sum.Stopped, sum.stopped = len(phase.stopped), nil
		if i == len(w.phases)-1 {
			sum.Took = w.last.Sub(phase.began)
		}
		v.Phases = append(v.Phases, sum)
	}
	return v
}

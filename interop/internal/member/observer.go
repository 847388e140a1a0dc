package member

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Observer collects what members say as it comes, keeps the whole of it for
// check, and lets the test wait for a state of the group.
type Observer struct {
	mu      sync.Mutex
	history []Event
	owned   map[string]map[int32]bool // by member that lives
	next    map[int32]int64           // handled, by partition
	failed  []string
	refused map[string]string // why members failed that may
	changed chan struct{}     // closed and replaced at every change
}

// NewObserver has seen nothing yet.
func NewObserver() *Observer {
	return &Observer{owned: map[string]map[int32]bool{}, next: map[int32]int64{}, refused: map[string]string{}, changed: make(chan struct{})}
}

// Add puts an event down.
func (o *Observer) Add(e Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.history = append(o.history, e)
	mine := o.owned[e.Member]
	if mine == nil && e.Member != "" {
		mine = map[int32]bool{}
		o.owned[e.Member] = mine
	}
	for _, p := range e.Partitions {
		switch e.Kind {
		case Assigned:
			mine[p] = true
		case Revoked, Lost:
			delete(mine, p)
		case Handled:
			o.next[p] = max(o.next[p], e.Last+1)
		}
	}
	switch e.Kind {
	case Failed:
		if _, may := o.refused[e.Member]; may {
			o.refused[e.Member] = e.Why
		} else {
			o.failed = append(o.failed, e.Member+" said that it failed: "+e.Why)
		}
	case Ended:
		delete(o.owned, e.Member)
	}
	o.tell()
}

// MayFail says beforehand that a member is expected to say that it failed.
func (o *Observer) MayFail(member string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.refused[member] = ""
}

// Refused is why a member failed that may; it is to be called within Await.
func (o *Observer) Refused(member string) string { return o.refused[member] }

// Fail records that a member cannot go on: no wait has a point any more.
func (o *Observer) Fail(format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failed = append(o.failed, fmt.Sprintf(format, args...))
	o.tell()
}

func (o *Observer) tell() {
	close(o.changed)
	o.changed = make(chan struct{})
}

// Await waits until ok, which is called with the state locked, for as long as Patience and while nothing has failed.
func (o *Observer) Await(ctx context.Context, what string, ok func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	for {
		o.mu.Lock()
		done, failed, changed := ok(), slices.Clone(o.failed), o.changed
		o.mu.Unlock()
		switch {
		case len(failed) > 0:
			return fmt.Errorf("waiting until %s: %s", what, strings.Join(failed, "; "))
		case done:
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("waiting until %s: %w; %s", what, ctx.Err(), o)
		}
	}
}

// Shared tells whether exactly these members own something, and all of them
// everything, each partition once.
func (o *Observer) Shared(partitions int, members ...string) bool {
	if len(o.owned) != len(members) {
		return false
	}
	all := map[int32]int{}
	for _, m := range members {
		if len(o.owned[m]) == 0 {
			return false
		}
		for p := range o.owned[m] {
			all[p]++
		}
	}
	return len(all) == partitions && !slices.ContainsFunc(slices.Collect(maps.Values(all)), func(n int) bool { return n != 1 })
}

// Even tells whether it is Shared, and all members own equally many.
func (o *Observer) Even(partitions int, members ...string) bool {
	for _, m := range members {
		if len(o.owned[m])*len(members) != partitions {
			return false
		}
	}
	return o.Shared(partitions, members...)
}

// Beyond tells whether everything below the given offsets is handled.
func (o *Observer) Beyond(offsets map[int32]int64) bool {
	for p, offset := range offsets {
		if o.next[p] < offset {
			return false
		}
	}
	return true
}

// HandledTo is how far each partition is handled.
func (o *Observer) HandledTo() map[int32]int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return maps.Clone(o.next)
}

// LastRead is where a member was in the partitions that it gave up after a
// moment.
func (o *Observer) LastRead(member string, after int64) map[int32]int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	at, ends := map[int32]int64{}, map[int32]int64{}
	for _, e := range o.history {
		if e.Member != member {
			continue
		}
		for _, p := range e.Partitions {
			switch {
			case e.Kind == Handled:
				at[p] = e.Last + 1
			case e.Kind == Revoked && e.At >= after:
				ends[p] = at[p]
			}
		}
	}
	return ends
}

// Owned is what a member owns.
func (o *Observer) Owned(member string) []int32 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Sorted(maps.Keys(o.owned[member]))
}

// Touched is the partitions that a member got or gave up since a moment.
func (o *Observer) Touched(since int64) []int32 {
	touched := map[int32]bool{}
	for _, e := range o.All() {
		if e.At < since || e.Kind != Assigned && e.Kind != Revoked && e.Kind != Lost {
			continue
		}
		for _, p := range e.Partitions {
			touched[p] = true
		}
	}
	return slices.Sorted(maps.Keys(touched))
}

// All is the history so far.
func (o *Observer) All() []Event {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.history)
}

func (o *Observer) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var b strings.Builder
	for _, m := range slices.Sorted(maps.Keys(o.owned)) {
		fmt.Fprintf(&b, "%s owns %v, ", m, slices.Sorted(maps.Keys(o.owned[m])))
	}
	fmt.Fprintf(&b, "handled %v; last events:", o.next)
	var last []Event
	for _, e := range o.history {
		if e.Kind != Handled && e.Kind != Committed {
			last = append(last, e)
		}
	}
	for _, e := range last[max(0, len(last)-20):] {
		fmt.Fprintf(&b, "\n%s", e)
	}
	return b.String()
}

// Count is how often a member has got or given up partitions.
func (o *Observer) Count(member string) (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, e := range o.history {
		if e.Member == member && len(e.Partitions) > 0 && e.Kind != Handled && e.Kind != Committed {
			n++
		}
	}
	return n
}

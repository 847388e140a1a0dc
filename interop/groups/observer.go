package groups

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// observer collects what members say as it comes, keeps the whole of it for
// check, and lets the test wait for a state of the group.
type observer struct {
	mu      sync.Mutex
	history []event
	owned   map[string]map[int32]bool // by member that lives
	next    map[int32]int64           // handled, by partition
	failed  []string
	changed chan struct{} // closed and replaced at every change
}

func newObserver() *observer {
	return &observer{owned: map[string]map[int32]bool{}, next: map[int32]int64{}, changed: make(chan struct{})}
}

func (o *observer) add(e event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.history = append(o.history, e)
	mine := o.owned[e.member]
	if mine == nil && e.member != "" {
		mine = map[int32]bool{}
		o.owned[e.member] = mine
	}
	for _, p := range e.partitions {
		switch e.kind {
		case assigned:
			mine[p] = true
		case revoked, lost:
			delete(mine, p)
		case handled:
			o.next[p] = max(o.next[p], e.last+1)
		}
	}
	if e.kind == ended {
		delete(o.owned, e.member)
	}
	o.tell()
}

// fail records that a member cannot go on: no wait has a point any more.
func (o *observer) fail(format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failed = append(o.failed, fmt.Sprintf(format, args...))
	o.tell()
}

func (o *observer) tell() {
	close(o.changed)
	o.changed = make(chan struct{})
}

// await waits until ok, which is called with the state locked.
func (o *observer) await(ctx context.Context, what string, ok func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
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

// shared tells whether exactly these members own something, and all of them
// everything, each partition once.
func (o *observer) shared(partitions int, members ...string) bool {
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

// beyond tells whether everything below the given offsets is handled.
func (o *observer) beyond(offsets map[int32]int64) bool {
	for p, offset := range offsets {
		if o.next[p] < offset {
			return false
		}
	}
	return true
}

func (o *observer) handledTo() map[int32]int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return maps.Clone(o.next)
}

// lastRead is where a member was in the partitions that it gave up after a
// moment.
func (o *observer) lastRead(member string, after int64) map[int32]int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	at, ends := map[int32]int64{}, map[int32]int64{}
	for _, e := range o.history {
		if e.member != member {
			continue
		}
		for _, p := range e.partitions {
			switch {
			case e.kind == handled:
				at[p] = e.last + 1
			case e.kind == revoked && e.at >= after:
				ends[p] = at[p]
			}
		}
	}
	return ends
}

func (o *observer) all() []event {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.history)
}

func (o *observer) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var b strings.Builder
	for _, m := range slices.Sorted(maps.Keys(o.owned)) {
		fmt.Fprintf(&b, "%s owns %v, ", m, slices.Sorted(maps.Keys(o.owned[m])))
	}
	fmt.Fprintf(&b, "handled %v; last events:", o.next)
	var last []event
	for _, e := range o.history {
		if e.kind != handled && e.kind != committed {
			last = append(last, e)
		}
	}
	for _, e := range last[max(0, len(last)-20):] {
		fmt.Fprintf(&b, "\n%s", e)
	}
	return b.String()
}

// now is the clock that members stamp with.
func now() int64 { return time.Now().UnixMicro() }

// count is how often a member has got or given up partitions.
func (o *observer) count(member string) (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, e := range o.history {
		if e.member == member && len(e.partitions) > 0 && e.kind != handled {
			n++
		}
	}
	return n
}

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/skeinstream/skein/bench/internal/stops"
)

// observer collects what members say, and lets the scenario wait for a state of
// the group.
type observer struct {
	partitions int

	mu      sync.Mutex
	events  []stops.Event
	owned   map[string]map[int32]bool // by member
	next    map[int32]int64           // handled, by partition
	failed  error
	changed chan struct{} // closed and replaced at every change
}

func newObserver(partitions int) *observer {
	return &observer{partitions: partitions, owned: map[string]map[int32]bool{}, next: map[int32]int64{}, changed: make(chan struct{})}
}

func (o *observer) add(e stops.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.events = append(o.events, e)
	mine := o.owned[e.Member]
	if mine == nil {
		mine = map[int32]bool{}
		o.owned[e.Member] = mine
	}
	for _, p := range e.Partitions {
		switch e.Kind {
		case stops.Assigned:
			mine[p] = true
		case stops.Revoked, stops.Lost:
			delete(mine, p)
		case stops.Handled:
			o.next[p] = max(o.next[p], e.Last+1)
		}
	}
	if e.Kind == stops.Ended {
		delete(o.owned, e.Member)
	}
	o.tell()
}

// fail records that a member cannot go on: no wait has a point any more.
func (o *observer) fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failed = errors.Join(o.failed, err)
	o.tell()
}

func (o *observer) tell() {
	close(o.changed)
	o.changed = make(chan struct{})
}

// await waits until ok, which is called with the state locked.
func (o *observer) await(ctx context.Context, ok func() bool) error {
	for {
		o.mu.Lock()
		done, failed, changed := ok(), o.failed, o.changed
		o.mu.Unlock()
		switch {
		case failed != nil:
			return failed
		case done:
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%w: %s", ctx.Err(), o)
		}
	}
}

// settled waits until these members, and no others, share all partitions fairly,
// every partition has gone on since, and nothing has changed for so long.
func (o *observer) settled(ctx context.Context, hold time.Duration, members []string) error {
	fair := func() bool { return o.fair(members) }
	for {
		if err := o.await(ctx, fair); err != nil {
			return err
		}
		o.mu.Lock()
		before := maps.Clone(o.next)
		o.mu.Unlock()
		if err := o.await(ctx, func() bool { return o.beyond(before) }); err != nil {
			return err
		}
		disturbed, cancel := context.WithTimeout(ctx, hold)
		err := o.await(disturbed, func() bool { return !fair() })
		cancel()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, context.DeadlineExceeded):
			return nil
		case err != nil:
			return err
		}
	}
}

// fair tells whether exactly these members own something, each partition has
// one owner, and no two members differ by more than one.
func (o *observer) fair(members []string) bool {
	owners, least, most := 0, o.partitions, 0
	for name, mine := range o.owned {
		if len(mine) > 0 && !slices.Contains(members, name) {
			return false
		}
	}
	seen := map[int32]bool{}
	for _, name := range members {
		n := len(o.owned[name])
		least, most, owners = min(least, n), max(most, n), owners+n
		for p := range o.owned[name] {
			seen[p] = true
		}
	}
	return owners == o.partitions && len(seen) == o.partitions && most-least <= 1
}

// beyond tells whether every partition is further than it was.
func (o *observer) beyond(before map[int32]int64) bool {
	for p := range int32(o.partitions) {
		if o.next[p] <= before[p] {
			return false
		}
	}
	return true
}

func (o *observer) trace() []stops.Event {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.events)
}

// String says who owns what, for errors.
func (o *observer) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(o.owned)) {
		fmt.Fprintf(&b, "%s owns %v, ", name, slices.Sorted(maps.Keys(o.owned[name])))
	}
	fmt.Fprintf(&b, "handled %v", o.next)
	return b.String()
}

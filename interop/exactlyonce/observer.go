package exactlyonce

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// observer keeps what workers say, and lets the test wait for it.
type observer struct {
	mu      sync.Mutex
	claims  map[string]map[int]claim
	counts  map[string]map[kind]int // how often a worker has said so
	reasons map[string]string       // of those that gave up
	failed  []string
	changed chan struct{} // closed and replaced at every change
}

func newObserver() *observer {
	return &observer{claims: map[string]map[int]claim{}, counts: map[string]map[kind]int{}, reasons: map[string]string{}, changed: make(chan struct{})}
}

// hear takes a line of a worker.
func (o *observer) hear(worker, line string) error {
	words := strings.Fields(line)
	if len(words) < 2 {
		return fmt.Errorf("it said %q", line)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.counts[worker] == nil {
		o.counts[worker], o.claims[worker] = map[kind]int{}, map[int]claim{}
	}
	k := kind(words[1])
	switch k {
	case handled:
	case gaveUp:
		o.reasons[worker] = strings.Join(words[2:], " ")
	case began, ending, committed, aborted:
		if err := o.claim(worker, k, words[2:]); err != nil {
			return fmt.Errorf("it said %q: %w", line, err)
		}
	default:
		return fmt.Errorf("it said %q", line)
	}
	o.counts[worker][k]++
	o.wake()
	return nil
}

func (o *observer) claim(worker string, k kind, words []string) error {
	var numbers []int
	for _, word := range words {
		n, err := strconv.Atoi(word)
		if err != nil {
			return err
		}
		numbers = append(numbers, n)
	}
	if want := map[bool]int{true: 2, false: 1}[k == began]; len(numbers) != want {
		return fmt.Errorf("want %d numbers", want)
	}
	c, known := o.claims[worker][numbers[0]]
	switch {
	case known == (k == began):
		return fmt.Errorf("transaction %d: known %v", numbers[0], known)
	case c.end != "":
		return fmt.Errorf("transaction %d is %s already", numbers[0], c.end)
	case k == began:
		c.size = numbers[1]
	case k != ending:
		c.end = k
	}
	o.claims[worker][numbers[0]] = c
	return nil
}

// fail records that there is no point in going on.
func (o *observer) fail(format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failed = append(o.failed, fmt.Sprintf(format, args...))
	o.wake()
}

func (o *observer) tell() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.wake()
}

func (o *observer) wake() {
	close(o.changed)
	o.changed = make(chan struct{})
}

// count is how often a worker has said one of kinds.
func (o *observer) count(worker string, kinds ...kind) (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, k := range kinds {
		n += o.counts[worker][k]
	}
	return n
}

// reason is why a worker gave up.
func (o *observer) reason(worker string) (string, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	reason, ok := o.reasons[worker]
	return reason, ok
}

// claimsOf is what all workers of slots have said.
func (o *observer) claimsOf(slots ...*slot) map[string]map[int]claim {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := map[string]map[int]claim{}
	for _, s := range slots {
		for born := range s.born {
			worker := fmt.Sprint(s.name, born+1)
			all[worker] = maps.Clone(o.claims[worker])
		}
	}
	return all
}

// total counts transactions of slots by their ends.
func (o *observer) total(slots ...*slot) (ends map[kind]int) {
	ends = map[kind]int{}
	for _, claims := range o.claimsOf(slots...) {
		for _, c := range claims {
			ends[c.end]++
		}
	}
	return ends
}

// await waits until ok, which is asked after every change and every so often.
func (o *observer) await(ctx context.Context, what string, ok func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		o.mu.Lock()
		failed, changed := slices.Clone(o.failed), o.changed
		o.mu.Unlock()
		done, err := ok()
		switch {
		case len(failed) > 0:
			return fmt.Errorf("waiting until %s: %s", what, strings.Join(failed, "; "))
		case err != nil:
			return fmt.Errorf("waiting until %s: %w", what, err)
		case done:
			return nil
		}
		select {
		case <-changed:
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("waiting until %s: %w", what, ctx.Err())
		}
	}
}

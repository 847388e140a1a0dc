package consumer

import (
	"context"
	"slices"
	"sync"

	"github.com/skeinstream/skein/consumer/internal/membership"
)

// table says whose partitions are, and how far each has been read. A record is handed out only under mu, so that none of a partition
// is after stop has returned.
type table struct {
	mu         sync.Mutex
	partitions map[TopicPartition]*partition
	handed     []*partition          // what the last batch was of
	generation membership.Generation // in whose name offsets are committed
	manual     bool                  // the partitions were assigned by hand
	subscribed bool
	// known counts the partitions of topics at the time they were subscribed to: those beyond are new (FR-F3).
	known map[string]int32
}

// partition is one that is owned, or that a callback is still to give up.
type partition struct {
	TopicPartition
	// stopped is one of which no record is handed out any more.
	stopped bool
	// placed says that the position is known.
	placed bool
	paused bool
	// untold says that the Listener has not heard of it yet: its records wait for that.
	untold bool
	// position is after the last record that was handed out, done after the last that the user is done with, committed what the group has.
	position, done, committed place
	// rewinds counts how often it was sent back: what was asked for before is of no use then.
	rewinds int
	// origin is where it was read from first: one without a committed offset goes back there.
	origin place

	highWatermark, lastStable, logStart int64

	// owned ends with the ownership: a context is what the user's work on the partition is given (FR-D1).
	owned context.Context
	end   context.CancelCauseFunc
}

// place is an offset, and the leader epoch of the record before it.
type place struct {
	at    int64
	epoch int32
}

var nowhere = place{-1, -1}

// start makes partitions owned.
func (t *table) start(list []TopicPartition) []*partition {
	t.mu.Lock()
	defer t.mu.Unlock()
	var started []*partition
	for _, tp := range list {
		p := &partition{TopicPartition: tp, position: nowhere, done: nowhere, committed: nowhere, origin: nowhere, highWatermark: -1, lastStable: -1, logStart: -1}
		p.owned, p.end = context.WithCancelCause(context.Background())
		if old := t.partitions[tp]; old != nil {
			old.end(ErrRevoked)
		}
		t.partitions[tp] = p
		started = append(started, p)
	}
	return started
}

// tell sets whether partitions wait for the Listener to hear of them.
func (t *table) tell(list []TopicPartition, untold bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, tp := range list {
		if p := t.partitions[tp]; p != nil {
			p.untold = untold
		}
	}
}

// stop takes partitions from the user's sight, and returns those that were in it.
func (t *table) stop(list []TopicPartition) []*partition {
	t.mu.Lock()
	defer t.mu.Unlock()
	var stopped []*partition
	for _, tp := range list {
		if p := t.partitions[tp]; p != nil && !p.stopped {
			p.stopped = true
			stopped = append(stopped, p)
		}
	}
	return stopped
}

// drop ends the ownership of partitions.
func (t *table) drop(list []TopicPartition, cause error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, tp := range list {
		if p := t.partitions[tp]; p != nil {
			p.end(cause)
			delete(t.partitions, tp)
		}
	}
}

// expel ends the contexts of all partitions: their callbacks come later.
func (t *table) expel() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.partitions {
		p.end(ErrExpelled)
	}
}

// place sets where a partition is read from, unless it is not wanted any more or the user has chosen already.
func (t *table) place(p *partition, at place, committed bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p.stopped || p.placed || t.partitions[p.TopicPartition] != p {
		return false
	}
	p.placed = true
	if p.origin == nowhere {
		p.origin = at
	}
	t.moved(p, at)
	if committed {
		p.committed = at
	}
	return true
}

// moved sets a position. The user is done with what was before it when he polls again; at the beginning there is nothing.
func (t *table) moved(p *partition, at place) {
	if p.position == nowhere {
		p.done = at
	} else {
		t.handed = append(t.handed, p)
	}
	p.position = at
}

// unplaced keeps those that still want a place.
func (t *table) unplaced(list []*partition) (rest []*partition) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range list {
		if !p.stopped && !p.placed && t.partitions[p.TopicPartition] == p {
			rest = append(rest, p)
		}
	}
	return rest
}

// isDone says that the user is done with all that was handed out: it polls again.
func (t *table) isDone() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.handed {
		p.done = p.position
	}
	t.handed = t.handed[:0]
}

// progress is what can be committed: of the partitions in only, or of all if that is nil, what was handed out, or, if done, what the user is
// done with, as far as the group does not have it yet.
func (t *table) progress(only []TopicPartition, done bool) Offsets {
	t.mu.Lock()
	defer t.mu.Unlock()
	offsets := Offsets{}
	add := func(p *partition) {
		at := p.position
		if done {
			at = p.done
		}
		if at != p.committed && at.at >= 0 {
			offsets[p.TopicPartition] = Offset{At: at.at, LeaderEpoch: at.epoch}
		}
	}
	if only == nil {
		for _, p := range t.partitions {
			add(p)
		}
	}
	for _, tp := range only {
		if p := t.partitions[tp]; p != nil {
			add(p)
		}
	}
	return offsets
}

// wasCommitted takes note of what the group has.
func (t *table) wasCommitted(offsets Offsets) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for tp, o := range offsets {
		if p := t.partitions[tp]; p != nil {
			p.committed = place{o.At, o.LeaderEpoch}
		}
	}
}

// mine splits offsets into those of partitions that are owned, or given up this moment, and the others.
func (t *table) mine(offsets Offsets) (Offsets, []TopicPartition) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.subscribed && !t.manual {
		return offsets, nil // who only commits owns nothing
	}
	mine, others := Offsets{}, []TopicPartition(nil)
	for tp, o := range offsets {
		if t.partitions[tp] != nil {
			mine[tp] = o
		} else {
			others = append(others, tp)
		}
	}
	return mine, others
}

func (t *table) setGeneration(g membership.Generation) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.generation = g
}

func (t *table) currentGeneration() (g membership.Generation, subscribed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.generation, t.subscribed
}

func (t *table) subscribe() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.manual {
		return ErrAssigned
	}
	t.subscribed = true
	return nil
}

func (t *table) unsubscribe() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.subscribed, t.manual = false, false
}

func (t *table) assignment() []TopicPartition {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []TopicPartition
	for tp, p := range t.partitions {
		if !p.stopped {
			list = append(list, tp)
		}
	}
	slices.SortFunc(list, TopicPartition.Compare)
	return list
}

func (t *table) owned(tp TopicPartition) context.Context {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.partitions[tp]; p != nil {
		return p.owned
	}
	return nil
}

// close ends what is left.
func (t *table) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for tp, p := range t.partitions {
		p.end(ErrClosed)
		delete(t.partitions, tp)
	}
}

// displace says that the position is not good: another one has to be found.
func (t *table) displace(p *partition) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p.placed = false
}

// move sets the position anew.
func (t *table) move(p *partition, at place) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.moved(p, at)
}

// at is the position.
func (t *table) at(p *partition) place {
	t.mu.Lock()
	defer t.mu.Unlock()
	return p.position
}

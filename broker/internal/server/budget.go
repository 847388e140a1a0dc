package server

import (
	"context"
	"slices"
	"sync"
	"time"
)

// budget bounds the memory of all requests that are being read or answered.
//
// The obvious bound, a semaphore that a reader takes a frame's size from, fails twice. A peer that announces a large
// frame and never sends it would hold memory for nothing; so memory is taken in steps, as bytes arrive. And then readers
// that each hold a part and wait for the rest would wait for each other for ever; so one request at a time, the exempt
// one, may go over the limit. It also lets a request pass that is larger than the limit. The bound is thus the limit and
// one request.
//
// A peer may still send a part of a frame and then nothing. That costs nobody anything while there is memory. Once a reader
// has waited for longer than patience, owners of frames that did not grow for that long lose their connections.
//
// All this may take long when many peers send slowly on purpose. Small requests that are here do not wait for them: they
// are forced in. And who holds memory and waits for more goes before who holds none, since only the first can give any back.
type budget struct {
	limit    int64
	patience time.Duration

	mu      sync.Mutex
	used    int64
	exempt  *lease
	waiting []*waiter // first come, first served, those that hold something before those that hold nothing
	// filling holds the leases of frames that are being received, the longest without progress first.
	filling leaseList
}

// lease is what one request holds of the budget. The zero lease with an owner holds nothing.
type lease struct {
	owner interface{ evict() } // ends the wait for the rest of the frame

	held       int64 // guarded by budget.mu, as all below
	progressed time.Time
	prev, next *lease
}

type waiter struct {
	lease   *lease
	size    int64
	granted chan struct{}
}

func newBudget(limit int64, patience time.Duration) *budget {
	return &budget{limit: limit, patience: patience}
}

// tryTake adds size bytes to l if that needs no waiting.
func (b *budget) tryTake(l *lease, size int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.exempt != l && (len(b.waiting) > 0 || !b.fits(l, size)) {
		return false
	}
	b.charge(l, size)
	return true
}

// take adds size bytes to l, waiting for them until ctx is done. The caller releases l in any case.
func (b *budget) take(ctx context.Context, l *lease, size int64) error {
	if b.tryTake(l, size) {
		return nil
	}
	w := b.enqueue(l, size)
	timer := time.NewTimer(b.patience)
	defer timer.Stop()
	for {
		select {
		case <-w.granted:
			return nil
		case <-ctx.Done():
			b.dequeue(w)
			return context.Cause(ctx)
		case now := <-timer.C:
			b.evictIdle(now)
			timer.Reset(b.patience)
		}
	}
}

func (b *budget) enqueue(l *lease, size int64) *waiter {
	w := &waiter{lease: l, size: size, granted: make(chan struct{})}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.filling.remove(l) // it waits for us, not for its peer
	at := len(b.waiting)
	if l.held > 0 {
		at = 0
		for at < len(b.waiting) && b.waiting[at].lease.held > 0 {
			at++
		}
	}
	b.waiting = slices.Insert(b.waiting, at, w)
	b.grant()
	return w
}

// force adds size bytes to l whether there is room or not. The caller sees to it that this stays little.
func (b *budget) force(l *lease, size int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used += size
	l.held += size
}

func (b *budget) dequeue(w *waiter) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := slices.Index(b.waiting, w); i >= 0 {
		b.waiting = slices.Delete(b.waiting, i, i+1)
		b.grant() // the next one may ask for less
	}
}

// release gives back all that l holds.
func (b *budget) release(l *lease) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.filling.remove(l)
	b.used -= l.held
	l.held = 0
	if b.exempt == l || b.used <= b.limit {
		b.exempt = nil
	}
	b.grant()
}

// grant lets waiters go in their order, as far as memory reaches.
func (b *budget) grant() {
	for len(b.waiting) > 0 && b.fits(b.waiting[0].lease, b.waiting[0].size) {
		w := b.waiting[0]
		b.waiting = slices.Delete(b.waiting, 0, 1)
		b.charge(w.lease, w.size)
		close(w.granted)
	}
}

func (b *budget) fits(l *lease, size int64) bool {
	return b.used+size <= b.limit || b.exempt == nil || b.exempt == l
}

func (b *budget) charge(l *lease, size int64) {
	b.used += size
	l.held += size
	if b.used > b.limit && b.exempt == nil {
		b.exempt = l
	}
}

// progress notes that the frame behind l has grown. A lease that was not filling begins to.
func (b *budget) progress(l *lease, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.filling.remove(l)
	l.progressed = now
	b.filling.pushBack(l)
}

// filled notes that the frame behind l has arrived.
func (b *budget) filled(l *lease) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.filling.remove(l)
}

// evictIdle ends the oldest frames without progress, as many as the first waiter needs.
func (b *budget) evictIdle(now time.Time) {
	for _, l := range b.idle(now) {
		l.owner.evict()
	}
}

func (b *budget) idle(now time.Time) (victims []*lease) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.waiting) == 0 {
		return nil
	}
	missing := b.used + b.waiting[0].size - b.limit
	for l := b.filling.first; l != nil && missing > 0 && now.Sub(l.progressed) >= b.patience; l = b.filling.first {
		b.filling.remove(l)
		victims = append(victims, l)
		missing -= l.held
	}
	return victims
}

func (b *budget) inUse() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// leaseList is a list through the leases themselves: a request allocates nothing to be on it.
type leaseList struct{ first, last *lease }

func (ll *leaseList) pushBack(l *lease) {
	l.prev, l.next = ll.last, nil
	if ll.last == nil {
		ll.first = l
	} else {
		ll.last.next = l
	}
	ll.last = l
}

// remove takes l off the list; one that is not on it stays as it is.
func (ll *leaseList) remove(l *lease) {
	if l.prev == nil && l.next == nil && ll.first != l {
		return
	}
	if l.prev == nil {
		ll.first = l.next
	} else {
		l.prev.next = l.next
	}
	if l.next == nil {
		ll.last = l.prev
	} else {
		l.next.prev = l.prev
	}
	l.prev, l.next = nil, nil
}

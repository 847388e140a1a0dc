package server

import (
	"cmp"
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
// That may take long when many peers send slowly on purpose. So a part of the memory, the reserve, is only for frames that
// are here already, in the buffers of their sockets: they give back at once what they take, and wait for nobody. Next
// goes who holds memory and waits for more, since only those can give any back.
type budget struct {
	limit    int64 // without the reserve
	reserve  int64
	patience time.Duration

	mu       sync.Mutex
	used     int64 // of the limit
	reserved int64 // of the reserve
	exempt   *lease
	waiting  []*waiter // by rank, and among equals first come, first served
	// filling holds the leases of frames that are being received, the longest without progress first.
	filling leaseList
}

// lease is what one request holds of the budget. The zero lease with an owner holds nothing.
type lease struct {
	owner interface{ evict() } // ends the wait for the rest of the frame

	held       int64 // of the limit; guarded by budget.mu, as all below
	reserved   int64 // of the reserve
	progressed time.Time
	prev, next *lease
}

type waiter struct {
	lease   *lease
	size    int64
	rank    rank
	granted chan struct{}
}

// rank is who goes first.
type rank int

const (
	isHere  rank = iota // the whole frame is
	holds               // some memory
	arrives             // with nothing
)

func newBudget(limit, reserve int64, patience time.Duration) *budget {
	return &budget{limit: limit, reserve: reserve, patience: patience}
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

// take adds size bytes to l, waiting for them until ctx is done. The caller releases l in any case. here says that the
// frame behind l need not be waited for.
func (b *budget) take(ctx context.Context, l *lease, size int64, here bool) error {
	if b.tryTake(l, size) {
		return nil
	}
	w := b.enqueue(l, size, here)
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

func (b *budget) enqueue(l *lease, size int64, here bool) *waiter {
	w := &waiter{lease: l, size: size, rank: arrives, granted: make(chan struct{})}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case here:
		w.rank = isHere
	case l.held+l.reserved > 0:
		w.rank = holds
	}
	b.filling.remove(l) // it waits for us, not for its peer
	at, _ := slices.BinarySearchFunc(b.waiting, w.rank+1, func(w *waiter, r rank) int { return cmp.Compare(w.rank, r) })
	b.waiting = slices.Insert(b.waiting, at, w)
	b.grant()
	return w
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
	b.reserved -= l.reserved
	l.held, l.reserved = 0, 0
	if b.exempt == l || b.used <= b.limit {
		b.exempt = nil
	}
	b.grant()
}

// grant lets waiters go in their order, as far as memory reaches, and then those whose frames are here, as far as the
// reserve does.
func (b *budget) grant() {
	for len(b.waiting) > 0 && b.fits(b.waiting[0].lease, b.waiting[0].size) {
		w := b.waiting[0]
		b.waiting = slices.Delete(b.waiting, 0, 1)
		b.charge(w.lease, w.size)
		close(w.granted)
	}
	if len(b.waiting) > 0 && b.waiting[0].rank == isHere && b.reserved < b.reserve {
		b.waiting = slices.DeleteFunc(b.waiting, b.grantReserve)
	}
}

func (b *budget) grantReserve(w *waiter) bool {
	if w.rank != isHere || b.reserved+w.size > b.reserve {
		return false
	}
	b.reserved += w.size
	w.lease.reserved += w.size
	close(w.granted)
	return true
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
	return b.used + b.reserved
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

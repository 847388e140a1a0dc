package api

import (
	"context"
	"sync"
	"time"

	"github.com/skeinstream/skein/broker/internal/partition"
)

// A fetch that has too little to answer waits without a goroutine. It registers with every partition it reads, with a timer
// and with its connection's context; the first of them to call claims it, and a goroutine that serves all claimed fetches
// takes it back from the others and runs it again.
//
// The states of a fetch: idle, it belongs to whoever runs it. enlisting, it registers; a call marks it claimed and the
// runner sees that at the end. parked, nobody runs it; a call claims it for the queue. claimed, further calls are ignored.
const (
	fetchIdle int32 = iota
	fetchEnlisting
	fetchParked
	fetchClaimed
)

// wait parks the fetch and reports whether it did. Else there is something new to read.
func (f *fetch) wait() bool {
	f.request.ReleaseBody()
	f.state.Store(fetchEnlisting)
	if f.enlist() && f.state.CompareAndSwap(fetchEnlisting, fetchParked) {
		return true // from here on it may be in other hands
	}
	f.withdraw()
	return false
}

// enlist registers everywhere. It reports false when a partition has something already.
func (f *fetch) enlist() bool {
	f.arm()
	f.waiting = f.waiting[:0]
	f.waiters = resized(f.waiters, f.session.Len())
	for of := range f.session.All() {
		p, code := f.find(of)
		if code != 0 {
			return false
		}
		at := len(f.waiting)
		w := &f.waiters[at]
		*w = partition.Waiter{Offset: max(of.Offset, f.bounds[at]), Committed: f.isolation == readCommitted, Waker: f}
		f.waiting = append(f.waiting, p)
		if !p.Wait(w) {
			f.waiting = f.waiting[:len(f.waiting)-1]
			return false
		}
	}
	return true
}

// arm sets the timer, and hears of the end of the connection.
func (f *fetch) arm() {
	now := f.handler.Now()
	if f.deadline.IsZero() {
		f.deadline = now.Add(time.Duration(f.maxWaitMs) * time.Millisecond)
	}
	left := f.deadline.Sub(now)
	if f.timer == nil {
		f.timer = time.AfterFunc(left, f.onTime)
	} else {
		f.timer.Reset(left)
	}
	f.stopCtx = context.AfterFunc(f.request.Conn.Context(), f.onHangUp)
}

// withdraw takes the fetch back from everyone who could call. A call that is under way cannot be taken back; it does no
// harm to this fetch, but would to the next that used the struct.
func (f *fetch) withdraw() {
	for i, p := range f.waiting {
		p.Unwait(&f.waiters[i])
	}
	timeStopped := f.timer.Stop() || f.timedOut
	ctxStopped := f.stopCtx()
	f.stray = f.stray || !timeStopped || !ctxStopped
	f.timedOut = false
	f.state.Store(fetchIdle)
}

// timeUp ends the wait: it has lasted long enough.
func (f *fetch) timeUp() {
	f.over.Store(true)
	if f.state.CompareAndSwap(fetchParked, fetchClaimed) {
		f.timedOut = true
		f.handler.data.ready.add(f)
		return
	}
	f.state.CompareAndSwap(fetchEnlisting, fetchClaimed)
}

// hungUp ends the wait: nobody waits for the answer any more, or the server is shutting down and wants it now.
func (f *fetch) hungUp() {
	f.over.Store(true)
	f.Wake()
}

// Wake claims the fetch, if it waits, to be run again.
func (f *fetch) Wake() {
	if f.state.CompareAndSwap(fetchParked, fetchClaimed) {
		f.handler.data.ready.add(f)
		return
	}
	f.state.CompareAndSwap(fetchEnlisting, fetchClaimed)
}

// resume runs a claimed fetch again.
func (f *fetch) resume() {
	defer f.request.Contain()
	f.withdraw()
	f.run()
}

// readyMax is how many goroutines run claimed fetches at most. A read from a cold disk holds one of them up.
const readyMax = 4

// readyFetches runs the fetches that were claimed, in the order in which they were. Its goroutines live only while there
// is something to run: who moves a partition on must not be held up by those who read it.
type readyFetches struct {
	mu          sync.Mutex
	first, last *fetch
	running     int
	idle        chan struct{} // closed when the last goroutine ends; nil when none runs
}

func (q *readyFetches) add(f *fetch) {
	q.mu.Lock()
	defer q.mu.Unlock()
	f.next = nil
	if q.first == nil {
		q.first = f
	} else {
		q.last.next = f
	}
	q.last = f
	if q.running < readyMax {
		if q.running == 0 {
			q.idle = make(chan struct{})
		}
		q.running++
		go q.drain()
	}
}

func (q *readyFetches) drain() {
	for f := q.take(); f != nil; f = q.take() {
		f.resume()
	}
}

// take takes the oldest, or ends the goroutine.
func (q *readyFetches) take() *fetch {
	q.mu.Lock()
	defer q.mu.Unlock()
	f := q.first
	if f == nil {
		if q.running--; q.running == 0 {
			close(q.idle)
			q.idle = nil
		}
		return nil
	}
	q.first, f.next = f.next, nil
	return f
}

// wait returns when nothing runs, or when ctx ends.
func (q *readyFetches) wait(ctx context.Context) error {
	q.mu.Lock()
	idle := q.idle
	q.mu.Unlock()
	if idle == nil {
		return nil
	}
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

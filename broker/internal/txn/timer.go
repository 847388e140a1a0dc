package txn

import (
	"container/heap"
	"time"
)

// timer calls fire once at a moment, unless it is stopped or put off before.
//
// A transaction that ends in time, and most do, only forgets its moment: the timer stays in the heap until the moment comes,
// and the next transaction of the same id, whose moment is later, uses the place that it has there.
type timer struct {
	fire   func()
	at     time.Time // zero: forgotten
	queued time.Time // not after at: what the heap is ordered by
	order  uint64    // of equal moments, the one that was queued first
	place  int       // in the heap, from 1; 0: not in it
}

// timers is a heap of those that run, or did.
type timers struct {
	heap   []*timer
	orders uint64
}

// set lets t fire at a moment, whatever was said before.
func (q *timers) set(t *timer, at time.Time) {
	t.at = at
	if t.place == 0 || at.Before(t.queued) {
		q.queue(t)
	}
}

// forget keeps t from firing.
func (q *timers) forget(t *timer) { t.at = time.Time{} }

// stop is forget for a timer that is not set again.
func (q *timers) stop(t *timer) {
	if t.place > 0 {
		heap.Remove(q, t.place-1)
	}
}

// queue puts t where its moment belongs.
func (q *timers) queue(t *timer) {
	q.orders++
	t.queued, t.order = t.at, q.orders
	if t.place > 0 {
		heap.Fix(q, t.place-1)
	} else {
		heap.Push(q, t)
	}
}

// due takes out one timer whose moment has come, nil when there is none.
func (q *timers) due(now time.Time) *timer {
	for len(q.heap) > 0 && !q.heap[0].queued.After(now) {
		switch t := q.heap[0]; {
		case t.at.IsZero():
			heap.Pop(q)
		case t.at.After(now):
			q.queue(t)
		default:
			return heap.Pop(q).(*timer)
		}
	}
	return nil
}

// next is a moment not after the one at which the first timer fires; zero when none runs.
func (q *timers) next() time.Time {
	if len(q.heap) == 0 {
		return time.Time{}
	}
	return q.heap[0].queued
}

// Len, Less, Swap, Push and Pop are for package heap.
func (q *timers) Len() int { return len(q.heap) }

func (q *timers) Less(i, j int) bool {
	a, b := q.heap[i], q.heap[j]
	if !a.queued.Equal(b.queued) {
		return a.queued.Before(b.queued)
	}
	return a.order < b.order
}

func (q *timers) Swap(i, j int) {
	q.heap[i], q.heap[j] = q.heap[j], q.heap[i]
	q.heap[i].place, q.heap[j].place = i+1, j+1
}

func (q *timers) Push(x any) {
	t := x.(*timer)
	q.heap = append(q.heap, t)
	t.place = len(q.heap)
}

func (q *timers) Pop() any {
	last := len(q.heap) - 1
	t := q.heap[last]
	q.heap[last] = nil
	q.heap = q.heap[:last]
	t.place = 0
	return t
}

package txn

import (
	"container/heap"
	"time"
)

// timer calls fire once at a moment, unless it is put off before.
//
// Most transactions end in time. Then nothing happens here: the timer stays in the heap and fires for nothing, or is put off by
// the next transaction of the same id, which costs as little, since its place in the heap is looked at again when the old
// moment comes.
type timer struct {
	fire   func()
	at     time.Time
	queued time.Time // not after at: what the heap is ordered by
	order  uint64    // of equal moments, the one that was queued first
	place  int       // in the heap, from 1; 0: not in it
}

// timers is a heap of those that run.
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
		if t := q.heap[0]; t.at.After(now) {
			q.queue(t)
		} else {
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

// Package deadline keeps the moments at which a machine wants to do something. It has no clock: the machine says what time it
// is, and tells whoever runs it when it wants to be called next.
package deadline

import (
	"container/heap"
	"time"
)

// Timer calls Fire once at a moment, unless it is stopped or put off before. The zero value does not run.
//
// Members put theirs off with every heartbeat and transactions with every end, thousands of times a second, and hardly one
// ever fires. So to put one off changes at alone: the timer's place in the queue is looked at again when the old moment comes.
type Timer struct {
	Fire func()

	at     time.Time
	queued time.Time // not after at: what the queue is ordered by
	order  uint64    // of equal moments, the one that was queued first
	place  int       // in the queue, from 1; 0: not in it
}

// Runs says whether t is to fire.
func (t *Timer) Runs() bool { return t.place > 0 }

// Queue is the timers that run. The zero value has none.
type Queue struct {
	heap   timers
	orders uint64
}

// Len is how many timers run.
func (q *Queue) Len() int { return len(q.heap) }

// Set lets t fire at a moment, whatever was said before.
func (q *Queue) Set(t *Timer, at time.Time) {
	t.at = at
	if t.place == 0 || at.Before(t.queued) {
		q.queue(t)
	}
}

// queue puts t where its moment belongs.
func (q *Queue) queue(t *Timer) {
	q.orders++
	t.queued, t.order = t.at, q.orders
	if t.place > 0 {
		heap.Fix(&q.heap, t.place-1)
	} else {
		heap.Push(&q.heap, t)
	}
}

// Stop keeps t from firing. It may be set again.
func (q *Queue) Stop(t *Timer) {
	if t.place > 0 {
		heap.Remove(&q.heap, t.place-1)
	}
}

// Due takes out one timer whose moment has come, nil when there is none. Those of earlier moments come first, and of one
// moment those that were set to it first.
func (q *Queue) Due(now time.Time) *Timer {
	for len(q.heap) > 0 && !q.heap[0].queued.After(now) {
		if t := q.heap[0]; t.at.After(now) {
			q.queue(t)
		} else {
			return heap.Pop(&q.heap).(*Timer)
		}
	}
	return nil
}

// Next is a moment not after the one at which the first timer fires; zero when none runs.
func (q *Queue) Next() time.Time {
	if len(q.heap) == 0 {
		return time.Time{}
	}
	return q.heap[0].queued
}

// timers is a heap.
type timers []*Timer

// Len, Less, Swap, Push and Pop are for package heap.

func (h timers) Len() int { return len(h) }

func (h timers) Less(i, j int) bool {
	a, b := h[i], h[j]
	if !a.queued.Equal(b.queued) {
		return a.queued.Before(b.queued)
	}
	return a.order < b.order
}

func (h timers) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i+1, j+1
}

// Push implements heap.Interface.
func (h *timers) Push(x any) {
	t := x.(*Timer)
	*h = append(*h, t)
	t.place = len(*h)
}

// Pop implements heap.Interface.
func (h *timers) Pop() any {
	last := len(*h) - 1
	t := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	t.place = 0
	return t
}

package broker

import (
	"container/heap"
	"sync"
	"time"
)

// later does things after a while, on one goroutine.
type later struct {
	now  func() time.Time
	work sync.WaitGroup
	poke chan struct{}

	mu      sync.Mutex // guards what follows
	queue   laterQueue
	stopped bool
}

type laterTask struct {
	at time.Time
	do func()
}

func (l *later) start() {
	l.poke = make(chan struct{}, 1)
	l.work.Go(l.run)
}

// after has do called after a while, where it must not wait. What is not due before stop is not done.
func (l *later) after(d time.Duration, do func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped {
		return
	}
	heap.Push(&l.queue, laterTask{l.now().Add(d), do})
	l.wake()
}

// wake makes run look; a poke that it has not seen yet is enough.
func (l *later) wake() {
	select {
	case l.poke <- struct{}{}:
	default:
	}
}

func (l *later) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		due, wait, stopped := l.due()
		if stopped {
			return
		}
		for _, do := range due {
			do()
		}
		rings := timer.C
		if wait < 0 {
			rings = nil
		} else {
			timer.Reset(wait)
		}
		select {
		case <-rings:
		case <-l.poke:
		}
	}
}

// due takes out what is due, and says how long to wait for the next: -1 for ever.
func (l *later) due() (due []func(), wait time.Duration, stopped bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	for len(l.queue) > 0 && !l.queue[0].at.After(now) {
		due = append(due, heap.Pop(&l.queue).(laterTask).do)
	}
	wait = -1
	if len(l.queue) > 0 {
		wait = l.queue[0].at.Sub(now)
	}
	return due, wait, l.stopped
}

func (l *later) stop() {
	l.mu.Lock()
	l.stopped = true
	l.mu.Unlock()
	l.wake()
	l.work.Wait()
}

// laterQueue is a heap, the first that is due at its top.
type laterQueue []laterTask

// Len, Less, Swap, Push and Pop are for package heap.

func (q laterQueue) Len() int           { return len(q) }
func (q laterQueue) Less(i, j int) bool { return q[i].at.Before(q[j].at) }
func (q laterQueue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }

// Push implements heap.Interface.
func (q *laterQueue) Push(x any) { *q = append(*q, x.(laterTask)) }

// Pop implements heap.Interface.
func (q *laterQueue) Pop() any {
	last := len(*q) - 1
	task := (*q)[last]
	(*q)[last] = laterTask{}
	*q = (*q)[:last]
	return task
}

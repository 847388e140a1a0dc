package coordinator

import (
	"container/heap"
	"time"
)

// clock is the one timer of a worker.
type clock struct {
	timer *time.Timer
	armed time.Time // when it rings; zero: not at all
}

// far is how long a clock sleeps that nobody has armed.
const far = time.Duration(1<<63 - 1)

func newClock() *clock { return &clock{timer: time.NewTimer(far)} }

// arm makes the clock ring at a time, or not at all at the zero time. A clock that rings earlier is left as it is: most
// deadlines only move away, and to look once too often costs less than to arm it for each step.
func (c *clock) arm(at time.Time, cfg *Config) {
	if at.IsZero() || !c.armed.IsZero() && !c.armed.After(at) {
		return
	}
	c.armed = at
	c.timer.Reset(max(at.Sub(cfg.Now()), 0))
}

// wait waits until the clock rings or somebody pokes.
func (c *clock) wait(poke <-chan struct{}) {
	select {
	case <-poke:
	case <-c.timer.C:
		c.armed = time.Time{}
	}
}

func (c *clock) stop() { c.timer.Stop() }

// deadlines is a heap of shards, the one that is due first at its top. shard.due and shard.place are its own.
type deadlines []*shard

// next is when the first shard is due, the zero time when none is.
func (d deadlines) next() time.Time {
	if len(d) == 0 {
		return time.Time{}
	}
	return d[0].due
}

// first is the shard that is due first, nil without one.
func (d deadlines) first() *shard {
	if len(d) == 0 {
		return nil
	}
	return d[0]
}

// set makes a shard due at a time, or never at the zero time.
func (d *deadlines) set(s *shard, at time.Time) {
	if at.Equal(s.due) {
		return
	}
	in := !s.due.IsZero()
	s.due = at
	switch {
	case in && at.IsZero():
		heap.Remove(d, s.place)
	case in:
		heap.Fix(d, s.place)
	case !at.IsZero():
		heap.Push(d, s)
	}
}

// Len, Less, Swap, Push and Pop are for package heap.

func (d deadlines) Len() int           { return len(d) }
func (d deadlines) Less(i, j int) bool { return d[i].due.Before(d[j].due) }

func (d deadlines) Swap(i, j int) {
	d[i], d[j] = d[j], d[i]
	d[i].place, d[j].place = i, j
}

// Push implements heap.Interface.
func (d *deadlines) Push(x any) {
	s := x.(*shard)
	s.place = len(*d)
	*d = append(*d, s)
}

// Pop implements heap.Interface.
func (d *deadlines) Pop() any {
	last := len(*d) - 1
	s := (*d)[last]
	(*d)[last] = nil
	*d = (*d)[:last]
	return s
}

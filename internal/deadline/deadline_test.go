package deadline

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// model is what a queue should know: the moment of each timer that runs.
type model struct {
	queue  Queue
	timers []*Timer
	at     map[int]time.Time
	now    time.Time
	fired  []int
}

// TestQueue: whatever is set, put off, brought forward and stopped, timers fire once, at their moments and no earlier, and the
// queue never wants to be looked at later than the first of them.
func TestQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &model{at: map[int]time.Time{}, now: time.UnixMilli(1_000_000)}
		for i := range 6 {
			m.timers = append(m.timers, &Timer{Fire: func() { m.fired = append(m.fired, i) }})
		}
		one := rapid.IntRange(0, len(m.timers)-1)
		t.Repeat(map[string]func(*rapid.T){
			"set": func(t *rapid.T) {
				i := one.Draw(t, "timer")
				m.at[i] = m.now.Add(time.Duration(rapid.IntRange(-2, 20).Draw(t, "in")) * time.Second)
				m.queue.Set(m.timers[i], m.at[i])
			},
			"stop": func(t *rapid.T) {
				i := one.Draw(t, "timer")
				delete(m.at, i)
				m.queue.Stop(m.timers[i])
			},
			"wait": func(t *rapid.T) { m.wait(t, time.Duration(rapid.IntRange(0, 10).Draw(t, "for"))*time.Second) },
			"":     m.check,
		})
	})
}

// wait lets time pass and fires what is due.
func (m *model) wait(t *rapid.T, d time.Duration) {
	m.now, m.fired = m.now.Add(d), nil
	for due := m.queue.Due(m.now); due != nil; due = m.queue.Due(m.now) {
		due.Fire()
	}
	var want []int
	for i, at := range m.at {
		if !at.After(m.now) {
			want = append(want, i)
			delete(m.at, i)
		}
	}
	slices.Sort(want)
	slices.Sort(m.fired)
	if !slices.Equal(m.fired, want) {
		t.Fatalf("%v fired, want %v", m.fired, want)
	}
}

func (m *model) check(t *rapid.T) {
	next := m.queue.Next()
	if m.queue.Len() != len(m.at) || next.IsZero() != (len(m.at) == 0) {
		t.Fatalf("%d timers run, the next at %v, want %d", m.queue.Len(), next, len(m.at))
	}
	for i, timer := range m.timers {
		at, runs := m.at[i]
		if timer.Runs() != runs {
			t.Errorf("timer %d runs: %t", i, timer.Runs())
		}
		if runs && next.After(at) {
			t.Errorf("timer %d is due at %v, the queue is to be looked at at %v", i, at, next)
		}
	}
}

// TestOrder: earlier moments first, of one moment who was set to it first, also after it was put off.
func TestOrder(t *testing.T) {
	start := time.UnixMilli(0)
	var q Queue
	var got []string
	add := func(name string, in time.Duration) *Timer {
		timer := &Timer{Fire: func() { got = append(got, name) }}
		q.Set(timer, start.Add(in))
		return timer
	}
	late := add("put off", time.Second)
	add("second", 3*time.Second)
	add("third", 3*time.Second)
	add("first", 2*time.Second)
	q.Set(late, start.Add(3*time.Second))
	for now := start; q.Len() > 0; now = now.Add(time.Second / 2) {
		for due := q.Due(now); due != nil; due = q.Due(now) {
			due.Fire()
		}
	}
	if want := []string{"first", "second", "third", "put off"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

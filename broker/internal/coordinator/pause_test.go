package coordinator

import (
	"testing"
	"testing/synctest"
	"time"
)

// holdUp keeps the worker from everything for a while, as a pause of the whole process does.
func (h *house) holdUp(d time.Duration) {
	over := make(chan struct{})
	h.Do(0, get{"a"}, func(any, error) {
		<-time.NewTimer(d).C
		close(over)
	})
	<-over
	synctest.Wait()
}

func (h *house) expectNoAnswer(a *asked) {
	h.t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if a.told > 0 {
		h.t.Fatalf("%s was told too early: %v", a.name, a.value)
	}
}

// The process stands still for ten minutes, as in a container that is paused. Whoever was in time as far as he could tell, but
// is heard only now, is in time; who says nothing now either is late a moment later, and only then.
func TestAPauseOfTheProcessMakesNobodyLate(t *testing.T) {
	inHouse(t, 1, nil, func(h *house) {
		h.asks("time", timeout{time.Minute})
		released, silent := h.asks("released", park{"door"}), h.asks("silent", park{"wall"})
		h.holdUp(10 * time.Minute)
		h.asks("first", get{"a"}) // somebody is always read before the others
		h.pass(time.Second)
		h.ask(0, "in time", open{"door", ""})
		h.expectAnswer(released, "door", nil)
		h.expectNoAnswer(silent)
		h.pass(pauseGrace)
		h.disk.settle(1, nil)
		h.expectAnswer(silent, "late", nil)
	})
}

// A pause is forgiven once: after it time passes as ever.
func TestAfterAPauseTimeGoesOn(t *testing.T) {
	inHouse(t, 1, func(h *house) { h.disk.quick = true }, func(h *house) {
		h.asks("time", timeout{time.Minute})
		first := h.asks("first", park{"door"})
		h.holdUp(10 * time.Minute)
		h.pass(pauseGrace)
		h.expectAnswer(first, "late", nil)
		second := h.asks("second", park{"door"})
		h.pass(time.Minute - time.Millisecond)
		h.expectNoAnswer(second)
		h.pass(time.Millisecond)
		h.expectAnswer(second, "late", nil)
	})
}

// What is due soon does not hide behind one pause after the other: who is busy is not paused.
func TestABusyWorkerIsNotPaused(t *testing.T) {
	inHouse(t, 1, func(h *house) { h.disk.quick = true }, func(h *house) {
		h.asks("time", timeout{time.Minute})
		late := h.asks("late", park{"door"})
		for range 50 {
			h.holdUp(pauseMin - time.Millisecond)
		}
		h.expectAnswer(late, "late", nil)
	})
}

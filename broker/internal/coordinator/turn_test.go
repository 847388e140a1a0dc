package coordinator

import (
	"testing"
	"testing/synctest"
)

// While nothing is under way a caller steps his own call through; no other goroutine has a part in it.
func TestCallersStepWhileNothingIsUnderWay(t *testing.T) {
	inHouse(t, 1, nil, func(h *house) {
		if a := h.ask(0, "reads", get{"a"}); a.told != 1 {
			t.Errorf("a read was told %d times when Do returned", a.told)
		}
		writes := h.ask(0, "writes", add{"a"})
		if n := h.disk.pending(); n != 1 {
			t.Fatalf("%d appends are on their way when Do returns", n)
		}
		h.disk.settle(1, nil)
		if writes.told != 1 {
			t.Errorf("a write was told %d times when its append had ended", writes.told)
		}
	})
}

// What comes while more is under way gathers, and keeps its order.
func TestCallsGatherWhileAppendsAreUnderWay(t *testing.T) {
	inHouse(t, 1, nil, func(h *house) {
		h.ask(0, "first", add{"a"})
		h.ask(0, "second", add{"a"})
		h.ask(0, "third", add{"a"})
		if n := h.disk.pending(); n != 1 {
			t.Fatalf("%d appends when three have called at once, want that of the first", n)
		}
		synctest.Wait()
		if n := h.disk.pending(); n != 2 {
			t.Fatalf("%d appends, want one of the first and one of the others", n)
		}
		h.disk.settle(2, nil)
		h.expect("first", "second", "third")
	})
}

// One who is answered asks again: his next call is stepped through in the same turn.
func TestNextQuestionIsOfTheSameTurn(t *testing.T) {
	inHouse(t, 1, nil, func(h *house) {
		next := h.asking("next")
		h.Do(0, get{"a"}, func(any, error) { h.Do(0, get{"a"}, h.tells(next)) })
		if next.told != 1 {
			t.Errorf("the second question was told %d times when Do returned", next.told)
		}
	})
}

package coordinator

import (
	"testing"
	"testing/synctest"
)

// An early answer waits until the log has what was decided, and no longer; everybody else waits for the disk.
func TestEarlyAnswers(t *testing.T) {
	inHouse(t, 1, nil, func(h *house) {
		early := h.askEarly(0, "early", add{"a"})
		h.expectAnswer(early, 1, nil)
		if n := h.disk.pending(); n != 1 {
			t.Fatalf("%d appends are on their way", n)
		}
		durable := h.ask(0, "durable", get{"a"})
		again := h.askEarly(0, "again", get{"a"})
		h.expectAnswer(again, 1, nil)
		if durable.told != 0 {
			t.Error("it was answered before it is durable")
		}
		for range inFlightMax {
			h.asks("more", add{"b"})
		}
		waits := h.askEarly(0, "waits", add{"c"})
		if synctest.Wait(); waits.told != 0 {
			t.Error("it was answered before the log has it")
		}
		h.disk.settle(1, nil)
		h.expectAnswer(waits, 1, nil)
		h.expectAnswer(durable, 1, nil)
	})
}

// Who was answered early is not told again when the append fails; who was not is.
func TestEarlyAnswersThatFail(t *testing.T) {
	inHouse(t, 1, nil, func(h *house) {
		early := h.askEarly(0, "early", add{"a"})
		h.expectAnswer(early, 1, nil)
		for range inFlightMax {
			h.asks("more", add{"b"})
		}
		waits := h.askEarly(0, "waits", add{"c"})
		synctest.Wait()
		h.disk.settle(1, errDisk)
		h.expectAnswer(waits, nil, ErrNotCoordinator)
		h.expectAnswer(early, 1, nil)
	})
}

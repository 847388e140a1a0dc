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
		if len(early.after)+len(again.after) > 0 {
			t.Errorf("durable before the disk has it: %v, %v", early.after, again.after)
		}
		h.disk.settle(1, nil)
		h.expectAnswer(waits, 1, nil)
		h.expectAnswer(durable, 1, nil)
		for _, a := range []*asked{early, again} {
			if len(a.after) != 1 || a.after[0] != nil {
				t.Errorf("%s: %v", a.name, a.after)
			}
		}
	})
}

// Who was answered early hears that the append has failed, and is not answered again; who was not is.
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
		if len(early.after) != 1 || early.after[0] != ErrNotCoordinator || len(waits.after) > 0 {
			t.Errorf("afterwards: %v, %v", early.after, waits.after)
		}
	})
}

// Tried tells when every shard has been loaded, or could not be, or will not be since all ends.
func TestTried(t *testing.T) {
	ended := func(h *house) bool {
		synctest.Wait()
		select {
		case <-h.Tried():
			return true
		default:
			return false
		}
	}
	for name, c := range map[string]struct {
		prepare func(h *house, gate chan struct{})
		then    func(h *house, gate chan struct{})
	}{
		"loaded":    {func(h *house, gate chan struct{}) { h.disk.reading = gate }, func(_ *house, gate chan struct{}) { close(gate) }},
		"failed":    {func(h *house, gate chan struct{}) { h.disk.reading, h.disk.openErr = gate, errDisk }, nil},
		"shut down": {func(h *house, gate chan struct{}) { h.disk.reading = gate }, func(h *house, _ chan struct{}) { h.shut() }},
	} {
		t.Run(name, func(t *testing.T) {
			var gate chan struct{} // of the bubble
			prepare := func(h *house) {
				gate = make(chan struct{})
				c.prepare(h, gate)
			}
			inHouse(t, 3, prepare, func(h *house) {
				if c.then != nil {
					if ended(h) {
						t.Error("it is told before")
					}
					c.then(h, gate)
				}
				if !ended(h) {
					t.Error("it is not told")
				}
			})
		})
	}
}

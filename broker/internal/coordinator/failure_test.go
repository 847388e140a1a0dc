package coordinator

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skeinstream/skein/internal/machine"
)

// A failed append: everybody who waits hears of it, once, whether his answer was under way, gathered or not decided; and
// the machine knows afterwards what the log has.
func TestAFailedAppendAnswersEverybody(t *testing.T) {
	inHouse(t, 1, nil, func(h *house) {
		h.asks("safe", add{"a"})
		h.disk.settle(1, nil)
		var lost []*asked
		lost = append(lost, h.asks("parked", park{"door"}))
		for range inFlightMax + 2 {
			lost = append(lost, h.asks("add", add{"a"}))
		}
		lost = append(lost, h.asks("read", get{"a"}))
		h.disk.settle(1, errDisk)
		synctest.Wait()
		for _, a := range lost {
			h.expectAnswer(a, nil, ErrNotCoordinator)
		}
		h.expectAnswer(h.asks("meanwhile", get{"a"}), nil, ErrLoading)
		h.disk.settle(inFlightMax-1, nil) // they fail, as they stand behind the failed one
		synctest.Wait()
		h.expectAnswer(h.asks("after", get{"a"}), 1, nil)
		if h.logs.count("is made anew from its log") != 1 {
			t.Error("the failure should be logged once")
		}
	})
}

// The log is read again only when nothing of the old machine can reach it any more.
func TestTheLogIsNotReadWhileAppendsAreUnderWay(t *testing.T) {
	inHouse(t, 1, nil, func(h *house) {
		h.asks("one", add{"a"})
		h.asks("two", add{"a"})
		h.disk.settleOne(1, errDisk) // the second fails first
		h.expect("one", "two")
		if h.disk.opened != 1 {
			t.Fatal("opened while an append was under way")
		}
		h.disk.mu.Lock()
		h.disk.waiting[0].log.broken = false // but the first is written: it was not behind the failure
		h.disk.mu.Unlock()
		h.disk.settle(1, nil)
		synctest.Wait()
		h.expectAnswer(h.asks("read", get{"a"}), 1, nil)
	})
}

func TestAppendsThatFailAgainAndAgainAreTriedMoreAndMoreSeldom(t *testing.T) {
	inHouse(t, 1, nil, func(h *house) {
		fail := func() {
			h.asks("add", add{"a"})
			for h.disk.pending() > 0 {
				h.disk.settle(1, errDisk)
			}
			synctest.Wait()
		}
		fail()
		if h.disk.opened != 2 {
			t.Fatal("the first failure has the log read at once, but it was opened", h.disk.opened)
		}
		fail()
		if h.disk.opened != 2 {
			t.Fatal("the second should wait")
		}
		h.expectAnswer(h.asks("meanwhile", get{"a"}), nil, ErrNotCoordinator)
		h.pass(h.waits())
		h.asks("good", add{"a"})
		h.disk.settle(1, nil)
		synctest.Wait()
		fail()
		if h.disk.opened != 4 {
			t.Error("a success should begin anew, but the log was opened", h.disk.opened)
		}
	})
}

// waits is longer than any wait of a house with its first few failures.
func (h *house) waits() time.Duration { return 2 * time.Second }

func TestCallersAreToldWhileTheLogIsRead(t *testing.T) {
	prepare := func(h *house) {
		h.disk.reading = make(chan struct{})
		h.disk.logs[0] = []machine.Record{{Key: []byte("a"), Value: []byte("7")}, {Key: []byte("a"), Value: []byte("8")}}
	}
	inHouse(t, 1, prepare, func(h *house) {
		h.expectAnswer(h.asks("early", get{"a"}), nil, ErrLoading)
		close(h.disk.reading)
		synctest.Wait()
		h.expectAnswer(h.asks("late", get{"a"}), 8, nil)
		if h.toy(0).loaded != 1 {
			t.Error("Loaded was called", h.toy(0).loaded, "times")
		}
	})
}

func TestALogThatCannotBeOpenedIsTriedAgain(t *testing.T) {
	inHouse(t, 1, func(h *house) { h.disk.openErr = errDisk }, func(h *house) {
		h.expectAnswer(h.asks("early", get{"a"}), nil, ErrNotCoordinator)
		h.pass(5 * time.Second)
		if n := h.disk.opened; n < 4 || n > 10 {
			t.Errorf("opened %d times in 5 s", n)
		}
		h.disk.set(func() { h.disk.openErr = nil })
		h.pass(time.Minute)
		h.expectAnswer(h.asks("late", get{"a"}), 0, nil)
	})
}

// While the disk takes nothing, nothing is decided that would need it, and the machine stays.
func TestAKnownRefusalLeavesTheMachineAlone(t *testing.T) {
	inHouse(t, 1, nil, func(h *house) {
		h.asks("timeout", timeout{time.Second})
		parked := h.asks("parked", park{"door"})
		h.disk.set(func() { h.disk.refusal = errDisk })
		h.expectAnswer(h.asks("add", add{"a"}), nil, ErrNotCoordinator)
		h.expectAnswer(h.asks("read", get{"a"}), 0, nil)
		h.pass(3500 * time.Millisecond)
		if n := len(h.toy(0).ticks); n != 0 {
			t.Errorf("%d ticks", n)
		}
		h.disk.set(func() { h.disk.refusal = nil })
		h.pass(time.Second)
		h.disk.settle(1, nil)
		h.expectAnswer(parked, "late", nil)
		if h.disk.opened != 1 {
			t.Error("the machine was dropped")
		}
	})
}

// What the owner of the coordinator has to say comes before anybody's input.
func TestTheWelcomeComesFirst(t *testing.T) {
	var before []any
	var ends []error
	told := func(err error) { ends = append(ends, err) }
	prepare := func(h *house) {
		h.disk.quick = true
		h.cfg.Loaded = func(shard int32, step Step) {
			before = append(before, step(get{"a"}, nil), step(add{"a"}, told), step(park{"door"}, nil))
		}
	}
	inHouse(t, 1, prepare, func(h *house) {
		h.expectAnswer(h.asks("read", get{"a"}), 1, nil)
		if len(before) != 3 || before[0] != 0 || before[1] != 1 || before[2] != nil {
			t.Errorf("the steps were answered with %v", before)
		}
		if h.disk.state(0)["a"] != 1 {
			t.Error("its record is not in the log")
		}
		if len(ends) != 1 || ends[0] != nil {
			t.Errorf("told of %v", ends)
		}
	})
}

func TestTheWelcomeWaitsForADiskThatTakesIt(t *testing.T) {
	welcomes := 0
	prepare := func(h *house) {
		h.disk.quick, h.disk.refusal = true, errDisk
		h.cfg.Loaded = func(int32, Step) { welcomes++ }
	}
	inHouse(t, 1, prepare, func(h *house) {
		h.expectAnswer(h.asks("read", get{"a"}), 0, nil)
		if welcomes != 0 {
			t.Error("it came too early")
		}
		h.disk.set(func() { h.disk.refusal = nil })
		h.asks("read", get{"a"})
		h.asks("read", get{"a"})
		if welcomes != 1 {
			t.Error("it came", welcomes, "times")
		}
		h.Welcome(0)
		h.asks("read", get{"a"})
		if welcomes != 2 {
			t.Error("it came", welcomes, "times after a second welcome")
		}
	})
}

// Shutdown in every state: who waits for a decision is told at once, who waits for an append when that has ended.
func TestShutdown(t *testing.T) {
	inHouse(t, 5, nil, func(h *house) {
		parked := h.ask(0, "parked", park{"door"})
		flying := h.ask(1, "flying", add{"a"})
		for range inFlightMax {
			h.ask(2, "busy", add{"a"})
			synctest.Wait()
		}
		gathered := h.ask(2, "gathered", add{"a"})
		failing := h.ask(3, "failing", add{"a"})
		synctest.Wait()
		ended := make(chan error, 1)
		go func() { ended <- h.Shutdown(context.Background()) }()
		synctest.Wait()
		h.expectAnswer(parked, nil, ErrNotCoordinator)
		h.expectAnswer(h.ask(4, "late", get{"a"}), nil, ErrNotCoordinator)
		h.expect("parked", "late")
		for h.disk.pending() > 1 {
			h.disk.settle(1, nil)
			synctest.Wait()
		}
		h.disk.settle(1, errDisk) // whichever it is
		if err := <-ended; err != nil {
			t.Error(err)
		}
		h.expectAnswer(flying, 1, nil)
		h.expectAnswer(failing, 1, nil)
		h.expectAnswer(gathered, nil, ErrNotCoordinator)
		if h.Shutdown(context.Background()) != nil {
			t.Error("the second shutdown should be as good as the first")
		}
	})
}

func TestShutdownWhileLogsAreRead(t *testing.T) {
	inHouse(t, 3, func(h *house) { h.disk.reading = make(chan struct{}) }, func(h *house) {
		h.expectAnswer(h.asks("early", get{"a"}), nil, ErrLoading)
	})
}

func TestShutdownWhileALogCannotBeRead(t *testing.T) {
	inHouse(t, 1, func(h *house) { h.disk.openErr = errDisk }, func(h *house) { h.pass(time.Second) })
}

func TestShutdownWhileAFailedAppendWaitsForOthers(t *testing.T) {
	inHouse(t, 1, nil, func(h *house) {
		h.asks("one", add{"a"})
		h.asks("two", add{"a"})
		h.disk.settle(1, errDisk)
		h.expect("one", "two")
	})
}

// A shutdown has a bound: then even those are told whose append never ends, and what ends later finds nobody.
func TestShutdownDoesNotWaitForEver(t *testing.T) {
	inHouse(t, 1, nil, func(h *house) {
		flying := h.asks("flying", add{"a"})
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := h.Shutdown(ctx); err != context.DeadlineExceeded {
			t.Errorf("shutting down: %v", err)
		}
		h.expectAnswer(flying, nil, ErrNotCoordinator)
		h.disk.settle(1, nil)
		h.expect("flying")
	})
}

// A machine that panics loses its callers' answers, not its callers, and nobody else's machine.
func TestAPanicIsContained(t *testing.T) {
	inHouse(t, 2, nil, func(h *house) {
		h.asks("safe", add{"a"})
		h.disk.settle(1, nil)
		parked := h.asks("parked", park{"door"})
		flying := h.asks("flying", add{"b"})
		bad := h.asks("bad", "no input that a toy knows")
		for _, a := range []*asked{parked, flying, bad} {
			h.expectAnswer(a, nil, ErrNotCoordinator)
		}
		h.disk.settle(1, nil)
		synctest.Wait()
		h.expectAnswer(h.asks("read", get{"a"}), 1, nil)
		h.expectAnswer(h.asks("read", get{"b"}), 1, nil)
		h.expectAnswer(h.ask(1, "other", get{"a"}), 0, nil)
		if h.logs.count("panicked") == 0 || h.logs.count("stack=") != 1 {
			t.Error("it should be loud")
		}
	})
}

// brittle panics when it is loaded, until it is mended.
type brittle struct {
	*toy
	broken bool
}

func (b brittle) Apply(r machine.Record) {
	if b.broken {
		panic("a record that breaks me")
	}
	b.toy.Apply(r)
}

func TestARecordThatBreaksTheMachineIsTriedAgain(t *testing.T) {
	var broken atomic.Bool
	broken.Store(true)
	prepare := func(h *house) {
		h.disk.logs[0] = []machine.Record{{Key: []byte("a"), Value: []byte("1")}}
		h.cfg.Machine = func(int32) machine.Machine { return brittle{newToy(), broken.Load()} }
	}
	inHouse(t, 1, prepare, func(h *house) {
		h.expectAnswer(h.asks("early", get{"a"}), nil, ErrNotCoordinator)
		broken.Store(false)
		h.pass(time.Minute)
		h.expectAnswer(h.asks("late", get{"a"}), 1, nil)
	})
}

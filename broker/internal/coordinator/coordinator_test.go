package coordinator

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/skeinstream/skein/internal/machine"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errDisk = errors.New("the disk is on fire")

func TestShardIsKafkas(t *testing.T) {
	for key, want := range map[string]int32{
		"":                      0,
		"a":                     97 % 50,
		"hello":                 99162322 % 50,
		"zzzzzz":                685785664 % 50, // a negative hash
		"polygenelubricants":    0,              // the hash code that has no absolute value
		"\U0001f600":            1772899 % 50,   // two UTF-16 units
		"\uffff":                65535 % 50,
		"my-first-application1": Shard("my-first-application1", 50),
	} {
		if got := Shard(key, 50); got != want {
			t.Errorf("%q is in shard %d, want %d", key, got, want)
		}
	}
	if got := Shard("hello", 1); got != 0 {
		t.Error("of one shard it is", got)
	}
}

// Nothing that was decided on a record leaves before the record is durable, and the answers come in the order of decisions.
func TestAnswersWaitForTheirAppends(t *testing.T) {
	inHouse(t, 1, nil, func(h *house) {
		one := h.asks("one", add{"a"})
		two := h.asks("two", add{"a"})
		read := h.asks("read", get{"a"})
		h.expect()
		h.disk.settle(1, nil)
		h.expect("one")
		h.disk.settle(1, nil)
		h.expect("one", "two", "read")
		h.expectAnswer(one, 1, nil)
		h.expectAnswer(two, 2, nil)
		h.expectAnswer(read, 2, nil)
	})
}

func TestAReadWaitsForNothingWhenNothingIsUnderWay(t *testing.T) {
	inHouse(t, 1, nil, func(h *house) {
		h.expectAnswer(h.asks("read", get{"a"}), 0, nil)
	})
}

func TestAnswersKeepTheirOrderWhateverOrderAppendsEndIn(t *testing.T) {
	inHouse(t, 1, nil, func(h *house) {
		h.asks("one", add{"a"})
		h.asks("two", add{"b"})
		h.disk.settleOne(1, nil)
		h.expect()
		h.disk.settleOne(0, nil)
		h.expect("one", "two")
	})
}

// What comes while appends are under way gathers into one.
func TestABusyShardWritesLargerBatches(t *testing.T) {
	inHouse(t, 1, nil, func(h *house) {
		for range inFlightMax + 10 {
			h.asks("add", add{"a"})
		}
		if n := h.disk.pending(); n != inFlightMax {
			t.Fatalf("%d appends under way, want %d", n, inFlightMax)
		}
		h.disk.settle(1, nil)
		synctest.Wait()
		h.disk.mu.Lock()
		last := h.disk.waiting[inFlightMax-1]
		h.disk.mu.Unlock()
		if len(last.records) != 10 {
			t.Errorf("%d records in the next append, want 10", len(last.records))
		}
	})
}

func TestWhatIsDrainedTogetherIsAppendedTogether(t *testing.T) {
	inHouse(t, 1, nil, func(h *house) {
		door := make(holds)
		go h.ask(0, "hold", door)
		synctest.Wait()
		for range 5 {
			h.ask(0, "add", add{"a"})
		}
		close(door)
		synctest.Wait()
		if n := h.disk.pending(); n != 1 {
			t.Errorf("%d appends for 5 records that came during a step", n)
		}
	})
}

// A batch has a bound, so that a busy shard does not write one without end.
func TestLargeRecordsCloseAnAppend(t *testing.T) {
	inHouse(t, 1, nil, func(h *house) {
		for range inFlightMax { // so that the rest gathers
			h.asks("add", add{"a"})
		}
		for range 3 {
			h.asks("bulky", bulky{"a", flightBytes})
		}
		for range inFlightMax {
			h.disk.settle(1, nil)
		}
		synctest.Wait()
		if n := h.disk.pending(); n != 3 {
			t.Errorf("%d appends for 3 large records", n)
		}
	})
}

// Records and what goes to other partitions stand and fall together, so nothing else may be in their append.
func TestAGroupIsAnAppendOfItsOwn(t *testing.T) {
	inHouse(t, 1, nil, func(h *house) {
		for range inFlightMax {
			h.asks("add", add{"a"})
		}
		h.asks("before", add{"a"})
		h.asks("group", several{"a", "b"})
		h.asks("after", add{"a"})
		h.disk.settle(inFlightMax, nil)
		synctest.Wait()
		h.disk.mu.Lock()
		var sizes []int
		for _, p := range h.disk.waiting {
			sizes = append(sizes, len(p.records)+10*len(p.group))
		}
		h.disk.mu.Unlock()
		if len(sizes) != 3 || sizes[0] != 1 || sizes[1] != 11 || sizes[2] != 1 {
			t.Errorf("appends of %v, want 1, 11 and 1", sizes)
		}
		h.disk.settle(3, nil)
		synctest.Wait()
		if h.disk.others["b"] != 1 {
			t.Error("the group was not written")
		}
	})
}

// T24-like: who waits for others is an entry in a table, answered by somebody else's step.
func TestParkedCallersAreAnsweredByOthers(t *testing.T) {
	inHouse(t, 1, nil, func(h *house) {
		first, second := h.asks("first", park{"door"}), h.asks("second", park{"door"})
		other := h.asks("other", park{"window"})
		h.expect()
		h.asks("open", open{"door", "opened"})
		h.expect()
		h.disk.settle(1, nil)
		h.expect("first", "second", "open")
		h.expectAnswer(first, "door", nil)
		h.expectAnswer(second, "door", nil)
		h.asks("close", open{door: "window"})
		h.expectAnswer(other, "window", nil)
	})
}

func TestShardsDoNotWaitForOneAnother(t *testing.T) {
	inHouse(t, 3, nil, func(h *house) {
		h.ask(0, "slow", add{"a"})
		synctest.Wait()
		h.ask(1, "quick", get{"a"})
		h.expect("quick")
		if got := h.disk.state(1)["a"]; got != 0 {
			t.Error("a record is in the wrong log")
		}
	})
}

func TestAnUnknownShardHasNoCoordinator(t *testing.T) {
	inHouse(t, 2, nil, func(h *house) {
		h.expectAnswer(h.ask(2, "beyond", get{"a"}), nil, ErrNotCoordinator)
		h.expectAnswer(h.ask(-1, "below", get{"a"}), nil, ErrNotCoordinator)
	})
}

func TestAMachineThatAnswersTwiceIsReported(t *testing.T) {
	inHouse(t, 1, nil, func(h *house) {
		h.expectAnswer(h.asks("twice", twice{}), 1, nil)
		if h.logs.count("answered somebody who does not wait") != 1 {
			t.Error("nobody was told")
		}
	})
}

func TestTicksComeWhenTheyAreWanted(t *testing.T) {
	inHouse(t, 1, nil, func(h *house) {
		start := time.Now()
		h.asks("timeout", timeout{5 * time.Second})
		late := h.asks("late", park{"door"})
		h.pass(4 * time.Second)
		h.expect("timeout")
		h.asks("timeout", timeout{10 * time.Second})
		h.asks("later", park{"door"})
		h.pass(2 * time.Second)
		h.expect("timeout", "timeout")
		h.disk.settle(1, nil)
		h.expectAnswer(late, "late", nil)
		h.pass(9 * time.Second)
		h.disk.settle(1, nil)
		h.expect("timeout", "timeout", "late", "later")
		ticks := h.toy(0).ticks
		if len(ticks) != 2 || ticks[0].Sub(start) != 5*time.Second || ticks[1].Sub(start) != 14*time.Second {
			t.Errorf("ticks after %v", since(start, ticks))
		}
	})
}

// A deadline that moves away needs no tick, and one that comes nearer is not missed.
func TestTheOneTimerServesManyShards(t *testing.T) {
	inHouse(t, 40, func(h *house) { h.disk.quick = true }, func(h *house) {
		start := time.Now()
		for shard := range int32(40) {
			h.ask(shard, "timeout", timeout{time.Duration(40-shard) * time.Second})
			h.ask(shard, "park", park{"door"})
		}
		synctest.Wait()
		h.ask(39, "open", open{door: "door"}) // the first that would have been due
		h.pass(time.Minute)
		for shard := range int32(39) {
			if ticks := h.toy(shard).ticks; len(ticks) != 1 || ticks[0].Sub(start) != time.Duration(40-shard)*time.Second {
				t.Errorf("shard %d ticked after %v", shard, since(start, ticks))
			}
		}
		if ticks := h.toy(39).ticks; len(ticks) != 0 {
			t.Errorf("shard 39 ticked after %v", since(start, ticks))
		}
	})
}

func since(start time.Time, ticks []time.Time) (after []time.Duration) {
	for _, t := range ticks {
		after = append(after, t.Sub(start))
	}
	return after
}

// impatient wants a tick at a time that has passed, always.
type impatient struct{ *toy }

func (m impatient) Tick(now time.Time) machine.Output {
	m.toy.ticks = append(m.toy.ticks, now)
	return machine.Output{Wake: now.Add(-time.Second)}
}

func (m impatient) Loaded(now time.Time) machine.Output { return machine.Output{Wake: now} }

func TestAMachineThatNeverRestsDoesNotHoldTheOthersUp(t *testing.T) {
	y := newToy()
	prepare := func(h *house) {
		made := h.cfg.Machine
		h.cfg.Machine = func(shard int32) machine.Machine {
			if shard == 1 {
				return impatient{y}
			}
			return made(shard)
		}
	}
	inHouse(t, 2, prepare, func(h *house) {
		h.pass(100 * time.Millisecond)
		h.expectAnswer(h.asks("read", get{"a"}), 0, nil)
		if n := len(y.ticks); n < 50 || n > 110 {
			t.Errorf("%d ticks in 100 ms", n)
		}
	})
}

func TestADeadlineMayComeNearer(t *testing.T) {
	inHouse(t, 2, func(h *house) { h.disk.quick = true }, func(h *house) {
		h.asks("timeout", timeout{10 * time.Second})
		h.asks("long", park{"door"})
		h.ask(1, "timeout", timeout{time.Second})
		short := h.ask(1, "short", park{"door"})
		h.pass(time.Second)
		h.expectAnswer(short, "late", nil)
	})
}

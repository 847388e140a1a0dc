package coordinator

import (
	"sync"
	"time"
)

// call is an input on its way to a shard.
type call struct {
	shard *shard
	in    any
	done  func(reply any, err error)
}

// event tells a shard what became of something that it began: a load, or the append of a flight. Or it asks for a welcome, or is
// about a rendezvous.
type event struct {
	shard   *shard
	load    *loaded
	flight  *flight
	err     error // of the append
	welcome bool
	visit   *visit
	back    bool // from a rendezvous: the log is the shard's own again; err is why nothing has been appended
}

// worker runs some of the shards, which nobody else touches.
type worker struct {
	cfg    *Config
	shards []*shard
	wake   chan struct{} // there is something in the fields below mu

	// Owned by the goroutine of run.
	deadlines  deadlines
	dirty      []*shard // with something to append
	now        time.Time
	grace      time.Time // until then nothing is due
	spareCalls []call
	spareTold  []event

	mu       sync.Mutex // guards what follows
	calls    []call
	told     []event
	stopping bool // no calls are taken
	aborted  bool // nothing is waited for
	ended    bool // nobody looks any more
}

func newWorker(cfg *Config) *worker {
	return &worker{cfg: cfg, wake: make(chan struct{}, 1)}
}

// post takes a call in. It reports false when the worker takes none any more.
func (w *worker) post(c call) bool {
	w.mu.Lock()
	if w.stopping {
		w.mu.Unlock()
		return false
	}
	w.calls = append(w.calls, c)
	first := len(w.calls) == 1 && len(w.told) == 0
	w.mu.Unlock()
	if first {
		w.poke()
	}
	return true
}

// tell takes an event in. After the end of the worker nobody needs it, and it reports false.
func (w *worker) tell(e event) bool {
	w.mu.Lock()
	ended := w.ended
	if !ended {
		w.told = append(w.told, e)
	}
	w.mu.Unlock()
	w.poke()
	return !ended
}

// poke makes run look for work; a poke that it has not seen yet is enough.
func (w *worker) poke() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// stop ends run once the appends under way are answered, abort at once.
func (w *worker) stop() { w.turn(&w.stopping) }

func (w *worker) abort() { w.turn(&w.aborted) }

func (w *worker) turn(flag *bool) {
	w.mu.Lock()
	*flag = true
	w.mu.Unlock()
	w.poke()
}

// inbox is what has come since the last look.
type inbox struct {
	calls             []call
	told              []event
	stopping, aborted bool
}

func (w *worker) take() inbox {
	w.mu.Lock()
	defer w.mu.Unlock()
	in := inbox{w.calls, w.told, w.stopping, w.aborted}
	w.calls, w.told = w.spareCalls[:0], w.spareTold[:0]
	return in
}

// giveBack lets take use the memory of an inbox again.
func (w *worker) giveBack(in inbox) {
	clear(in.calls)
	clear(in.told)
	w.spareCalls, w.spareTold = in.calls, in.told
}

// run works until stop. What it does in one go: it hears of appends and loads, steps through the calls, ticks what is
// due, and appends what all that has decided.
func (w *worker) run() {
	clock := newClock()
	defer clock.stop()
	stopped := false
	for {
		clock.arm(w.wakeUp(), w.cfg)
		clock.wait(w.wake)
		w.look()
		in := w.take()
		if in.stopping && !stopped {
			stopped = true
			w.stopShards()
		}
		w.work(in)
		if in.aborted || stopped && w.idle() {
			w.end()
			return
		}
	}
}

func (w *worker) work(in inbox) {
	for _, e := range in.told {
		e.shard.hear(e)
	}
	for _, c := range in.calls {
		c.shard.step(c)
	}
	w.tick()
	for _, s := range w.dirty {
		s.dirty = false
		s.send()
	}
	clear(w.dirty)
	w.dirty = w.dirty[:0]
	w.giveBack(in)
}

// tick calls the shards that are due.
func (w *worker) tick() {
	if w.now.Before(w.grace) {
		return
	}
	for s := w.deadlines.first(); s != nil && !s.due.After(w.now); s = w.deadlines.first() {
		s.tick()
	}
}

func (w *worker) stopShards() {
	for _, s := range w.shards {
		s.stop()
	}
}

// idle reports whether no append is under way or waiting.
func (w *worker) idle() bool {
	for _, s := range w.shards {
		if s.underway > 0 || len(s.flights) > 0 {
			return false
		}
	}
	return true
}

// end answers everybody who is left.
func (w *worker) end() {
	w.mu.Lock()
	w.ended = true
	calls, told := w.calls, w.told
	w.calls, w.told = nil, nil
	w.mu.Unlock()
	for _, e := range told {
		e.refuse()
	}
	for _, c := range calls {
		c.refuse()
	}
	for _, s := range w.shards {
		s.noteTried()
		s.refuseHeld()
		s.answerAll()
	}
}

func (c call) refuse() { c.done(nil, ErrNotCoordinator) }

// refuse answers who comes with the event, if anybody waits for that.
func (e event) refuse() {
	if e.visit != nil && !e.back {
		e.visit.of.fail(ErrNotCoordinator)
	}
}

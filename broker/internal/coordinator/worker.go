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

// worker runs some of the shards, which belong to whoever owns it: its goroutine, or for a moment a caller. See turn.go.
type worker struct {
	cfg    *Config
	shards []*shard
	wake   chan struct{} // there is something in the fields below mu

	// The owner's.
	deadlines  deadlines
	armed      time.Time // when the goroutine looks at the latest; zero: whenever something comes
	dirty      []*shard  // with something to append
	underway   int       // of all shards
	stopped    bool      // no call comes any more
	now        time.Time
	grace      time.Time // until then nothing is due
	spareCalls []call
	spareTold  []event

	mu       sync.Mutex // guards what follows
	owned    bool
	quiet    bool // nothing was under way when the last owner left
	wanted   bool // by the goroutine, while a caller owns it
	calls    []call
	told     []event
	stopping bool // no calls are taken
	aborted  bool // nothing is waited for
	ended    bool // nobody looks any more
}

// newWorker makes a worker that is its goroutine's, until that has begun.
func newWorker(cfg *Config) *worker {
	return &worker{cfg: cfg, wake: make(chan struct{}, 1), owned: true}
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

// take empties the inbox. The caller owns w and holds mu.
func (w *worker) take() inbox {
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
	for first := true; ; first = false {
		in, owns := w.enter(first)
		if owns {
			w.look()
			if in.stopping && !w.stopped {
				w.stopped = true
				w.stopShards()
			}
			w.work(in)
			if in.aborted || w.stopped && w.idle() {
				w.end()
				return
			}
			clock.arm(w.wakeUp(), w.cfg)
			w.armed = clock.armed
			w.leave()
		}
		clock.wait(w.wake)
	}
}

// enter makes the goroutine the owner and takes what has come, unless a caller is: he says when he leaves. From the
// first time on callers may be.
func (w *worker) enter(first bool) (in inbox, owns bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.owned && !first {
		w.wanted = true
		return in, false
	}
	w.owned = true
	return w.take(), true
}

func (w *worker) work(in inbox) {
	w.see(in)
	w.tick()
	w.send()
}

// send gives the logs what may go.
func (w *worker) send() {
	for _, s := range w.dirty {
		s.dirty = false
		s.send()
	}
	clear(w.dirty)
	w.dirty = w.dirty[:0]
}

// see hears of what has happened and steps through the calls.
func (w *worker) see(in inbox) {
	for _, e := range in.told {
		e.shard.hear(e)
	}
	for _, c := range in.calls {
		c.shard.step(c)
	}
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

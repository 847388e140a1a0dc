package coordinator

// A worker has an owner at any moment, or none. Its goroutine owns it while it works. While nothing is under way a caller who
// finds it without an owner takes it, steps his own call through, and gives it up again: to wake a goroutine for that would
// cost more than the step. So does the goroutine that commits when the last append has ended. When more is under way, what
// comes gathers for the worker's goroutine, and what it then decides is written together. Nobody waits for a worker: when it
// is owned, or others have come before, what comes goes into the inbox.

const (
	// aloneMax is how many appends may be under way for one that has ended to be heard of at once.
	aloneMax = 2
	// quickReplies is how many answers may wait for it then: they are given on the goroutine that commits.
	quickReplies = 8
	// littleMax is how much that has come meanwhile a caller sees to before he leaves. Mostly it is his own: the next question
	// of one who has been answered.
	littleMax = 4
)

// post takes a call in, or steps it through at once. It reports false when the worker takes none any more.
func (w *worker) post(c call) bool {
	w.mu.Lock()
	if w.stopping {
		w.mu.Unlock()
		return false
	}
	if w.busy() || !w.quiet {
		w.calls = append(w.calls, c)
		look := !w.owned // else the owner looks before he leaves
		w.mu.Unlock()
		if look {
			w.poke()
		}
		return true
	}
	w.owned = true
	w.mu.Unlock()
	w.look()
	c.shard.step(c)
	w.leaveAsCaller()
	return true
}

// tell takes an event in, or hears of it at once. After the end of the worker nobody needs it, and it reports false.
func (w *worker) tell(e event) bool {
	w.mu.Lock()
	if w.ended {
		w.mu.Unlock()
		return false
	}
	if e.slow() || w.busy() {
		w.told = append(w.told, e)
		w.mu.Unlock()
		w.poke()
		return true
	}
	w.owned = true
	w.mu.Unlock()
	if w.underway > aloneMax || e.flight != nil && len(e.flight.replies) > quickReplies {
		w.putBack(e)
		return true
	}
	w.look()
	e.shard.hear(e)
	w.leaveAsCaller()
	return true
}

// slow tells whether an event is for the goroutine in any case: it may take long, or begin what does.
func (e event) slow() bool { return e.load != nil || e.welcome }

// busy reports whether something that comes has to wait: for the owner, or behind others. The caller holds mu.
func (w *worker) busy() bool { return w.owned || w.waiting() > 0 }

// waiting is how much is in the inbox. The caller holds mu.
func (w *worker) waiting() int { return len(w.calls) + len(w.told) }

// putBack leaves an event to the goroutine after all.
func (w *worker) putBack(e event) {
	w.mu.Lock()
	w.told = append(w.told, e)
	w.owned = false
	w.mu.Unlock()
	w.poke()
}

// leaveAsCaller ends the turn of a caller. More than little he leaves to the goroutine.
func (w *worker) leaveAsCaller() {
	w.send()
	for in, more := w.takeLittle(); more; in, more = w.takeLittle() {
		w.see(in)
		w.send()
	}
}

// takeLittle takes what has come meanwhile, if it is little, or gives the worker up.
func (w *worker) takeLittle() (in inbox, taken bool) {
	look := w.stopped || w.dueEarlier()
	w.mu.Lock()
	n := w.waiting()
	if 0 < n && n <= littleMax {
		in = w.take()
		w.mu.Unlock()
		return in, true
	}
	w.giveUp(look)
	return in, false
}

// dueEarlier reports whether the goroutine has to look earlier than it thinks.
func (w *worker) dueEarlier() bool {
	next := w.wakeUp()
	return !next.IsZero() && (w.armed.IsZero() || next.Before(w.armed))
}

// leave gives the worker up. What has come meanwhile is for the goroutine.
func (w *worker) leave() {
	w.mu.Lock()
	w.giveUp(false)
}

// giveUp ends a turn, and has the goroutine look if there is anything for it. The caller holds mu, which is released.
func (w *worker) giveUp(look bool) {
	look = look || w.wanted || w.waiting() > 0
	w.owned, w.wanted, w.quiet = false, false, w.underway == 0
	w.mu.Unlock()
	if look {
		w.poke()
	}
}

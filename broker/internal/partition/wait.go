package partition

// Waker is told that there may be more to read. It is only a hint: it may come late, more than once, or when the wait is
// over already. It is called by whoever has moved the partition on, so it is quick and never calls back.
type Waker interface{ Wake() }

// Waiter waits for one partition. It belongs to the partition from Wait until Unwait has returned.
type Waiter struct {
	Offset    int64 // woken when something can be read from here on
	Committed bool  // only committed records count
	Waker     Waker

	prev, next *Waiter
	listed     bool
}

// Wait registers w, unless there is something to read, or an error to see, already. It reports whether it did.
func (p *Partition) Wait(w *Waiter) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state != online || p.bound(w.Committed) > w.Offset || w.Offset < p.log.StartOffset() {
		return false
	}
	p.waiters.add(w)
	return true
}

// Unwait takes w back. It may have been woken meanwhile.
func (p *Partition) Unwait(w *Waiter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.listed {
		p.waiters.remove(w)
	}
}

// waiters is an intrusive list of those who wait for a partition.
type waiters struct{ first *Waiter }

func (l *waiters) add(w *Waiter) {
	w.prev, w.next, w.listed = nil, l.first, true
	if l.first != nil {
		l.first.prev = w
	}
	l.first = w
}

func (l *waiters) remove(w *Waiter) {
	if w.prev == nil {
		l.first = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next != nil {
		w.next.prev = w.prev
	}
	w.prev, w.next, w.listed = nil, nil, false
}

// takeBelow takes out those who can go on.
func (l *waiters) takeBelow(highWatermark, lastStable int64, woken *wakes) {
	for w := l.first; w != nil; {
		next := w.next
		bound := highWatermark
		if w.Committed {
			bound = lastStable
		}
		if w.Offset < bound {
			l.remove(w)
			woken.add(w.Waker)
		}
		w = next
	}
}

func (l *waiters) takeAll(woken *wakes) {
	for l.first != nil {
		w := l.first
		l.remove(w)
		woken.add(w.Waker)
	}
}

// wakes collects who is to be woken once no lock is held. Few are, usually.
type wakes struct {
	few  [4]Waker
	n    int
	more []Waker
}

func (ws *wakes) add(w Waker) {
	if ws.n < len(ws.few) {
		ws.few[ws.n] = w
		ws.n++
		return
	}
	ws.more = append(ws.more, w)
}

func (ws *wakes) wake() {
	for _, w := range ws.few[:ws.n] {
		w.Wake()
	}
	for _, w := range ws.more {
		w.Wake()
	}
}

package exactlyonce

import "time"

// connect gives slots lines of their own, which can be cut.
func (l *life) connect(slots ...*slot) {
	l.t.Helper()
	for _, s := range slots {
		s.line = newLine(l.t, s.name, l.broker.Addr)
	}
}

// partition cuts a worker in a transaction off until the others have taken over,
// and has it come back: what it sends then, or sent before and arrives then, is a
// zombie's.
func (l *life) partition(s *slot, how outage) {
	l.t.Helper()
	l.inTransaction(s)
	w := s.worker
	l.must(s.line.cut(how))
	l.cuts++
	l.progress(w.name + " is cut off, " + string(how))
	l.must(s.line.mend(l.t.Context()))
	l.works(s)
}

// interrupt cuts every line for a moment, in a transaction of a slot's worker.
func (l *life) interrupt(s *slot, how outage) {
	l.t.Helper()
	l.inTransaction(s)
	cut := time.Now()
	for _, s := range l.slots() {
		l.must(s.line.cut(how))
	}
	l.cuts++
	l.pause(session / 2)
	for _, s := range l.slots() {
		l.must(s.line.mend(l.t.Context()))
	}
	l.log(cut, "every line was cut, %s", how)
	l.works(l.a)
	l.works(l.b)
}

// bounce replaces a slot's worker as a rolling upgrade does.
func (l *life) bounce(s *slot, timeout time.Duration) {
	l.t.Helper()
	l.hears(s, began)
	left, name := time.Now(), s.worker.name
	l.leave(s)
	l.bounces++
	l.log(left, "%s has left", name)
	l.start(s, timeout)
	l.works(s)
}

// storm is a round in which the network, too, may be cut.
func (l *life) storm() {
	l.t.Helper()
	s := l.slots()[l.random.IntN(2)]
	how := outages[l.random.IntN(len(outages))]
	switch l.random.IntN(4) {
	case 0:
		l.partition(s, how)
	case 1:
		l.interrupt(s, how)
	case 2:
		l.bounce(s, s.timeout)
	case 3:
		l.round()
	}
	l.progress("a storm")
}

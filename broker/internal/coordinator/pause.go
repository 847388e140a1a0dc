package coordinator

import "time"

const (
	// pauseMin is how long after the moment at which something is due a worker looks when it could not look before: the
	// machine was suspended, the container paused, or the processor had no time for us.
	pauseMin = 2 * time.Second
	// pauseGrace is how long nothing is due after that. What clients sent meanwhile waits in sockets, and who was cut off is
	// about to come back. A heartbeat is sent every three seconds by default.
	pauseGrace = 5 * time.Second
)

// look reads the clock. A worker that was held up judges nobody by the time at which it hears of him: one pause of the
// broker would else cost every group all of its members.
func (w *worker) look() {
	before := w.now
	w.now = w.cfg.Now()
	next := w.deadlines.next()
	if !next.IsZero() && w.now.Sub(latest(before, next, w.grace)) >= pauseMin {
		w.cfg.Logger.Warn("the broker was held up; timeouts of groups and transactions wait a moment", "due", next)
		w.grace = w.now.Add(pauseGrace)
	}
}

// wakeUp is when to look at the latest; zero: whenever something comes.
func (w *worker) wakeUp() time.Time {
	next := w.deadlines.next()
	if next.IsZero() {
		return next
	}
	return latest(next, w.grace)
}

func latest(times ...time.Time) (last time.Time) {
	for _, t := range times {
		if t.After(last) {
			last = t
		}
	}
	return last
}

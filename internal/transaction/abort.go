package transaction

import "github.com/twmb/franz-go/pkg/kerr"

// Abort aborts. One that has not come to its end is made again (R-F1). Without a transaction it does nothing.
func (m *Machine) Abort() error {
	m.begins("aborting the transaction")
	switch m.state {
	case fatal:
		return m.cause
	case ready:
		m.returns(nil)
		return nil
	case undecided:
		return illegal(m.op, errUndecided)
	}
	over := m.state == ended
	m.closed = true
	m.state = aborting
	m.do(Step{Act: Discard}, func(a Answer) { m.discarded(a, over) })
	return nil
}

// Close ends in peace what is open: a Commit that has no answer is asked for, and all else aborted.
func (m *Machine) Close() error {
	switch m.state {
	case fatal:
		m.returns(nil)
		return nil
	case undecided:
		return m.Commit()
	}
	return m.Abort()
}

// discarded goes on where records have come to rest. After a failure the library is not asked: it might ask for a new epoch without a look, and
// Kafka tells one that has been fenced, and has nothing open, its successor's epoch when it aborts (EndTxn v5). Raising the epoch aborts, too.
func (m *Machine) discarded(a Answer, over bool) {
	switch {
	case a.Err != nil:
		m.waits(a.Err)
	case over, m.stale, m.broken:
		m.heal(m.aborted)
	case m.failure != nil:
		m.broken, m.stale = fenced(m.failure), true
		m.heal(m.aborted)
	case m.byHand:
		m.untilAnswered(Step{Act: EndByHand, Version: explicit}, m.abortedByHand)
	default:
		m.abort()
	}
}

// abortedByHand ends what was opened for offsets alone. That there is none is as good.
func (m *Machine) abortedByHand(a Answer) {
	switch {
	case a.Err == nil, codeOf(a.Err) == kerr.InvalidTxnState:
		m.byHand = false
		m.abort()
	case a.Over:
		m.waits(a.Err)
	default:
		m.broken = true
		m.abort()
	}
}

// abort has the client library abort. If it does not hear of the end, or if it was refused, another client goes on: it would find out by an
// InitProducerId of its own whether it may, which could fence a successor.
func (m *Machine) abort() {
	m.do(Step{Act: End}, func(a Answer) {
		switch {
		case a.Err == nil && !m.broken:
			m.untilAnswered(Step{Act: Load}, m.settled)
			return
		case a.Err == nil:
		case passes(a.Err):
			m.stale = true
		default:
			m.broken = true
		}
		if a.Over {
			m.waits(a.Err)
			return
		}
		m.heal(m.aborted)
	})
}

// settled makes sure that the client library can go on.
func (m *Machine) settled(a Answer) {
	switch {
	case a.Err == nil:
		m.aborted()
	case a.Over:
		m.waits(a.Err)
	default:
		m.broken = true
		m.heal(m.aborted)
	}
}

func (m *Machine) aborted() {
	m.state = ready
	m.returns(nil)
}

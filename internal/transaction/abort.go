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

func (m *Machine) discarded(a Answer, over bool) {
	switch {
	case a.Err != nil:
		m.waits(a.Err)
	case over:
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

func (m *Machine) abort() {
	m.untilAnswered(Step{Act: End}, func(a Answer) {
		switch {
		case a.Over:
			m.stale = true
			m.waits(a.Err)
		case a.Err != nil:
			m.broken = true
			m.heal(m.aborted)
		case m.broken:
			m.heal(m.aborted)
		default:
			m.stale = false
			m.untilAnswered(Step{Act: Load}, m.settled)
		}
	})
}

// settled makes sure that the client library can go on. If it has to ask for a new epoch it does so now, which ends what is open.
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

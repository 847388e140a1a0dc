package transaction

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Commit commits. After a Commit that has ended without knowing what became of the transaction it asks again (R-F1).
func (m *Machine) Commit() error {
	m.begins("committing the transaction")
	switch m.state {
	case fatal:
		return m.cause
	case ready:
		return illegal(m.op, errNotOpen)
	case aborting:
		return illegal(m.op, errAborting)
	case undecided:
		m.askAgain()
		return nil
	}
	if m.failure != nil {
		return &Error{m.op, AbortAndContinue, m.failure}
	}
	m.closed = true
	m.do(Step{Act: Drain}, m.drained)
	return nil
}

func (m *Machine) drained(a Answer) {
	switch {
	case m.failure != nil:
		m.fails(m.failure)
	case a.Err != nil:
		m.reopens()
		m.waits(a.Err)
	case m.sent == 0 && len(m.groups) == 0:
		m.do(Step{Act: End, Commit: true}, m.endedByLibrary)
	default:
		m.do(Step{Act: Load}, m.identified)
	}
}

// identified makes sure that the epoch is still the one in which everything was written: the client library may have raised it, which
// aborts what was written before, and have gone on (FR-H9).
func (m *Machine) identified(a Answer) {
	switch {
	case a.Err == nil && (a.ID != m.id || a.Epoch != m.epoch):
		was := m.epoch
		m.id, m.epoch = a.ID, a.Epoch
		m.fails(fmt.Errorf("%w (from %d to %d)", errEpochRaised, was, m.epoch))
	case a.Err == nil:
		m.sendOffsets(0)
	case a.Over, passes(a.Err):
		m.reopens()
		m.waits(a.Err)
	default:
		m.fails(a.Err)
	}
}

// end sends EndTxn: by the client library, which numbers the next transaction from its answer, or by hand where the library knows of
// nothing to end.
func (m *Machine) end() {
	m.state = undecided
	if m.sent > 0 {
		m.do(Step{Act: End, Commit: true}, m.endedByLibrary)
		return
	}
	m.askAgain()
}

func (m *Machine) endedByLibrary(a Answer) {
	switch {
	case a.Err == nil:
		m.committed()
	case codeOf(a.Err) == kerr.OperationNotAttempted, codeOf(a.Err) == kerr.TransactionAbortable:
		m.state = open
		m.fails(a.Err)
	case passes(a.Err) || a.Over:
		m.stale, m.lostEnd = true, true
		m.unanswered(a)
	default:
		m.state = open
		m.broken = true
		m.refused(a.Err)
	}
}

func (m *Machine) unanswered(a Answer) {
	if a.Over {
		m.waits(a.Err)
		return
	}
	m.askAgain()
}

// askAgain sends the same EndTxn once more, until it is answered. The broker knows a repetition by its epoch (R-K24, R-K28). In which version the
// client library has sent it is not known for sure, while a cluster is upgraded: so it is asked for in the other one, too, where the answer could
// mean that. One without KIP-890 is not sent first to a cluster that has it: it would leave the epoch as it is, and what is late free to open
// the transaction anew.
func (m *Machine) askAgain() {
	first, second := int16(explicit), int16(implicit)
	other := fenced
	if m.implicit && !m.byHand {
		first, second = second, first
		other = func(err error) bool { return codeOf(err) == kerr.InvalidTxnState }
	}
	m.untilAnswered(Step{Act: EndByHand, Commit: true, Version: first}, func(a Answer) {
		if a.Err != nil && other(a.Err) && !m.byHand {
			m.untilAnswered(Step{Act: EndByHand, Commit: true, Version: second}, m.decided)
			return
		}
		m.decided(a)
	})
}

func (m *Machine) decided(a Answer) {
	switch code := codeOf(a.Err); {
	case a.Err == nil && m.byHand:
		m.do(Step{Act: End, Commit: true}, func(Answer) { m.committed() }) // the library has nothing to send
	case a.Err == nil:
		m.committed()
	case a.Over && passes(a.Err):
		m.waits(a.Err)
	case code == kerr.InvalidTxnState, code == kerr.TransactionAbortable:
		m.state = open
		m.fails(fmt.Errorf("the broker has no such transaction open: it was aborted (%w)", a.Err))
	case fenced(a.Err) && !m.lostEnd:
		m.prove(a.Err, ErrFenced)
	case m.implicit && !m.byHand && (fenced(a.Err) || code == kerr.UnsupportedVersion):
		m.prove(a.Err, ErrOutcomeUnknown)
	case !m.lostEnd:
		m.dies(m.op, a.Err)
	default:
		m.dies(m.op, fmt.Errorf("%w (%w)", ErrOutcomeUnknown, a.Err))
	}
}

// refused sorts a refusal of something that belongs to the transaction, before its end or with it: it is not committed.
func (m *Machine) refused(err error) {
	switch {
	case codeOf(err) == kerr.TransactionAbortable:
		m.fails(err)
	case doubtful(err):
		m.prove(err, ErrFenced)
	default:
		m.dies(m.op, err)
	}
}

// prove finds out whether the producer was refused since the broker has given its transaction up (KIP-588), or since there is a successor;
// then it dies of what. With KIP-890 a commit that was carried out is told to who asks again in the same epoch, so that where there is no
// successor it was not. Without, a request that comes late may have opened the transaction anew after its end, and it is that which was
// given up: decided does not ask then.
func (m *Machine) prove(refusal, what error) {
	m.fence(false, func(a Answer) {
		switch {
		case a.Err == nil:
			m.state, m.broken = ended, true
			m.fails(fmt.Errorf("the broker has aborted it, most likely since it was open for longer than TransactionTimeout (%w)", refusal))
		case a.Over && what == ErrOutcomeUnknown:
			m.waits(a.Err)
		case a.Over:
			m.state, m.broken = open, true
			m.fails(refusal)
		case fenced(a.Err) && what == ErrFenced:
			m.dies(m.op, m.superseded(refusal))
		case fenced(a.Err):
			m.dies(m.op, fmt.Errorf("%w (%w)", what, refusal))
		default:
			m.dies(m.op, fmt.Errorf("%w (%w; asked for another epoch: %w)", what, refusal, a.Err))
		}
	})
}

func (m *Machine) committed() {
	m.state, m.done = ready, true
	m.returns(nil)
}

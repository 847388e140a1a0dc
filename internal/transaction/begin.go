package transaction

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Begin begins a transaction. What the one before has left undone is done first.
func (m *Machine) Begin() error {
	m.begins("beginning a transaction")
	switch m.state {
	case fatal:
		return m.cause
	case open, ended:
		return illegal(m.op, errOpen)
	case undecided:
		return illegal(m.op, errUndecided)
	case aborting:
		return illegal(m.op, errAborting)
	}
	m.heal(m.load)
	return nil
}

// heal sees to it that the client library can go on.
func (m *Machine) heal(then func()) {
	switch {
	case m.broken:
		m.raise(then)
	case m.stale:
		m.do(Step{Act: End}, func(a Answer) { m.reloaded(a, then) })
	default:
		then()
	}
}

// raise has the epoch raised by hand.
func (m *Machine) raise(then func()) {
	m.untilAnswered(Step{Act: Fence}, func(a Answer) { m.raised(a, then) })
}

// raised goes on with a new client, since the old one does not know of the epoch that a Fence was given.
func (m *Machine) raised(a Answer, then func()) {
	switch {
	case a.Err == nil:
		m.broken, m.echo, m.stale, m.byHand = false, false, false, false
		m.do(Step{Act: Renew}, func(a Answer) { m.renewed(a, then) })
	case a.Over:
		m.waits(a.Err)
	case codeOf(a.Err) == kerr.UnsupportedVersion && !m.broken: // before Kafka 2.5 no epoch could be raised
		m.echo = false
		m.heal(then)
	case fenced(a.Err):
		m.dies(m.op, superseded(a.Err))
	default:
		m.dies(m.op, a.Err)
	}
}

func (m *Machine) renewed(a Answer, then func()) {
	if a.Err != nil {
		m.broken = true
		m.waits(a.Err)
		return
	}
	then()
}

// reloaded is the client library's own way to a new epoch, after an EndTxn of which it does not know how it ended.
func (m *Machine) reloaded(a Answer, then func()) {
	switch {
	case a.Err == nil:
		m.stale = false
		then()
	case a.Over, passes(a.Err):
		m.waits(a.Err)
	default:
		m.broken = true
		m.heal(then)
	}
}

func (m *Machine) load() { m.do(Step{Act: Load}, m.loaded) }

func (m *Machine) loaded(a Answer) {
	switch {
	case a.Err == nil && a.ID < 0:
		m.dies(m.op, errNoID)
	case a.Err == nil && m.echo && a.ID == m.id && a.Epoch == m.epoch: // what was sent in it may still arrive
		m.raise(m.load)
	case a.Err == nil:
		m.id, m.epoch, m.implicit, m.echo = a.ID, a.Epoch, a.Implicit, false
		m.do(Step{Act: Open}, m.opened)
	case a.Over, passes(a.Err):
		m.waits(a.Err)
	case m.id >= 0 && doubtful(a.Err) && !m.healed:
		m.broken, m.healed = true, true
		m.heal(m.load)
	case fenced(a.Err):
		m.dies(m.op, superseded(a.Err))
	default:
		m.dies(m.op, initAdvice(a.Err))
	}
}

func (m *Machine) opened(a Answer) {
	if a.Err != nil {
		m.loaded(Answer{Err: a.Err, Over: a.Over})
		return
	}
	m.state, m.sent, m.closed, m.failure, m.groups = open, 0, false, nil, nil
	m.byHand, m.lostEnd = false, false
	m.returns(nil)
}

// initAdvice says what to change, where InitProducerId was refused for good.
func initAdvice(err error) error {
	switch {
	case errors.Is(err, kerr.InvalidTransactionTimeout):
		return fmt.Errorf("TransactionTimeout is more than the broker's transaction.max.timeout.ms allows: %w", err)
	case errors.Is(err, kerr.TransactionalIDAuthorizationFailed):
		return fmt.Errorf("the user may not WRITE this transactional id: %w", err)
	}
	return err
}

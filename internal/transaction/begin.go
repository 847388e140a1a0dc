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

// heal sees to it that the client library can go on: with another client and epoch, if this one cannot, or does not know what has become of its
// last request.
func (m *Machine) heal(then func()) {
	if m.broken || m.stale {
		m.raise(then)
		return
	}
	then()
}

// raise has the epoch raised by hand, and goes on with a new client, since the old one does not know of it.
func (m *Machine) raise(then func()) {
	m.fence(!m.broken, func(a Answer) {
		switch {
		case a.Err == nil:
			m.broken, m.echo, m.stale, m.byHand = false, false, false, false
			m.do(Step{Act: Renew}, func(a Answer) { m.renewed(a, then) })
		case a.Over:
			m.waits(a.Err)
		case codeOf(a.Err) == kerr.UnsupportedVersion && !m.broken:
			m.goOnUnproven(then)
		case fenced(a.Err):
			m.dies(m.op, m.superseded(a.Err))
		default:
			m.dies(m.op, a.Err)
		}
	})
}

// goOnUnproven is how it was before Kafka 2.5: what may be late is not kept away, and a library that does not know how its EndTxn ended asks
// for another epoch without saying which one it had.
func (m *Machine) goOnUnproven(then func()) {
	m.echo = false
	if !m.stale {
		then()
		return
	}
	m.do(Step{Act: End}, func(a Answer) {
		if a.Err != nil {
			m.waits(a.Err)
			return
		}
		m.stale = false
		then()
	})
}

// fence has the broker end what is open in the epoch of the transaction, and give another one, if this is still the producer of its
// transactional id. Kafka looks at the epoch only where nothing is open; where a successor has a transaction open, it would end that, and fence the
// successor. So it is looked first. Who has just been told that all is well, or nothing, may do without, on brokers that cannot be asked (before Kafka 3.0).
func (m *Machine) fence(trusts bool, then func(Answer)) { m.fenceAgain(trusts, 0, then) }

func (m *Machine) fenceAgain(trusts bool, n int, then func(Answer)) {
	m.untilAnswered(Step{Act: Look}, func(a Answer) {
		switch {
		case a.Err == nil && a.Ongoing && (a.ID != m.id || a.Epoch != m.epoch):
			then(Answer{Err: fmt.Errorf("a transaction of another epoch is open: %w", kerr.ProducerFenced)})
		case a.Err == nil, trusts && codeOf(a.Err) == kerr.UnsupportedVersion:
			m.do(Step{Act: Fence}, func(a Answer) { m.hasFenced(a, trusts, n, then) })
		default:
			then(a)
		}
	})
}

// hasFenced looks again before another try: somebody may have come meanwhile.
func (m *Machine) hasFenced(a Answer, trusts bool, n int, then func(Answer)) {
	if a.Err == nil || a.Over || !passes(a.Err) {
		then(a)
		return
	}
	m.last = a.Err
	m.do(Step{Act: Pause, Wait: pause(n)}, func(a Answer) {
		if a.Over {
			then(a)
			return
		}
		m.fenceAgain(trusts, n+1, then)
	})
}

// renewed has the new client ask for its epoch at once: the longer that takes, the more likely it is that somebody has come meanwhile.
func (m *Machine) renewed(a Answer, then func()) {
	if a.Err != nil {
		m.broken = true
		m.waits(a.Err)
		return
	}
	m.untilAnswered(Step{Act: Load}, func(a Answer) {
		switch {
		case a.Err == nil:
			then()
		case a.Over:
			m.waits(a.Err)
		default:
			m.dies(m.op, initAdvice(a.Err))
		}
	})
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
		m.dies(m.op, m.superseded(a.Err))
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
	m.byHand, m.lostEnd, m.done = false, false, false
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

package membership

import "fmt"

// prepare is the start of a rebalance: what is to be given up before the JoinGroup is (R-B3).
func (m *Machine) prepare(reason string) {
	failed := m.round.failed
	m.phase, m.reason, m.again, m.round, m.led = preparing, reason, "", round{failed: failed}, nil
	m.flight.drop()
	m.event(Event{Kind: Rejoining, Reason: reason})
	switch {
	case m.forgotten:
		m.lose()
	case len(m.owned) == 0 && (m.generation < 0 || m.attempted): // nothing to tell: the first join (R-B19), or one more try
		m.join()
	case !m.cooperative:
		m.stop(m.owned)
		m.call(Revoked, m.owned)
	default:
		m.dropUnsubscribed()
	}
}

// lose gives up what is somebody else's already.
func (m *Machine) lose() {
	m.forgotten = false
	if len(m.owned) == 0 {
		m.join()
		return
	}
	m.event(Event{Kind: Expelled, Dropped: len(m.owned)})
	m.stop(m.owned)
	m.call(Lost, m.owned)
}

// dropUnsubscribed gives up what a COOPERATIVE member does not want any more.
func (m *Machine) dropUnsubscribed() {
	unwanted := m.owned.outside(m.topics)
	if len(unwanted) == 0 {
		m.join()
		return
	}
	m.stop(unwanted)
	m.call(Revoked, unwanted)
}

// called takes the end of a callback.
func (m *Machine) called(err error) {
	call := m.flight.call
	if call == nil {
		return
	}
	m.flight.call = nil
	if err != nil && m.round.failed == nil {
		m.round.failed = fmt.Errorf("the callback for %s partitions: %w", call.Callback, err)
	}
	if call.Callback != Assigned {
		m.owned = m.owned.minus(call.Partitions)
	}
	if m.leaves {
		m.leaves = false
		m.depart()
		return
	}
	m.goOn()
}

// goOn does what the callback stood before.
func (m *Machine) goOn() {
	switch {
	case m.phase == failed:
	case m.phase == leaving:
		m.left()
	case m.forgotten && m.away():
		m.rest()
	case m.phase == taking || m.phase == giving && m.forgotten: // then the assignment is worth nothing any more
		m.complete()
	case m.phase == giving:
		m.take()
	case m.phase == preparing && m.forgotten: // the group went on meanwhile: what is left is lost, too
		m.lose()
	case m.phase == preparing:
		m.join()
	}
}

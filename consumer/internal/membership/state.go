package membership

// Expelled says that the group has gone on without the member: what it owns is lost, though the callback that says so may have to wait
// for another to end.
func (m *Machine) Expelled() bool { return m.forgotten }

// Resting says that the member waits for the user to poll again (R-B11).
func (m *Machine) Resting() bool { return m.phase == resting }

// Closed says that nothing follows: Close has been carried out, and no name is on its way any more.
func (m *Machine) Closed() bool { return m.phase == closed && m.waitsUntil().IsZero() }

// Idle says that there is no subscription, and nothing left to do for the last one.
func (m *Machine) Idle() bool { return m.phase == idle || m.phase == closed }

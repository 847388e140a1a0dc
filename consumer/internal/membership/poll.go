package membership

import "time"

// poll is the user's sign of life.
func (m *Machine) poll(at time.Time) {
	if at.IsZero() {
		at = m.now
	}
	m.polled = at
	if m.phase == resting {
		m.prepare("the user polls again")
	}
}

// pollDeadline is when the user has been away too long.
func (m *Machine) pollDeadline() time.Time {
	switch m.phase {
	case idle, resting, leaving, failed, closed:
		return time.Time{}
	}
	if m.generation < 0 {
		return time.Time{}
	}
	return m.polled.Add(m.cfg.PollInterval)
}

// pollInTime leaves for a user who does not come, so that others get the partitions; a static member is silent, and its session
// ends (R-B11). What it owned is told as lost when the user comes back.
func (m *Machine) pollInTime() {
	if at := m.pollDeadline(); at.IsZero() || m.now.Before(at) {
		return
	}
	m.goAway("the user has not polled for " + m.cfg.PollInterval.String())
	m.stop(m.owned)
	if m.flight.call == nil {
		m.rest()
	}
}

// away says that the user has not come for too long.
func (m *Machine) away() bool { return !m.now.Before(m.polled.Add(m.cfg.PollInterval)) }

// rest leaves the group alone until the user polls.
func (m *Machine) rest() {
	m.phase, m.attempted = resting, false
	m.flight.drop()
}

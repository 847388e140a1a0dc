package membership

import (
	"github.com/skeinstream/skein/assign"
	"github.com/skeinstream/skein/internal/roster"
)

// publish puts what the member publishes, and what it knows of others, behind what an assignor has written.
func (m *Machine) publish(a assign.Assignor, userData []byte) []byte {
	if len(m.cfg.Publish) == 0 || !roster.Carries(a.Name()) {
		return userData
	}
	return roster.Notice{Own: m.cfg.Publish, Known: m.known}.Append(userData)
}

// calls the roster: the leader says who is there, and who was and is not. Under an assignor that carries nothing it cannot know.
func (m *Machine) calls() {
	if !roster.Carries(m.assignor.Name()) {
		return
	}
	if r := roster.Of(m.generation, m.round.notices); len(r.Present)+len(r.Missing) > 0 {
		m.out.Roster = &r
	}
}

// tell says what the leader lets each member know, by its place.
func (m *Machine) tell() []*roster.Notice {
	if !roster.Carries(m.assignor.Name()) {
		return make([]*roster.Notice, len(m.round.members))
	}
	return roster.Deal(m.round.notices)
}

// hear takes what a leader tells out of the user data, and leaves the assignor's. A leader that tells nothing, such as another client's, changes
// nothing of what is known: it is older then, and those who have gone meanwhile are missed twice, not never.
func (m *Machine) hear(userData []byte) []byte {
	userData, n, told := roster.Split(userData)
	if told {
		m.known = n.Known
	}
	if len(userData) == 0 {
		return nil
	}
	return userData
}

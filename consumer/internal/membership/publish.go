package membership

import (
	"github.com/skeinstream/skein/assign"
	"github.com/skeinstream/skein/internal/roster"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// publish puts what the member publishes, and what it knows of others, behind what an assignor has written.
func (m *Machine) publish(a assign.Assignor, userData []byte) []byte {
	if len(m.cfg.Publish) == 0 || !roster.Carries(a.Name()) {
		return userData
	}
	return roster.Notice{Own: m.cfg.Publish, Known: m.known, Missed: m.gone}.Append(userData)
}

// looks says that the member first has to see who is in the group, once, before it joins. A member that publishes may come in the place of one that has died,
// of which the others know; but if that was the only one, or all have died, nobody does but the broker, which keeps the dead until their
// sessions end. A Stable group shows what its members publish. Whatever comes of it, the member joins.
func (m *Machine) looks() bool {
	if len(m.cfg.Publish) == 0 || m.looked {
		return false
	}
	m.phase, m.looked = looking, true
	m.ask()
	return true
}

// sees takes who is there.
func (m *Machine) sees(resp *kmsg.DescribeGroupsResponse) {
	for _, g := range resp.Groups {
		for _, member := range g.Members {
			s, err := assign.DecodeSubscription(member.ProtocolMetadata)
			if _, n, found := roster.Split(s.UserData); err == nil && found && len(n.Own) > 0 {
				m.known = append(m.known, n.Own)
			}
		}
	}
	m.join()
}

// calls the roster: the leader says who is there, and who was and is not. Under an assignor that carries nothing it cannot know.
func (m *Machine) calls() {
	if !roster.Carries(m.assignor.Name()) {
		return
	}
	if r := roster.Of(m.generation, m.round.notices); len(r.Present)+len(r.Missing) > 0 {
		for _, member := range m.round.members {
			if member.InstanceID != "" {
				r.Instances = append(r.Instances, member.InstanceID)
			}
		}
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
		m.known, m.gone = n.Known, n.Missed
	}
	if len(userData) == 0 {
		return nil
	}
	return userData
}

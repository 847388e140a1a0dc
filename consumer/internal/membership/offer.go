package membership

import (
	"github.com/skeinstream/skein/assign"
	"github.com/skeinstream/skein/internal/grouptags"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// offers splits the assignors into what the member offers and what it holds back: while it owns anything, all that do
// not support COOPERATIVE (R-C12).
func (m *Machine) offers() (offered, withheld []assign.Assignor) {
	for _, a := range append(m.cfg.Assignors[:len(m.cfg.Assignors):len(m.cfg.Assignors)], m.adopted...) {
		if !m.cfg.Static && len(m.owned) > 0 && !supports(a, assign.Cooperative) {
			withheld = append(withheld, a)
		} else {
			offered = append(offered, a)
		}
	}
	return offered, withheld
}

// subscription is what one assignor's entry in the JoinGroup says. What is owned is claimed; an EAGER member owns nothing here.
func (m *Machine) subscription(a assign.Assignor) []byte {
	s := assign.Subscription{Topics: m.topics, Owned: m.owned.lists(), Generation: m.generation, Rack: m.cfg.Rack}
	if r, ok := a.(assign.Remembering); ok {
		s.UserData = r.SubscriptionUserData(m.topics, m.history)
	}
	s.UserData = m.publish(a, s.UserData)
	return s.Append(nil, assign.HighestVersion)
}

// sendJoin asks to be in the next generation.
func (m *Machine) sendJoin() {
	offered, withheld := m.offers()
	m.round.narrowed = len(withheld) > 0
	req := kmsg.NewPtrJoinGroupRequest()
	req.Group, req.MemberID, req.ProtocolType = m.cfg.Group, m.member, protocolType
	req.SessionTimeoutMillis = millis(m.cfg.SessionTimeout)
	req.RebalanceTimeoutMillis = millis(m.cfg.PollInterval)
	req.InstanceID = nullable(m.cfg.InstanceID)
	req.Reason = nullable(cut(m.reason))
	for _, a := range offered {
		p := kmsg.NewJoinGroupRequestProtocol()
		p.Name, p.Metadata = a.Name(), m.subscription(a)
		req.Protocols = append(req.Protocols, p)
	}
	if !m.cfg.Static { // also if there is nothing to hold back: that it would is told to who looks at the group
		req.UnknownTags.Set(grouptags.JoinWithheld, grouptags.AppendProtocols(nil, m.protocols(withheld)))
	}
	m.send(req)
}

func (m *Machine) protocols(list []assign.Assignor) (out []grouptags.Protocol) {
	for _, a := range list {
		out = append(out, grouptags.Protocol{Name: a.Name(), Metadata: m.subscription(a)})
	}
	return out
}

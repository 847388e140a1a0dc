package groupsim

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/skeinstream/skein/assign"
	"github.com/skeinstream/skein/consumer/internal/membership"
	"github.com/skeinstream/skein/internal/grouptags"
)

// modern is a group of the new protocol (KIP-848) as Kafka's coordinator keeps it (R-H2, R-H3). The coordinator plans, and has no rounds: each
// member comes to the plan by itself, giving up first what is not its any more; what another still holds it gets when
// that one has given it up. Members of the classic protocol live in it by their own requests (R-H8).
type modern struct {
	Epoch   int32 // of the group: it counts what has changed
	Planned int32 // the epoch that the plan is for
	Seen    string
	Members []*modernMember // in the order in which they came
}

type modernMember struct {
	ID, Instance, Client string
	Offers               []grouptags.Protocol // of a classic member; nil: the member speaks the new protocol
	Version              int16                // of a classic member's subscription
	Topics               []string
	Session, Rebalance   time.Duration

	Epoch, Before int32                       // that it has come to, and the one before
	Target        []membership.TopicPartition // by the plan
	Assigned      []membership.TopicPartition
	Revoking      []membership.TopicPartition // it is to give them up
	Waits         bool                        // for what others hold
}

func (m *modernMember) classic() bool { return len(m.Offers) > 0 }

// encode is the group as one record; what Kafka writes are several.
func (g *modern) encode() []byte {
	b, err := json.Marshal(g)
	if err != nil {
		panic("groupsim: " + err.Error())
	}
	return b
}

func decodeModern(b []byte) *modern {
	g := &modern{}
	if err := json.Unmarshal(b, g); err != nil {
		panic("groupsim: " + err.Error())
	}
	return g
}

func (g *modern) member(id string) *modernMember {
	return g.find(func(m *modernMember) bool { return m.ID == id })
}

func (g *modern) static(instance string) *modernMember {
	return g.find(func(m *modernMember) bool { return m.Instance != "" && m.Instance == instance })
}

func (g *modern) find(is func(*modernMember) bool) *modernMember {
	if i := slices.IndexFunc(g.Members, is); i >= 0 {
		return g.Members[i]
	}
	return nil
}

// holder is who has a partition, or is giving it up.
func (g *modern) holder(tp membership.TopicPartition) *modernMember {
	return g.find(func(m *modernMember) bool { return slices.Contains(m.Assigned, tp) || slices.Contains(m.Revoking, tp) })
}

// allClassic says that nobody is left who needs the new protocol.
func (g *modern) allClassic() bool {
	return g.find(func(m *modernMember) bool { return !m.classic() }) == nil
}

// supports says whether one of the names is known to all classic members, the asking one as it was before (R-H8).
func (g *modern) supports(offers []grouptags.Protocol) bool {
	return slices.ContainsFunc(offers, func(o grouptags.Protocol) bool {
		return g.find(func(m *modernMember) bool { return m.classic() && !offersName(m.Offers, o.Name) }) == nil
	})
}

func offersName(list []grouptags.Protocol, name string) bool {
	return slices.ContainsFunc(list, func(p grouptags.Protocol) bool { return p.Name == name })
}

// remove takes a member out.
func (g *modern) remove(id string) {
	g.Members = slices.DeleteFunc(g.Members, func(m *modernMember) bool { return m.ID == id })
}

// looks begins an epoch if the topics of the group are not what they were.
func (g *modern) looks(topics []assign.Topic, changed bool) {
	seen := ""
	for _, t := range topics {
		if g.find(func(m *modernMember) bool { return slices.Contains(m.Topics, t.Name) }) != nil {
			seen += fmt.Sprintf("%s %d ", t.Name, t.Partitions)
		}
	}
	if changed || seen != g.Seen {
		g.Epoch++
		g.Seen = seen
	}
	if g.Epoch > g.Planned {
		g.plan(topics)
	}
}

// plan is Kafka's assignor `uniform`: fair, and with as few moves from the plan before as can be.
func (g *modern) plan(topics []assign.Topic) {
	in := assign.Input{Topics: topics}
	for _, m := range g.Members {
		in.Members = append(in.Members, assign.Member{ID: m.ID, InstanceID: m.Instance, Subscription: assign.Subscription{
			Topics: m.Topics, Owned: listsOf(m.Target), Generation: g.Planned,
		}})
	}
	plan, err := assign.CooperativeSticky{}.Target(in)
	if err != nil {
		panic("groupsim: " + err.Error())
	}
	for i, m := range g.Members {
		m.Target = flat(plan.List(i))
	}
	g.Planned = g.Epoch
}

// reconcile takes a member as far towards the plan as it can come: said is whether it tells what it owns. Who has given up what it had to is
// an epoch further, though there may be more for it to give up by now.
func (g *modern) reconcile(m *modernMember, owned []membership.TopicPartition, said bool) {
	holds := func(list []membership.TopicPartition) bool { return !said || len(minus(owned, list)) < len(owned) }
	epoch := m.Epoch
	switch {
	case len(m.Revoking) > 0:
		if holds(m.Revoking) {
			return
		}
		epoch = min(epoch+1, g.Planned)
	case !m.Waits && m.Epoch == g.Planned:
		return
	}
	revoking := minus(m.Assigned, m.Target)
	kept := minus(m.Assigned, revoking)
	if len(revoking) > 0 && holds(revoking) {
		m.Assigned, m.Revoking, m.Waits = kept, revoking, false
		m.comes(epoch)
		return
	}
	wanted := minus(m.Target, kept)
	free := slices.DeleteFunc(slices.Clone(wanted), func(tp membership.TopicPartition) bool { return g.holder(tp) != nil })
	m.Assigned, m.Revoking, m.Waits = append(kept, free...), nil, len(free) < len(wanted)
	m.comes(g.Planned)
}

// comes to an epoch. The one before is that of the last step, also if that led nowhere.
func (m *modernMember) comes(epoch int32) { m.Before, m.Epoch = m.Epoch, epoch }

// behind says that a classic member has to join again.
func (g *modern) behind(m *modernMember) bool {
	if m.Epoch < g.Epoch || len(m.Revoking) > 0 {
		return true
	}
	held := func(tp membership.TopicPartition) bool {
		return !slices.Contains(m.Assigned, tp) && g.holder(tp) != nil
	}
	return m.Waits && !slices.ContainsFunc(m.Target, held)
}

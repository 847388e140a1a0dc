package membership

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/skeinstream/skein/assign"
	"github.com/skeinstream/skein/internal/roster"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ledger is what the leader planned with. It watches whether that changes (R-B9).
type ledger struct {
	topics   []string
	seen     []assign.Topic
	followUp time.Time // when to ask for the next round oneself, if none has begun by then; zero: no need
	unknown  bool      // the plan in force is another's: it is to be looked at
}

// lead asks for what the leader needs to plan with; others ask for their assignment at once.
func (m *Machine) lead(members []kmsg.JoinGroupResponseMember) {
	if !m.round.leader {
		m.sync(nil)
		return
	}
	m.round.members, m.round.notices = decode(members)
	m.calls()
	m.led = &ledger{topics: topicsOf(m.round.members)}
	m.phase = leading
	if m.out.Want = m.led.topics; len(m.out.Want) == 0 { // patterns that nothing matches yet
		m.plan()
	}
}

// decode reads the subscriptions, and what stands behind the assignor's user data in them. One that cannot be read leaves its member without
// partitions, and the group alive.
func decode(members []kmsg.JoinGroupResponseMember) (list []assign.Member, notices []roster.Notice) {
	var d assign.SubscriptionDecoder
	for _, member := range members {
		s, err := d.Decode(member.ProtocolMetadata)
		if err != nil {
			s = assign.Subscription{Generation: assign.NoGeneration}
		}
		var n roster.Notice
		s.UserData, n, _ = roster.Split(s.UserData)
		notices = append(notices, n)
		list = append(list, assign.Member{ID: member.MemberID, InstanceID: text(member.InstanceID), Subscription: s})
	}
	return list, notices
}

func topicsOf(members []assign.Member) (topics []string) {
	for _, member := range members {
		topics = append(topics, member.Topics...)
	}
	slices.Sort(topics)
	return slices.Compact(topics)
}

// metadata takes what the cluster has.
func (m *Machine) metadata(topics []assign.Topic) {
	m.cluster = topics
	if m.phase == leading {
		m.plan()
		return
	}
	m.watch()
	m.auditTopics()
}

// watch has a leader begin a rebalance when its plan does not suit the cluster any more. Metadata that come in the middle of one
// are looked at when it is over.
func (m *Machine) watch() {
	if m.phase != steady || m.led == nil {
		return
	}
	if changed := m.led.changed(m.cluster, m.cfg.Rack != ""); changed != "" {
		m.rejoin(changed)
	}
}

// of are the topics of the group, as the cluster has them.
func (l *ledger) of(cluster []assign.Topic) (topics []assign.Topic) {
	for _, t := range cluster {
		if _, found := slices.BinarySearch(l.topics, t.Name); found {
			topics = append(topics, t)
		}
	}
	slices.SortFunc(topics, func(a, b assign.Topic) int {
		return cmp.Compare(a.Name, b.Name)
	})
	return topics
}

// changed says what is not as it was planned with; "" when all is.
func (l *ledger) changed(cluster []assign.Topic, racks bool) string {
	now := l.of(cluster)
	for i, t := range now {
		if i >= len(l.seen) || l.seen[i].Name != t.Name || l.seen[i].Partitions != t.Partitions {
			return fmt.Sprintf("the partitions of %s have changed", t.Name)
		}
		if racks && !slices.EqualFunc(l.seen[i].Racks, t.Racks, slices.Equal[[]string]) {
			return fmt.Sprintf("the racks of %s have changed", t.Name)
		}
	}
	if len(now) < len(l.seen) {
		return "a topic of the group is gone"
	}
	return ""
}

// plan deals the partitions out, and sends it.
func (m *Machine) plan() {
	m.led.seen = m.led.of(m.cluster)
	if m.round.skips { // the plan in force stays, whatever it is
		m.led.unknown = true
		m.sync(nil)
		return
	}
	in := assign.Input{Members: m.round.members, Topics: m.led.seen}
	plan, err := assign.Lead(m.assignor, m.planned(), in)
	if err != nil {
		m.fail(fmt.Errorf("planning for group %q: %w", m.cfg.Group, err))
		return
	}
	if !supports(m.assignor, assign.Cooperative) {
		var kept int
		if plan, kept = withhold(in, plan); kept > 0 {
			m.event(Event{Kind: Withheld, Assignor: m.assignor.Name(), Dropped: kept})
			m.again = "partitions that members claim were held back"
		}
	}
	if held := heldBack(in, plan); held > 0 {
		m.led.followUp = m.now.Add(m.cfg.SessionTimeout)
	}
	m.sync(m.assignments(plan))
}

// planned is the protocol that the plan has to suit.
func (m *Machine) planned() assign.Protocol {
	if m.cfg.Static && !m.cooperative || !supports(m.assignor, assign.Cooperative) {
		return assign.Eager
	}
	return assign.Cooperative
}

func (m *Machine) assignments(plan assign.Plan) (out []kmsg.SyncGroupRequestGroupAssignment) {
	told := m.tell()
	for i, b := range plan.Encode() {
		if told[i] != nil {
			b = assign.Assignment{Partitions: plan.List(i), UserData: told[i].Append(plan.UserData(i))}.Append(nil, assign.HighestVersion)
		}
		a := kmsg.NewSyncGroupRequestGroupAssignment()
		a.MemberID, a.MemberAssignment = m.round.members[i].ID, b
		out = append(out, a)
	}
	return out
}

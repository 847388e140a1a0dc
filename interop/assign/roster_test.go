package assign

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/assign"
	"github.com/skeinstream/skein/internal/roster"
)

// What members publish stands behind the user data of their assignors (docs/format/roster.md). Leaders of other clients plan as if it were not
// there, and their members make nothing of it either.

// notice is one as long as they get.
func notice(r *rand.Rand) roster.Notice {
	blob := func() []byte {
		b := make([]byte, 1+r.IntN(roster.Longest))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	}
	n := roster.Notice{Own: blob()}
	for range r.IntN(roster.Holders + 1) {
		n.Known = append(n.Known, blob())
	}
	return n
}

// owning gives the members of a group something that they had, as far as an assignor has them say so.
func owning(t *testing.T, r *rand.Rand, in assign.Input, a assign.Assignor) assign.Input {
	t.Helper()
	plan, err := assign.Sticky{}.Assign(in)
	if err != nil {
		t.Fatal(err)
	}
	in.Members = slices.Clone(in.Members)
	for i := range in.Members {
		m := &in.Members[i]
		h := assign.History{Generation: assign.NoGeneration}
		if r.IntN(5) > 0 {
			h = assign.History{Owned: plan.List(i), Generation: int32(r.IntN(3))}
			m.Owned, m.Generation = h.Owned, h.Generation
		}
		if rem, ok := a.(assign.Remembering); ok {
			m.UserData = rem.SubscriptionUserData(m.Topics, h)
		}
	}
	return in
}

// published is the group with a notice behind the user data of most members.
func published(r *rand.Rand, in assign.Input) assign.Input {
	in.Members = slices.Clone(in.Members)
	for i := range in.Members {
		if r.IntN(5) > 0 {
			in.Members[i].UserData = notice(r).Append(in.Members[i].UserData)
		}
	}
	return in
}

// TestJavaPassesOverNotices: leaders with Kafka's own classes, in every version of the subscription, "sticky" included, where none are sent; and
// what its sticky members say next, having been told one.
func TestJavaPassesOverNotices(t *testing.T) {
	r := seeded(t)
	var s script
	for i := range groups / 6 {
		for _, name := range allAssignors {
			in, version := owning(t, r, randomGroup(r), ours(name)), int16(r.IntN(4))
			var without string
			s.group(in, version)
			s.ask(func(answer string) { without = answer }, "assign %s", name)
			s.say("end")
			s.group(published(r, in), version)
			s.ask(func(with string) {
				if with != without || strings.HasPrefix(with, "error") {
					t.Errorf("group %d, %s, version %d:\nwithout %s\nwith    %s", i, name, version, without, with)
				}
			}, "assign %s", name)
			s.say("end")
		}
		s.told(t, r)
	}
	if err := s.run(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func (s *script) group(in assign.Input, version int16) {
	members := in.Members
	in.Members = nil
	s.describe(in)
	for _, m := range members {
		s.say("member %x %s %x", m.ID, orDash(fmt.Sprintf("%x", m.InstanceID)), m.Append(nil, version))
	}
}

// told asks a sticky member for its user data after an assignment, with a notice and without.
func (s *script) told(t *testing.T, r *rand.Rand) {
	a := assign.Assignment{Partitions: randomOwned(r)}
	var without string
	s.ask(func(answer string) { without = answer }, "sticky 7 %x", a.Append(nil, 1))
	a.UserData = notice(r).Append(nil)
	s.ask(func(with string) {
		if with != without {
			t.Errorf("told %x: %s instead of %s", a.UserData, with, without)
		}
	}, "sticky 7 %x", a.Append(nil, 1))
}

// TestFranzGoPassesOverNotices: the same of franz-go's leaders, and of its members, who find their partitions. Its sticky ones deal what is free in the
// order of a map, so that what is compared for them is a group in which there is one way to do it.
func TestFranzGoPassesOverNotices(t *testing.T) {
	r := seeded(t)
	balancers := []kgo.GroupBalancer{kgo.CooperativeStickyBalancer(), kgo.StickyBalancer(), kgo.RangeBalancer(), kgo.RoundRobinBalancer()}
	for i := range groups {
		b := balancers[i%len(balancers)]
		in := settledGroup(t, r, ours(b.ProtocolName()))
		if i%len(balancers) > 1 {
			in = randomGroup(r)
		}
		without, with := franzPlan(t, b, in), franzPlan(t, b, published(r, in))
		if !reflect.DeepEqual(without, with) {
			t.Errorf("group %d, %s:\n%+v\nwithout %v\nwith    %v", i, b.ProtocolName(), in, without, with)
		}
		a := assign.Assignment{Partitions: randomOwned(r), UserData: notice(r).Append(nil)}
		got, err := b.ParseSyncAssignment(a.Append(nil, assign.HighestVersion))
		if err != nil || len(got) != len(a.Partitions) {
			t.Errorf("%v: %v, %v", a.Partitions, got, err)
		}
	}
}

func franzPlan(t *testing.T, b kgo.GroupBalancer, in assign.Input) []kmsg.SyncGroupRequestGroupAssignment {
	t.Helper()
	var members []kmsg.JoinGroupResponseMember
	for _, m := range in.Members {
		member := kmsg.NewJoinGroupResponseMember()
		member.MemberID, member.ProtocolMetadata = m.ID, m.Append(nil, assign.HighestVersion)
		if m.InstanceID != "" {
			member.InstanceID = &m.InstanceID
		}
		members = append(members, member)
	}
	balancer, _, err := b.MemberBalancer(members)
	if err != nil {
		t.Fatal(err)
	}
	topics := map[string]int32{}
	for _, topic := range in.Topics {
		topics[topic.Name] = topic.Partitions
	}
	plan, err := balancer.(kgo.GroupMemberBalancerOrError).BalanceOrError(topics)
	if err != nil {
		t.Fatal(err)
	}
	return plan.IntoSyncAssignment()
}

// TestSaramaPassesOverNotices: the same of Sarama's leaders under the assignors that carry notices. It plans in the order of a map, so that
// what is compared is a group that has its plan already.
func TestSaramaPassesOverNotices(t *testing.T) {
	r := seeded(t)
	for _, c := range []struct {
		strategy sarama.BalanceStrategy
		assignor assign.Assignor
	}{
		{sarama.NewBalanceStrategyCooperativeSticky(), assign.CooperativeSticky{}},
		{sarama.NewBalanceStrategyRange(), assign.Range{}},
		{sarama.NewBalanceStrategyRoundRobin(), assign.RoundRobin{}},
	} {
		if c.strategy.Name() != c.assignor.Name() {
			t.Fatalf("%s is not %s", c.strategy.Name(), c.assignor.Name())
		}
		for range 200 {
			in := settledGroup(t, r, c.assignor)
			without, err := saramaPlan(c.strategy, in)
			if err != nil {
				t.Fatal(err)
			}
			with, err := saramaPlan(c.strategy, published(r, in))
			if err != nil || !reflect.DeepEqual(without, with) {
				t.Errorf("%s: %v\nwithout %v\nwith    %v", c.strategy.Name(), err, without, with)
			}
		}
	}
}

// TestSaramaStickyTakesNoNotices is why "sticky" carries none. When it passes them over, too, all of its older releases still do not.
func TestSaramaStickyTakesNoNotices(t *testing.T) {
	r := seeded(t)
	in := settledGroup(t, r, assign.Sticky{})
	if _, err := saramaPlan(sarama.NewBalanceStrategySticky(), in); err != nil {
		t.Fatal(err)
	}
	in.Members[0].UserData = notice(r).Append(in.Members[0].UserData)
	if _, err := saramaPlan(sarama.NewBalanceStrategySticky(), in); err == nil || roster.Carries("sticky") {
		t.Errorf("a notice behind the user data: %v; notices are sent: %t", err, roster.Carries("sticky"))
	}
}

// settledGroup has members who all want the same, and own what the assignor would give them, an equal number each; half of the time one of them has come
// anew, and owns nothing.
func settledGroup(t *testing.T, r *rand.Rand, a assign.Assignor) assign.Input {
	t.Helper()
	members, lost := 2+r.IntN(4), r.IntN(12)
	in := assign.Input{Topics: []assign.Topic{{Name: "t", Partitions: int32(members * (1 + r.IntN(4)))}}}
	for i := range members {
		in.Members = append(in.Members, assign.Member{ID: fmt.Sprintf("m%d", i), Subscription: assign.Subscription{Topics: []string{"t"}, Generation: assign.NoGeneration}})
	}
	plan, err := a.Assign(in)
	if err != nil {
		t.Fatal(err)
	}
	for i := range in.Members {
		m, h := &in.Members[i], assign.History{Generation: assign.NoGeneration}
		if i != lost {
			h = assign.History{Owned: plan.List(i), Generation: 3}
			m.Owned, m.Generation = h.Owned, h.Generation
		}
		if rem, ok := a.(assign.Remembering); ok {
			m.UserData = rem.SubscriptionUserData(m.Topics, h)
		}
	}
	return in
}

func saramaPlan(s sarama.BalanceStrategy, in assign.Input) (sarama.BalanceStrategyPlan, error) {
	resp := &sarama.JoinGroupResponse{}
	for _, m := range in.Members {
		resp.Members = append(resp.Members, sarama.GroupMember{MemberId: m.ID, Metadata: m.Append(nil, assign.HighestVersion)})
	}
	members, err := resp.GetMembers()
	if err != nil {
		return nil, err
	}
	topics := map[string][]int32{}
	for _, topic := range in.Topics {
		for p := range topic.Partitions {
			topics[topic.Name] = append(topics[topic.Name], p)
		}
	}
	plan, err := s.Plan(members, topics)
	for _, of := range plan {
		for _, list := range of {
			slices.Sort(list)
		}
	}
	return plan, err
}

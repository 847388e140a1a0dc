package saramabalancer_test

import (
	"bytes"
	"errors"
	"reflect"
	"testing"

	"github.com/IBM/sarama"

	"github.com/skeinstream/skein/assign"
	"github.com/skeinstream/skein/assign/saramabalancer"
)

type protocols interface {
	SupportedProtocols() []sarama.RebalanceProtocol
}

// TestStrategiesLookLikeSaramasOwn: names, protocols, and what members send.
func TestStrategiesLookLikeSaramasOwn(t *testing.T) {
	for _, c := range []struct {
		ours  assign.Assignor
		their sarama.BalanceStrategy
	}{
		{assign.CooperativeSticky{}, sarama.NewBalanceStrategyCooperativeSticky()},
		{assign.Sticky{}, sarama.NewBalanceStrategySticky()},
		{assign.Range{}, sarama.NewBalanceStrategyRange()},
		{assign.RoundRobin{}, sarama.NewBalanceStrategyRoundRobin()},
	} {
		s := saramabalancer.New(c.ours)
		if s.Name() != c.their.Name() {
			t.Errorf("%s, Sarama's %s", s.Name(), c.their.Name())
		}
		want := []sarama.RebalanceProtocol{sarama.RebalanceProtocolEager}
		if p, says := c.their.(protocols); says {
			want = p.SupportedProtocols()
		}
		if got := s.(protocols).SupportedProtocols(); !reflect.DeepEqual(got, want) {
			t.Errorf("%s supports %v, Sarama's %v", s.Name(), got, want)
		}
	}
}

// TestCooperativeMembersSendTheirGeneration as Sarama's own.
func TestCooperativeMembersSendTheirGeneration(t *testing.T) {
	ours, theirs := saramabalancer.New(assign.CooperativeSticky{}), sarama.NewBalanceStrategyCooperativeSticky()
	a := &sarama.ConsumerGroupMemberAssignment{Topics: map[string][]int32{"t": {1}}}
	for generation := range int32(3) {
		got, want := userData(t, ours), userData(t, theirs)
		if !bytes.Equal(got, want) {
			t.Errorf("before generation %d: %x, Sarama's %x", generation, got, want)
		}
		ours.(sarama.OnAssignmentBalanceStrategy).OnAssignment(a, generation)
		theirs.(sarama.OnAssignmentBalanceStrategy).OnAssignment(a, generation)
	}
}

func userData(t *testing.T, s sarama.BalanceStrategy) []byte {
	t.Helper()
	b, err := s.(sarama.SubscriptionUserDataBalanceStrategy).SubscriptionUserData([]string{"t"})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestStickyMembersRemember: what a member got comes back in its next
// subscription, whoever led; and members with Sarama's own strategy are given it.
func TestStickyMembersRemember(t *testing.T) {
	s := saramabalancer.New(assign.Sticky{})
	if b := userData(t, s); b != nil {
		t.Errorf("user data %x before the first assignment, want none", b)
	}
	topics := map[string][]int32{"b": {2, 0}, "a": {1}}
	s.(sarama.OnAssignmentBalanceStrategy).OnAssignment(&sarama.ConsumerGroupMemberAssignment{Topics: topics}, 7)
	owned := []assign.TopicPartitions{{Topic: "a", Partitions: []int32{1}}, {Topic: "b", Partitions: []int32{0, 2}}}
	want := assign.AppendStickyUserData(nil, owned, 7)
	if got := userData(t, s); !bytes.Equal(got, want) {
		t.Errorf("sent %x, want %x", got, want)
	}
	if got, err := s.AssignmentData("m", topics, 7); err != nil || !bytes.Equal(got, want) {
		t.Errorf("given out %x, %v, want %x", got, err, want)
	}
}

// TestPlansForAnyMembers: subscriptions of every version, with claims in user
// data or owned partitions.
func TestPlansForAnyMembers(t *testing.T) {
	topics := map[string][]int32{"t": {0, 1, 2, 3, 4, 5}}
	owned := func(p ...int32) []*sarama.OwnedPartition {
		return []*sarama.OwnedPartition{{Topic: "t", Partitions: p}}
	}
	plan, err := saramabalancer.New(assign.CooperativeSticky{}).Plan(map[string]sarama.ConsumerGroupMemberMetadata{
		"a": {Version: 2, Topics: []string{"t"}, OwnedPartitions: owned(0, 1, 2), GenerationID: 4},
		"b": {Version: 1, Topics: []string{"t"}, OwnedPartitions: owned(2, 3, 4), UserData: assign.AppendCooperativeUserData(nil, 3)},
		"c": {Version: 0, Topics: []string{"t"}},
	}, topics)
	want := sarama.BalanceStrategyPlan{"a": {"t": {0, 2}}, "b": {"t": {3, 4}}, "c": {"t": {5}}}
	if err != nil || !reflect.DeepEqual(plan, want) {
		t.Errorf("%v, %v, want %v: b had 2 once, and only it should get it from a; 1 is on its way to c", plan, err, want)
	}
	sticky := map[string]sarama.ConsumerGroupMemberMetadata{
		"a": {Topics: []string{"t"}, UserData: assign.AppendStickyUserData(nil, []assign.TopicPartitions{{Topic: "t", Partitions: []int32{1, 3, 5}}}, 4)},
		"b": {Topics: []string{"t"}},
	}
	plan, err = saramabalancer.New(assign.Sticky{}).Plan(sticky, topics)
	if want := (sarama.BalanceStrategyPlan{"a": {"t": {1, 3, 5}}, "b": {"t": {0, 2, 4}}}); err != nil || !reflect.DeepEqual(plan, want) {
		t.Errorf("%v, %v, want %v", plan, err, want)
	}
}

// taker takes everything for one member, whoever has it.
type taker struct{ assign.CooperativeSticky }

func (taker) Assign(in assign.Input) (assign.Plan, error) {
	lists := make([][]assign.TopicPartitions, len(in.Members))
	for i := range in.Members {
		if in.Members[i].ID == "b" {
			lists[i] = []assign.TopicPartitions{{Topic: "t", Partitions: []int32{0}}}
		}
	}
	return assign.PlanOf(lists), nil
}

// TestBadPlansAreRefused: R-A22.
func TestBadPlansAreRefused(t *testing.T) {
	members := map[string]sarama.ConsumerGroupMemberMetadata{
		"a": {Version: 2, Topics: []string{"t"}, OwnedPartitions: []*sarama.OwnedPartition{{Topic: "t", Partitions: []int32{0}}}},
		"b": {Version: 2, Topics: []string{"t"}},
	}
	_, err := saramabalancer.New(taker{}).Plan(members, map[string][]int32{"t": {0}})
	if _, refused := errors.AsType[*assign.NotCooperativeError](err); !refused {
		t.Errorf("error %v, want a NotCooperativeError", err)
	}
}

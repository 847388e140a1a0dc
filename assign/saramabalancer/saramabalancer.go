// Package saramabalancer puts the assignors of package assign into Sarama
// clients: New turns any of them into a sarama.BalanceStrategy. It is a module of
// its own, so that programs that only plan do not pull in a client.
//
// The members of a group may change over one by one: names and bytes are those
// of Kafka's assignors, and whoever leads plans for all. Sarama tells a strategy
// neither which members are static nor in which racks partitions lie: plans
// depend on neither.
package saramabalancer

import (
	"slices"
	"strings"
	"sync"

	"github.com/IBM/sarama"

	"github.com/skeinstream/skein/assign"
)

// New makes a strategy for Consumer.Group.Rebalance.GroupStrategies. It remembers
// what its member has, as Kafka's assignors do, and must therefore not be
// shared between consumer groups. An assignor that supports assign.Cooperative is
// used that way, which wants a Config.Version of 2.4 at least.
func New(a assign.Assignor) sarama.BalanceStrategy {
	return &strategy{assignor: a, last: assign.History{Generation: assign.NoGeneration}}
}

// strategy also implements the optional interfaces of Sarama: it says which
// protocols it supports, is told what its member got, and sends that along.
type strategy struct {
	assignor assign.Assignor

	mu   sync.Mutex
	last assign.History
}

var (
	_ sarama.RebalanceProtocolBalanceStrategy    = (*strategy)(nil)
	_ sarama.SubscriptionUserDataBalanceStrategy = (*strategy)(nil)
	_ sarama.OnAssignmentBalanceStrategy         = (*strategy)(nil)
)

// Name returns the assignor's name.
func (s *strategy) Name() string { return s.assignor.Name() }

// SupportedProtocols returns those of the assignor, the preferred one first.
func (s *strategy) SupportedProtocols() []sarama.RebalanceProtocol {
	if s.cooperative() {
		return []sarama.RebalanceProtocol{sarama.RebalanceProtocolCooperative, sarama.RebalanceProtocolEager}
	}
	return []sarama.RebalanceProtocol{sarama.RebalanceProtocolEager}
}

func (s *strategy) cooperative() bool {
	return slices.Contains(s.assignor.Protocols(), assign.Cooperative)
}

// Plan plans for the group, at the leader, and refuses plans that no group can
// carry out.
func (s *strategy) Plan(members map[string]sarama.ConsumerGroupMemberMetadata, topics map[string][]int32) (sarama.BalanceStrategyPlan, error) {
	var in assign.Input
	for id := range members {
		in.Members = append(in.Members, assign.Member{ID: id, Subscription: subscription(members[id])})
	}
	for name, partitions := range topics {
		in.Topics = append(in.Topics, assign.Topic{Name: name, Partitions: int32(len(partitions))})
	}
	protocol := assign.Eager
	if s.cooperative() {
		protocol = assign.Cooperative
	}
	plan, err := assign.Lead(s.assignor, protocol, in)
	if err != nil {
		return nil, err
	}
	return sarama.BalanceStrategyPlan(plan.Map(in.Members)), nil
}

// subscription is what a member sent. Fields that its version does not have are zero
// in Sarama's form, also the generation.
func subscription(m sarama.ConsumerGroupMemberMetadata) assign.Subscription {
	s := assign.Subscription{Topics: m.Topics, UserData: m.UserData, Generation: assign.NoGeneration}
	for _, o := range m.OwnedPartitions {
		s.Owned = append(s.Owned, assign.TopicPartitions{Topic: o.Topic, Partitions: o.Partitions})
	}
	if m.Version >= 2 {
		s.Generation = m.GenerationID
	}
	if m.RackID != nil {
		s.Rack = *m.RackID
	}
	return s
}

// AssignmentData is sent to a member with its part of the plan. Members with
// Sarama's own sticky strategy send it back when they join again, and remember
// what they had in no other way.
func (s *strategy) AssignmentData(_ string, topics map[string][]int32, generation int32) ([]byte, error) {
	if _, sticky := s.assignor.(assign.Sticky); !sticky {
		return nil, nil
	}
	return assign.AppendStickyUserData(nil, list(topics), generation), nil
}

// OnAssignment remembers what the member got.
func (s *strategy) OnAssignment(a *sarama.ConsumerGroupMemberAssignment, generation int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = assign.History{Owned: list(a.Topics), Generation: generation, UserData: a.UserData}
}

// SubscriptionUserData is what the member sends when it joins.
func (s *strategy) SubscriptionUserData(topics []string) ([]byte, error) {
	r, remembers := s.assignor.(assign.Remembering)
	if !remembers {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return r.SubscriptionUserData(topics, s.last), nil
}

// list is never nil: an assignment of nothing is one, too.
func list(topics map[string][]int32) []assign.TopicPartitions {
	out := make([]assign.TopicPartitions, 0, len(topics))
	for topic, partitions := range topics {
		out = append(out, assign.TopicPartitions{Topic: topic, Partitions: partitions})
	}
	slices.SortFunc(out, func(a, b assign.TopicPartitions) int { return strings.Compare(a.Topic, b.Topic) })
	return out
}

// Package kgobalancer puts the assignors of package assign into franz-go
// clients: New turns any of them into a kgo.GroupBalancer. It is a module of its
// own, so that programs that only plan do not pull in a client.
//
// The members of a group may change over one by one: names and bytes are those
// of Kafka's assignors, and whoever leads plans for all.
package kgobalancer

import (
	"fmt"
	"slices"
	"sync"

	"github.com/skeinstream/skein/assign"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Option changes how a balancer works.
type Option func(*balancer)

// Rack says where this member runs, so that leaders can prefer partitions with a
// replica there. Give it the same as kgo.Rack.
func Rack(rack string) Option { return func(b *balancer) { b.rack = rack } }

// New makes a balancer for kgo.Balancers. An assignor that supports
// assign.Cooperative is used that way, as kgo does with its own. A balancer
// remembers what its member had, and must not be shared between clients.
func New(a assign.Assignor, options ...Option) kgo.GroupBalancer {
	b := &balancer{assignor: a}
	for _, o := range options {
		o(b)
	}
	return b
}

type balancer struct {
	assignor assign.Assignor
	rack     string

	mu sync.Mutex
	// last is what this member got, for EAGER assignors: kgo lets go of everything
	// before it joins again, and then says that it has nothing, where Kafka's members
	// say what they had (R-A14).
	last map[string][]int32
}

// ProtocolName returns the assignor's name.
func (b *balancer) ProtocolName() string { return b.assignor.Name() }

// IsCooperative reports whether the assignor supports the COOPERATIVE protocol.
func (b *balancer) IsCooperative() bool {
	return slices.Contains(b.assignor.Protocols(), assign.Cooperative)
}

// JoinGroupMetadata encodes the subscription of this member.
func (b *balancer) JoinGroupMetadata(topics []string, current map[string][]int32, generation int32) []byte {
	if len(current) == 0 && !b.IsCooperative() {
		current = b.remembered()
	}
	h := assign.History{Generation: generation}
	for topic, partitions := range current {
		h.Owned = append(h.Owned, assign.TopicPartitions{Topic: topic, Partitions: partitions})
	}
	s := assign.Subscription{Topics: topics, Generation: generation, Rack: b.rack}
	if b.IsCooperative() {
		s.Owned = h.Owned
	}
	if r, remembers := b.assignor.(assign.Remembering); remembers {
		s.UserData = r.SubscriptionUserData(topics, h)
	}
	return s.Append(nil, assign.HighestVersion)
}

// ParseSyncAssignment decodes what the leader gave to this member.
func (b *balancer) ParseSyncAssignment(encoded []byte) (map[string][]int32, error) {
	a, err := assign.DecodeAssignment(encoded)
	if err != nil {
		return nil, err
	}
	out := make(map[string][]int32, len(a.Partitions))
	for _, tp := range a.Partitions {
		out[tp.Topic] = append(out[tp.Topic], tp.Partitions...)
	}
	b.remember(out)
	return out, nil
}

// remember keeps a copy: the caller may change what it was given.
func (b *balancer) remember(assigned map[string][]int32) {
	last := make(map[string][]int32, len(assigned))
	for topic, partitions := range assigned {
		last[topic] = slices.Clone(partitions)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last = last
}

func (b *balancer) remembered() map[string][]int32 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.last
}

// MemberBalancer decodes the members of the group; topics is all they want.
func (b *balancer) MemberBalancer(joined []kmsg.JoinGroupResponseMember) (kgo.GroupMemberBalancer, map[string]struct{}, error) {
	g := &group{balancer: b, members: make([]assign.Member, len(joined))}
	topics := map[string]struct{}{}
	var decoder assign.SubscriptionDecoder
	var last []string
	for i, j := range joined {
		s, err := decoder.Decode(j.ProtocolMetadata)
		if err != nil {
			return nil, nil, fmt.Errorf("member %s: %w", j.MemberID, err)
		}
		g.members[i] = assign.Member{ID: j.MemberID, Subscription: s}
		if j.InstanceID != nil {
			g.members[i].InstanceID = *j.InstanceID
		}
		if len(last) > 0 && len(s.Topics) == len(last) && &s.Topics[0] == &last[0] {
			continue // decoded together: the same list
		}
		last = s.Topics
		for _, t := range s.Topics {
			topics[t] = struct{}{}
		}
	}
	return g, topics, nil
}

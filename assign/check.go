package assign

import (
	"fmt"

	"github.com/skeinstream/skein/assign/internal/group"
)

// Lead runs an assignor as the leader of a group does, and checks the plan
// before it goes out. Errors of the plan name the assignor.
func Lead(a Assignor, protocol Protocol, in Input) (Plan, error) {
	plan, err := a.Assign(in)
	if err == nil {
		err = Check(in, plan, protocol)
	}
	if err != nil {
		return Plan{}, fmt.Errorf("planning with the assignor %q: %w", a.Name(), err)
	}
	return plan, nil
}

// Check holds a plan to what every assignor must keep to, whoever wrote it: an
// entry for every member; partitions that exist, given to one member that
// subscribes to them. Under Cooperative it also refuses to give a partition away
// while another member still claims it (R-A22). It does not ask whether the plan is good,
// nor whether it is complete; see Verify. The errors are *InvalidPlanError and
// *NotCooperativeError.
func Check(in Input, plan Plan, protocol Protocol) error {
	x, err := newIndex(in)
	if err != nil {
		return err
	}
	owner, err := x.owners(plan)
	if err != nil || protocol != Cooperative {
		return err
	}
	return x.checkCooperative(owner)
}

// owners returns the member that each partition is given to, by places.
func (x *index) owners(plan Plan) ([]int32, error) {
	if plan.Members() != len(x.order) {
		return nil, &InvalidPlanError{Reason: fmt.Sprintf("has %d entries for %d members", plan.Members(), len(x.order))}
	}
	owner := x.vacant()
	subscribed := x.Ints(len(x.names)) // 1 more than the last member that subscribes
	for m := range int32(len(x.order)) {
		for _, t := range x.Topics.Of(x.MemberClass[m]) {
			subscribed[t] = m + 1
		}
		for topic, partitions := range plan.Of(int(x.order[m])) {
			t, known := x.lookUp(topic)
			for _, p := range partitions {
				reason := ""
				switch {
				case !known || p < 0 || p >= x.Count(t):
					reason = "does not exist"
				case subscribed[t] != m+1:
					reason = "is of a topic it does not subscribe to"
				case owner[x.Base[t]+p] != group.None:
					reason = "is also given to " + x.member(owner[x.Base[t]+p]).ID
				default:
					owner[x.Base[t]+p] = m
					continue
				}
				return nil, &InvalidPlanError{Topic: topic, Partition: p, Member: x.member(m).ID, Reason: reason}
			}
		}
	}
	return owner, nil
}

// checkCooperative: what a member gets and did not claim, nobody else claims.
func (x *index) checkCooperative(owner []int32) error {
	claimed := make([]bool, len(owner)) // by its new owner
	x.eachClaim(func(p, m int32) error {
		if owner[p] == m {
			claimed[p] = true
		}
		return nil
	})
	return x.eachClaim(func(p, m int32) error {
		if to := owner[p]; to != group.None && to != m && !claimed[p] {
			return x.notCooperative(p, m, to)
		}
		return nil
	})
}

// eachClaim walks what the members claim to own, by places.
func (x *index) eachClaim(do func(partition, member int32) error) error {
	for m := range int32(len(x.order)) {
		next := int32(0)
		for _, o := range x.member(m).Owned {
			t, known := x.find(o.Topic, next)
			if !known {
				continue
			}
			next = follow(next, t)
			for _, p := range o.Partitions {
				if p < 0 || p >= x.Count(t) {
					continue
				}
				if err := do(x.Base[t]+p, m); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (x *index) notCooperative(p, claimant, receiver int32) error {
	t := x.topicOf(p)
	return &NotCooperativeError{Topic: x.names[t], Partition: p - x.Base[t], Claimant: x.member(claimant).ID, Receiver: x.member(receiver).ID}
}

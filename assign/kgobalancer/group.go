package kgobalancer

import (
	"github.com/skeinstream/skein/assign"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// group is the members of one rebalance, at the leader.
type group struct {
	*balancer
	members []assign.Member
	info    kgo.BalanceInfo
}

// SetBalanceInfo keeps what the client knows of the cluster, for the racks.
func (g *group) SetBalanceInfo(info kgo.BalanceInfo) { g.info = info }

// Balance is not called by kgo: it prefers BalanceOrError.
func (g *group) Balance(topics map[string]int32) kgo.IntoSyncAssignment {
	plan, err := g.BalanceOrError(topics)
	if err != nil {
		return nil
	}
	return plan
}

// BalanceOrError plans, and refuses plans that no group can carry out.
func (g *group) BalanceOrError(topics map[string]int32) (kgo.IntoSyncAssignment, error) {
	in := assign.Input{Members: g.members, Topics: make([]assign.Topic, 0, len(topics))}
	racks := g.racks()
	for name, n := range topics {
		in.Topics = append(in.Topics, assign.Topic{Name: name, Partitions: n, Racks: racks(name)})
	}
	protocol := assign.Eager
	if g.IsCooperative() {
		protocol = assign.Cooperative
	}
	plan, err := assign.Lead(g.assignor, protocol, in)
	if err != nil {
		return nil, err
	}
	return assignments{g.members, plan}, nil
}

// racks returns what finds the racks of a topic's replicas. Nothing is looked up
// unless a member has a rack.
func (g *group) racks() func(topic string) [][]string {
	if !g.anyRack() || g.info.Topics == nil || g.info.Brokers == nil {
		return func(string) [][]string { return nil }
	}
	brokers, known := g.info.Brokers(), g.info.Topics()
	return func(topic string) [][]string {
		partitions := known[topic].Partitions
		racks := make([][]string, len(partitions))
		for i, p := range partitions {
			for _, id := range p.Replicas {
				if b, found := brokers[id]; found && b.Rack != nil {
					racks[i] = append(racks[i], *b.Rack)
				}
			}
		}
		return racks
	}
}

func (g *group) anyRack() bool {
	for i := range g.members {
		if g.members[i].Rack != "" {
			return true
		}
	}
	return false
}

// assignments is a plan on its way to the coordinator.
type assignments struct {
	members []assign.Member
	plan    assign.Plan
}

// IntoSyncAssignment encodes the plan, in one piece of memory.
func (a assignments) IntoSyncAssignment() []kmsg.SyncGroupRequestGroupAssignment {
	encoded := a.plan.Encode()
	out := make([]kmsg.SyncGroupRequestGroupAssignment, len(encoded))
	for i := range out {
		out[i] = kmsg.NewSyncGroupRequestGroupAssignment()
		out[i].MemberID, out[i].MemberAssignment = a.members[i].ID, encoded[i]
	}
	return out
}

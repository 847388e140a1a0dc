package membership

import (
	"time"

	"github.com/skeinstream/skein/assign"
)

// contested is in the place of the member where two claim a partition.
const contested = -1

// claims says which member each partition is claimed by.
func claims(in assign.Input) map[TopicPartition]int {
	by := map[TopicPartition]int{}
	for i, member := range in.Members {
		for _, p := range setOf(member.Owned) {
			if _, claimed := by[p]; claimed {
				by[p] = contested
			} else {
				by[p] = i
			}
		}
	}
	return by
}

// withhold takes out of the plan of an EAGER assignor what a member claims and another would get. Our own members claim nothing
// then; foreign ones may (R-C16). What two members claim goes to neither. The next round, which the leader asks for, places it.
func withhold(in assign.Input, plan assign.Plan) (assign.Plan, int) {
	by := claims(in)
	if len(by) == 0 {
		return plan, 0
	}
	lists, kept := make([][]assign.TopicPartitions, len(in.Members)), 0
	for i := range in.Members {
		var given set
		for _, p := range setOf(plan.List(i)) {
			if owner, claimed := by[p]; claimed && owner != i {
				kept++
				continue
			}
			given = append(given, p)
		}
		lists[i] = given.lists()
	}
	if kept == 0 {
		return plan, 0
	}
	return assign.PlanOf(lists), kept
}

// heldBack counts the partitions that the plan gives to nobody, since a member claims them.
func heldBack(in assign.Input, plan assign.Plan) int {
	by := claims(in)
	for i := range in.Members {
		for _, p := range setOf(plan.List(i)) {
			delete(by, p)
		}
	}
	held := 0
	for p := range by {
		for _, t := range in.Topics {
			if t.Name == p.Topic && p.Partition < t.Partitions {
				held++
			}
		}
	}
	return held
}

// followUpAt is when a leader asks for the next round itself, for the sake of what it held back. The owner does as a rule, having
// given something up; but a static one that is restarted in between takes its place without a round, and knows nothing of it
// (docs/decision/0008-one-bounce.md).
func (m *Machine) followUpAt() time.Time {
	if m.phase != steady || m.led == nil {
		return time.Time{}
	}
	return m.led.followUp
}

func (m *Machine) followUp() {
	if at := m.followUpAt(); !at.IsZero() && !m.now.Before(at) {
		m.rejoin("partitions that were held back belong to nobody yet")
	}
}

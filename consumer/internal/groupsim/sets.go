package groupsim

import (
	"slices"

	"github.com/skeinstream/skein/assign"
	"github.com/skeinstream/skein/consumer/internal/membership"
)

func flat(list []assign.TopicPartitions) (out []membership.TopicPartition) {
	for _, t := range list {
		for _, p := range t.Partitions {
			out = append(out, membership.TopicPartition{Topic: t.Topic, Partition: p})
		}
	}
	return out
}

func listsOf(all []membership.TopicPartition) (lists []assign.TopicPartitions) {
	for _, tp := range all {
		i := slices.IndexFunc(lists, func(t assign.TopicPartitions) bool { return t.Topic == tp.Topic })
		if i < 0 {
			i = len(lists)
			lists = append(lists, assign.TopicPartitions{Topic: tp.Topic})
		}
		lists[i].Partitions = append(lists[i].Partitions, tp.Partition)
	}
	return lists
}

func minus(all, other []membership.TopicPartition) (rest []membership.TopicPartition) {
	for _, tp := range all {
		if !slices.Contains(other, tp) {
			rest = append(rest, tp)
		}
	}
	return rest
}

// claimed says whether a member other than i says that it owns a partition.
func claimed(in assign.Input, i int, tp membership.TopicPartition) bool {
	for j, m := range in.Members {
		if j != i && slices.Contains(flat(m.Owned), tp) {
			return true
		}
	}
	return false
}

// unclaimed takes out of a plan what others claim.
func unclaimed(in assign.Input, plan assign.Plan) assign.Plan {
	lists := make([][]assign.TopicPartitions, len(in.Members))
	for i := range in.Members {
		var kept []membership.TopicPartition
		for _, tp := range flat(plan.List(i)) {
			if !claimed(in, i, tp) {
				kept = append(kept, tp)
			}
		}
		lists[i] = listsOf(kept)
	}
	return assign.PlanOf(lists)
}

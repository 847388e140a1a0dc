package main

import (
	"github.com/IBM/sarama"

	"github.com/skeinstream/skein/assign"
)

// saramaSticky is Sarama's BalanceStrategySticky. It reads what members had
// from their user data, in every call.
func saramaSticky(g *group, h how) sample {
	members := map[string]sarama.ConsumerGroupMemberMetadata{}
	for i, m := range g.input().Members {
		meta := sarama.ConsumerGroupMemberMetadata{Topics: m.Topics}
		if len(m.Owned) > 0 {
			meta.UserData = assign.AppendStickyUserData(nil, m.Owned, 1)
		}
		members[memberName(i)] = meta
	}
	topics := map[string][]int32{}
	for t, n := range g.topics {
		topics[topicName(int32(t))] = upTo(int(n))
	}
	var plan sarama.BalanceStrategyPlan
	var err error
	s := repeat(h, func() { plan, err = sarama.NewBalanceStrategySticky().Plan(members, topics) })
	if err != nil {
		return sample{Err: err.Error()}
	}
	s.Owner = g.owners(func(i int, give func(string, []int32)) {
		for topic, partitions := range plan[memberName(i)] {
			give(topic, partitions)
		}
	})
	return s
}

//go:build franzsticky

package main

import (
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// franz-go's sticky balancer is internal to kgo. This file is built only
// together with one more in kgo's package, peers/kgo_export.go.text, which hands
// it out: so that what is measured is the balancer, not the decoding around it.

func franzImplementations() map[string]implementation {
	return map[string]implementation{"franz-go": franzMap, "franz-go bytes": franzBytes}
}

func franzMap(g *group, h how) sample {
	return franz(g, h, func(kgo.StickyPlan) {})
}

func franzBytes(g *group, h how) sample {
	return franz(g, h, func(p kgo.StickyPlan) { kgo.StickyBalancePlan(p).IntoSyncAssignment() })
}

func franz(g *group, h how, finish func(kgo.StickyPlan)) sample {
	var members []kgo.StickyMember
	for i, m := range g.input().Members {
		s := kgo.StickyMember{ID: memberName(i), Topics: m.Topics, Generation: 1, Cooperative: true}
		for _, tp := range m.Owned {
			o := kmsg.NewConsumerMemberMetadataOwnedPartition()
			o.Topic, o.Partitions = tp.Topic, tp.Partitions
			s.Owned = append(s.Owned, o)
		}
		members = append(members, s)
	}
	topics := map[string]int32{}
	for t, n := range g.topics {
		topics[topicName(int32(t))] = n
	}
	var plan kgo.StickyPlan
	s := repeat(h, func() {
		plan = kgo.StickyBalance(members, topics)
		finish(plan)
	})
	s.Owner = g.owners(func(i int, give func(string, []int32)) {
		for topic, partitions := range plan[memberName(i)] {
			give(topic, partitions)
		}
	})
	return s
}

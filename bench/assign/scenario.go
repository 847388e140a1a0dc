package main

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/skeinstream/skein/assign"
)

// group is a group in numbers, from which every implementation's own input is
// made: topics with their partitions, members with what they want and have.
type group struct {
	topics  []int32
	members []member
}

type member struct {
	topics []int32
	owned  map[int32][]int32 // partitions by topic
}

func topicName(t int32) string { return fmt.Sprintf("topic-%06d", t) }
func memberName(m int) string  { return fmt.Sprintf("member-%06d", m) }

// partitions returns how many there are.
func (g *group) partitions() (n int) {
	for _, c := range g.topics {
		n += int(c)
	}
	return n
}

// input is the group for assign, with every name in memory of its own, as after
// decoding from as many connections.
func (g *group) input() assign.Input {
	in := assign.Input{Topics: make([]assign.Topic, len(g.topics)), Members: make([]assign.Member, len(g.members))}
	for t, n := range g.topics {
		in.Topics[t] = assign.Topic{Name: topicName(int32(t)), Partitions: n}
	}
	for i, m := range g.members {
		s := assign.Subscription{Generation: 1}
		for _, t := range m.topics {
			s.Topics = append(s.Topics, topicName(t))
		}
		for _, t := range sortedTopics(m.owned) {
			s.Owned = append(s.Owned, assign.TopicPartitions{Topic: topicName(t), Partitions: slices.Clone(m.owned[t])})
		}
		in.Members[i] = assign.Member{ID: memberName(i), Subscription: s}
	}
	return in
}

func sortedTopics(owned map[int32][]int32) []int32 {
	topics := make([]int32, 0, len(owned))
	for t := range owned {
		topics = append(topics, t)
	}
	slices.Sort(topics)
	return topics
}

// take makes a plan for g's own input what the members have.
func (g *group) take(plan assign.Plan) {
	number := map[string]int32{}
	for t := range g.topics {
		number[topicName(int32(t))] = int32(t)
	}
	for i := range g.members {
		g.members[i].owned = map[int32][]int32{}
		for topic, partitions := range plan.Of(i) {
			g.members[i].owned[number[topic]] = slices.Clone(partitions)
		}
	}
}

// settle gives every partition to a subscriber chosen at random and then lets
// the group settle: a past that is well mixed and favours nobody.
func (g *group) settle(r *rand.Rand) {
	subscribers := make([][]int, len(g.topics))
	for i := range g.members {
		g.members[i].owned = map[int32][]int32{}
		for _, t := range g.members[i].topics {
			subscribers[t] = append(subscribers[t], i)
		}
	}
	for t, n := range g.topics {
		for p := range n {
			if who := subscribers[t]; len(who) > 0 {
				m := &g.members[who[r.IntN(len(who))]]
				m.owned[int32(t)] = append(m.owned[int32(t)], p)
			}
		}
	}
	plan, err := assign.Sticky{}.Assign(g.input())
	if err != nil {
		panic(err) // the scenario itself is wrong
	}
	g.take(plan)
}

// What happens to a group before it is planned for.
func fresh(*rand.Rand, *group) {}

func join(r *rand.Rand, g *group) {
	last := len(g.members) - 1
	newcomer := g.members[last]
	g.members = g.members[:last]
	g.settle(r)
	g.members = append(g.members, member{topics: newcomer.topics})
}

func leave(r *rand.Rand, g *group) {
	g.settle(r)
	stay := g.members[:0]
	for i, m := range g.members {
		if i%10 != 0 {
			stay = append(stay, m)
		}
	}
	g.members = stay
}

func grow(r *rand.Rand, g *group) {
	g.settle(r)
	for t := range g.topics {
		if t%2 == 0 {
			g.topics[t] += max(1, g.topics[t]/20)
		}
	}
}

// deploy is half a rolling deploy: every second member subscribes to one more
// topic.
func deploy(r *rand.Rand, g *group) {
	g.settle(r)
	added := int32(len(g.topics))
	g.topics = append(g.topics, g.topics[0])
	for i := range g.members {
		if i%2 == 0 {
			g.members[i].topics = append(slices.Clone(g.members[i].topics), added)
		}
	}
}

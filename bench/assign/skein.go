package main

import (
	"github.com/skeinstream/skein/assign"
)

// The forms in which Skein's plan is measured: as it is, as maps like
// franz-go's, and as the bytes of SyncGroup.
func skeinPlan(g *group, h how) sample {
	return skein(g, h, func(assign.Plan, assign.Input) {})
}

func skeinMap(g *group, h how) sample {
	return skein(g, h, func(p assign.Plan, in assign.Input) { p.Map(in.Members) })
}

func skeinBytes(g *group, h how) sample {
	return skein(g, h, func(p assign.Plan, _ assign.Input) { p.Encode() })
}

// mapAlone makes nothing but the maps, of a plan that is there: whoever returns
// this type takes so long, however the plan is found. It bounds how many times faster
// than franz-go anybody can be.
func mapAlone(g *group, h how) sample {
	in := g.input()
	plan, err := assign.Sticky{}.Assign(in)
	if err != nil {
		return sample{Err: err.Error()}
	}
	s := repeat(h, func() { plan.Map(in.Members) })
	s.Owner = g.planned(plan)
	return s
}

func skein(g *group, h how, finish func(assign.Plan, assign.Input)) sample {
	in := g.input()
	var plan assign.Plan
	var err error
	s := repeat(h, func() {
		if plan, err = (assign.Sticky{}).Assign(in); err == nil {
			finish(plan, in)
		}
	})
	if err != nil {
		return sample{Err: err.Error()}
	}
	s.Output = sizeOf(g, plan)
	s.Owner = g.planned(plan)
	return s
}

// planned puts one of our plans in numbers.
func (g *group) planned(plan assign.Plan) []int32 {
	return g.owners(func(i int, give func(topic string, partitions []int32)) {
		for topic, partitions := range plan.Of(i) {
			give(topic, partitions)
		}
	})
}

// sizeOf is what a plan holds: partitions, where each member's part of each
// topic is, and the names.
func sizeOf(g *group, plan assign.Plan) int64 {
	size := 4*plan.Partitions() + 8*len(g.members) + 16*len(g.topics)
	for i := range g.members {
		size += 8 * len(plan.List(i))
	}
	return int64(size)
}

// owners puts a plan in numbers: each calls give with what member i gets.
func (g *group) owners(each func(i int, give func(topic string, partitions []int32))) []int32 {
	first := map[string]int32{}
	n := int32(0)
	for t, c := range g.topics {
		first[topicName(int32(t))] = n
		n += c
	}
	owner := make([]int32, n)
	for p := range owner {
		owner[p] = -1
	}
	for i := range g.members {
		each(i, func(topic string, partitions []int32) {
			for _, p := range partitions {
				owner[first[topic]+p] = int32(i)
			}
		})
	}
	return owner
}

package assign

import (
	"slices"
	"strings"

	"github.com/skeinstream/skein/assign/internal/certificate"
)

// flat is an input and a plan in the plainest form, for Verify: members and
// topics as they come, partitions in a row. What the assignors use for the same
// purpose is not used here on purpose.
type flat struct {
	in    Input
	plan  *certificate.Plan
	topic map[string]int32
	first []int32 // partition 0 of each topic
	count []int32
}

func flatten(in Input, plan Plan, o Options) (*flat, error) {
	f := &flat{in: in, plan: &certificate.Plan{TopicCount: len(in.Topics)}, topic: map[string]int32{}}
	for t := range in.Topics {
		if _, twice := f.topic[in.Topics[t].Name]; twice {
			return nil, ErrDuplicateTopic
		}
		n := max(in.Topics[t].Partitions, 0)
		if len(f.plan.Topic)+int(n) > maxPartitions {
			return nil, ErrTooLarge
		}
		f.topic[in.Topics[t].Name] = int32(t)
		f.first, f.count = append(f.first, int32(len(f.plan.Topic))), append(f.count, n)
		f.plan.Topic = append(f.plan.Topic, slices.Repeat([]int32{int32(t)}, int(n))...)
	}
	f.classify()
	f.claims(o)
	f.racks()
	return f, f.hold(plan)
}

func nobody(n int) []int32 { return slices.Repeat([]int32{-1}, n) }

// classify groups members by subscription and rack.
func (f *flat) classify() {
	racks := map[string]int32{"": -1}
	number := map[string]int32{}
	var key []byte
	for i := range f.in.Members {
		m := &f.in.Members[i]
		if _, seen := racks[m.Rack]; !seen {
			racks[m.Rack] = int32(len(racks))
		}
		topics := make([]int32, 0, len(m.Topics))
		for _, name := range m.Topics {
			if t, known := f.topic[name]; known {
				topics = append(topics, t)
			}
		}
		slices.Sort(topics)
		topics = slices.Compact(topics)
		key = appendInt32(key[:0], racks[m.Rack])
		for _, t := range topics {
			key = appendInt32(key, t)
		}
		c, seen := number[string(key)]
		if !seen {
			c = int32(len(f.plan.Topics))
			number[string(key)] = c
			f.plan.Topics = append(f.plan.Topics, topics)
			f.plan.Rack = append(f.plan.Rack, racks[m.Rack])
		}
		f.plan.Class = append(f.plan.Class, c)
	}
}

func (f *flat) subscribes(m int32, t int32) bool {
	_, yes := slices.BinarySearch(f.plan.Topics[f.plan.Class[m]], t)
	return yes
}

// eachClaim calls do with every claim that names a partition which exists.
func (f *flat) eachClaim(do func(m, partition int32)) {
	for m := range f.in.Members {
		for _, o := range f.in.Members[m].Owned {
			t, known := f.topic[o.Topic]
			for _, p := range o.Partitions {
				if known && p >= 0 && p < f.count[t] {
					do(int32(m), f.first[t]+p)
				}
			}
		}
	}
}

// claims finds the owner of every partition, the one that claims it in the newest
// generation if there is one and it subscribes, and a former owner, the newest
// of the other claimants.
func (f *flat) claims(o Options) {
	n := len(f.plan.Topic)
	newest, several := nobody(n), make([]bool, n)
	f.plan.Owner, f.plan.Former = nobody(n), nobody(n)
	if o.Fresh {
		return
	}
	generation := func(m int32) int32 { return f.in.Members[m].Generation }
	f.eachClaim(func(m, p int32) {
		switch first := newest[p]; {
		case first < 0 || generation(m) > generation(first):
			newest[p], several[p] = m, false
		case m != first && generation(m) == generation(first):
			several[p] = true
		}
	})
	for p, m := range newest {
		if m >= 0 && !several[p] && f.subscribes(m, f.plan.Topic[p]) {
			f.plan.Owner[p] = m
		}
	}
	f.eachClaim(func(m, p int32) {
		if m == f.plan.Owner[p] || !f.subscribes(m, f.plan.Topic[p]) {
			return
		}
		former := f.plan.Former[p]
		if former < 0 || generation(m) > generation(former) || generation(m) == generation(former) && compareMembers(&f.in.Members[m], &f.in.Members[former]) < 0 {
			f.plan.Former[p] = m
		}
	})
}

// racks numbers the sets of racks that partitions lie in.
func (f *flat) racks() {
	names := map[int32]string{}
	for i, c := range f.plan.Class {
		names[f.plan.Rack[c]] = f.in.Members[i].Rack
	}
	number := map[string]int32{}
	var sets [][]string
	f.plan.RackSet = nobody(len(f.plan.Topic))
	for t := range f.in.Topics {
		for p, racks := range f.in.Topics[t].Racks {
			if p >= int(f.count[t]) || len(racks) == 0 {
				continue
			}
			key := strings.Join(racks, "\x00")
			n, seen := number[key]
			if !seen {
				n = int32(len(sets))
				number[key] = n
				sets = append(sets, racks)
			}
			f.plan.RackSet[f.first[t]+int32(p)] = n
		}
	}
	f.plan.Fits = func(set, rack int32) bool { return slices.Contains(sets[set], names[rack]) }
}

// hold reads who has what in the plan, and refuses what no plan may do.
func (f *flat) hold(plan Plan) error {
	if plan.Members() != len(f.in.Members) {
		return &InvalidPlanError{Reason: "is for another number of members"}
	}
	f.plan.Holder = nobody(len(f.plan.Topic))
	for m := range f.in.Members {
		for topic, partitions := range plan.Of(m) {
			t, known := f.topic[topic]
			for _, p := range partitions {
				reason := ""
				switch {
				case !known || p < 0 || p >= f.count[t]:
					reason = "does not exist"
				case !f.subscribes(int32(m), t):
					reason = "is of a topic it does not subscribe to"
				case f.plan.Holder[f.first[t]+p] >= 0:
					reason = "is given away twice"
				default:
					f.plan.Holder[f.first[t]+p] = int32(m)
					continue
				}
				return &InvalidPlanError{Topic: topic, Partition: p, Member: f.in.Members[m].ID, Reason: reason}
			}
		}
	}
	return f.complete()
}

// complete refuses partitions that nobody has and somebody could have.
func (f *flat) complete() error {
	wanted := make([]bool, len(f.in.Topics))
	for _, topics := range f.plan.Topics {
		for _, t := range topics {
			wanted[t] = true
		}
	}
	for p, m := range f.plan.Holder {
		if t := f.plan.Topic[p]; m < 0 && wanted[t] {
			return &InvalidPlanError{Topic: f.in.Topics[t].Name, Partition: int32(p) - f.first[t], Reason: "is given to nobody"}
		}
	}
	return nil
}

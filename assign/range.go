package assign

import "github.com/skeinstream/skein/assign/internal/group"

// Range is Kafka's assignor of that name: it lays each topic out by itself, in
// contiguous ranges over its subscribers, of which the first get one more.
// Topics with equal counts and subscribers are co-partitioned: partition n of
// each goes to one member. It ignores history.
//
// Where racks are known and can matter, partitions go to members in a rack of
// one of their replicas first; neither the counts nor co-partitioning suffer
// (KIP-881).
type Range struct{}

// Name returns "range".
func (Range) Name() string { return "range" }

// Protocols returns Eager.
func (Range) Protocols() []Protocol { return []Protocol{Eager} }

// Assign plans in time linear in the partitions plus the subscribers of every
// topic; with racks, times the members that a partition has to be offered to.
func (Range) Assign(in Input) (Plan, error) {
	x, err := newIndex(in)
	if err != nil {
		return Plan{}, err
	}
	subscribers := x.subscribers()
	owner := x.vacant()
	if topics := x.rackedTopics(subscribers); topics != nil {
		assignRangesByRack(x, topics, owner)
	} else {
		x.assignRanges(subscribers, owner)
	}
	return x.plan(owner), nil
}

func (x *index) assignRanges(subscribers group.Lists, owner []int32) {
	for t, class := range x.TopicClass {
		if class == group.None {
			continue
		}
		members := subscribers.Of(class)
		each, extra := x.Count(int32(t))/int32(len(members)), x.Count(int32(t))%int32(len(members))
		p := x.Base[t]
		for i, m := range members {
			n := each
			if int32(i) < extra {
				n++
			}
			for range n {
				owner[p] = m
				p++
			}
			if p == x.Base[t+1] {
				break
			}
		}
	}
}

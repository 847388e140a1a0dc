package assign

import "slices"

// RoundRobin is Kafka's assignor of that name: all members stand in a circle,
// partitions come in order of topic and number, and each goes to the next
// member that subscribes to its topic. It ignores racks and history.
//
// With equal subscriptions loads differ by one at most. With different ones they
// can be skewed badly, as in Kafka; Fair and FairOptimal are the remedy.
type RoundRobin struct{}

// Name returns "roundrobin".
func (RoundRobin) Name() string { return "roundrobin" }

// Protocols returns Eager.
func (RoundRobin) Protocols() []Protocol { return []Protocol{Eager} }

// Assign plans in time linear in partitions, members and subscriptions.
func (RoundRobin) Assign(in Input) (Plan, error) {
	x, err := newIndex(in)
	if err != nil {
		return Plan{}, err
	}
	subscribers := x.subscribers()
	owner := x.vacant()
	next := int32(0) // where the circle stands
	for t, class := range x.TopicClass {
		if class < 0 {
			continue
		}
		ring := subscribers.Of(class)
		i, _ := slices.BinarySearch(ring, next)
		for p := x.Base[t]; p < x.Base[t+1]; p++ {
			if i == len(ring) {
				i = 0
			}
			owner[p] = ring[i]
			next = ring[i] + 1
			i++
		}
	}
	return x.plan(owner), nil
}

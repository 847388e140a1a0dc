package assign

import (
	"cmp"
	"slices"

	"github.com/skeinstream/skein/assign/internal/group"
)

// Fair is the assignor that KIP-49 planned and Kafka never shipped: topics with
// the fewest subscribers first, of those the largest, and each partition to the
// subscriber with the fewest partitions so far. It is greedy: better than
// RoundRobin when subscriptions differ, but not always as fair as possible;
// FairOptimal is. It ignores racks and history.
type Fair struct{}

// Name returns "fair".
func (Fair) Name() string { return "fair" }

// Protocols returns Eager.
func (Fair) Protocols() []Protocol { return []Protocol{Eager} }

// Assign plans in time linear in the partitions, times the logarithm of the
// members, plus the subscribers of every topic.
func (Fair) Assign(in Input) (Plan, error) {
	x, err := newIndex(in)
	if err != nil {
		return Plan{}, err
	}
	subscribers := x.subscribers()
	owner := x.vacant()
	load := x.Ints(len(x.order))
	var q poorest
	for _, t := range x.fairOrder(subscribers) {
		q.fill(subscribers.Of(x.TopicClass[t]), load)
		for p := x.Base[t]; p < x.Base[t+1]; p++ {
			owner[p] = q.give()
		}
		q.drain(load)
	}
	return x.plan(owner), nil
}

// fairOrder returns the subscribed topics, those with few subscribers first, of
// those the ones with many partitions, of those by name (R-A6).
func (x *index) fairOrder(subscribers group.Lists) []int32 {
	var topics []int32
	for t, class := range x.TopicClass {
		if class != group.None {
			topics = append(topics, int32(t))
		}
	}
	slices.SortStableFunc(topics, func(a, b int32) int {
		return cmp.Or(cmp.Compare(subscribers.Size(x.TopicClass[a]), subscribers.Size(x.TopicClass[b])), cmp.Compare(x.Count(b), x.Count(a)))
	})
	return topics
}

// subscribers lists, by topic class, the members that subscribe, in their order.
func (x *index) subscribers() group.Lists {
	l := group.Lists{Start: make([]int32, 1, x.Subscribers.Len()+1)}
	for class := range int32(x.Subscribers.Len()) {
		from := len(l.Items)
		for _, c := range x.Subscribers.Of(class) {
			l.Items = append(l.Items, x.Members.Of(c)...)
		}
		if x.Subscribers.Size(class) > 1 {
			slices.Sort(l.Items[from:])
		}
		l.Start = append(l.Start, int32(len(l.Items)))
	}
	return l
}

// poorest is a heap of members by load, then by place; a key holds both.
type poorest struct{ keys []int64 }

func (q *poorest) fill(members, load []int32) {
	q.keys = q.keys[:0]
	for _, m := range members {
		q.keys = append(q.keys, int64(load[m])<<32|int64(m))
	}
	slices.Sort(q.keys) // a sorted list is a heap
}

// give returns the poorest member, who has one more from now on.
func (q *poorest) give() int32 {
	m := int32(q.keys[0] & 0x7fffffff)
	q.keys[0] += 1 << 32
	q.sink()
	return m
}

func (q *poorest) sink() {
	i, key := 0, q.keys[0]
	for {
		child := 2*i + 1
		if child >= len(q.keys) {
			break
		}
		if child+1 < len(q.keys) && q.keys[child+1] < q.keys[child] {
			child++
		}
		if key <= q.keys[child] {
			break
		}
		q.keys[i] = q.keys[child]
		i = child
	}
	q.keys[i] = key
}

// drain writes the loads back.
func (q *poorest) drain(load []int32) {
	for _, key := range q.keys {
		load[key&0x7fffffff] = int32(key >> 32)
	}
}

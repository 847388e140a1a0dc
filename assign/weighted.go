package assign

import (
	"github.com/skeinstream/skein/assign/internal/group"
	"github.com/skeinstream/skein/assign/internal/weigh"
)

// Weighted spreads partitions by their weights (Topic.Weights), such as lag or
// bytes per second, instead of by their number. That is another promise than that of
// the other assignors, hence another name: the smallest possible largest load is
// NP-hard to find, so the plan is not optimal, and how good it is is said by
// Gap. Moves are few, not fewest.
//
// Members send what Sticky's members send.
type Weighted struct {
	// Tolerance is by how many percent of the bound a load may exceed it before
	// partitions are taken from their owner: weights change all the time. 10 when
	// 0, none when negative.
	Tolerance int
}

// Gap says how good a weighted plan is.
type Gap struct {
	// Bound: no assignment has a smaller largest load.
	Bound int64
	// Reached is the largest load of this plan. It is never more than Bound plus
	// Heaviest, the weight of the heaviest partition, or than Bound plus the
	// tolerance if that is more and saves moves.
	Reached, Heaviest int64
}

// Percent returns by how much the plan exceeds the bound, in percent of it.
func (g Gap) Percent() float64 {
	if g.Bound == 0 {
		return 0
	}
	return 100 * float64(g.Reached-g.Bound) / float64(g.Bound)
}

// Name returns "weighted".
func (Weighted) Name() string { return "weighted" }

// Protocols returns Eager: there is no proof that cooperative rounds would end.
func (Weighted) Protocols() []Protocol { return []Protocol{Eager} }

// Assign plans; Plan also tells how well.
func (w Weighted) Assign(in Input) (Plan, error) {
	plan, _, err := w.Plan(in)
	return plan, err
}

// Plan plans. It takes a flow over classes for the bound, and then a few passes
// over members and what they have.
func (w Weighted) Plan(in Input) (Plan, Gap, error) {
	x, err := newIndex(in)
	if err != nil {
		return Plan{}, Gap{}, err
	}
	p := &weigh.Problem{Group: x.Group, Weight: x.weights(), Subscribed: x.subscribers(), Owner: x.settle(stickyClaim).owner, Tolerance: w.tolerance()}
	r := weigh.Spread(p)
	return x.plan(r.Owner), Gap{Bound: r.Bound, Reached: r.Reached, Heaviest: r.Heaviest}, nil
}

// SubscriptionUserData returns what the member had, as Sticky's does.
func (Weighted) SubscriptionUserData(topics []string, h History) []byte {
	return Sticky{}.SubscriptionUserData(topics, h)
}

func (w Weighted) tolerance() int {
	switch {
	case w.Tolerance == 0:
		return 10
	case w.Tolerance < 0:
		return 0
	}
	return w.Tolerance
}

// maxWeight keeps the sum of all weights inside 62 bits.
const maxWeight = 1 << 32

func (x *index) weights() []int64 {
	list := make([]int64, x.Partitions())
	for t, class := range x.TopicClass {
		if class == group.None {
			continue
		}
		known := x.topic(int32(t)).Weights
		for i := range x.Count(int32(t)) {
			w := int64(1)
			if int(i) < len(known) {
				w = min(max(known[i], 0), maxWeight)
			}
			list[x.Base[t]+i] = w
		}
	}
	return list
}

package stops

import (
	"cmp"
	"slices"

	"github.com/skeinstream/skein/assign"
)

const topic = "t"

// group is what an assignor is told of members that own what they had before a
// change; partitions of those who are gone have no owner.
func group(before []string, live []string) assign.Input {
	in := assign.Input{Topics: []assign.Topic{{Name: topic, Partitions: int32(len(before))}}}
	for _, id := range live {
		m := assign.Member{ID: id}
		m.Subscription.Topics, m.Subscription.Generation = []string{topic}, 1
		var owned []int32
		for p, owner := range before {
			if owner == id {
				owned = append(owned, int32(p))
			}
		}
		if len(owned) > 0 {
			m.Subscription.Owned = []assign.TopicPartitions{{Topic: topic, Partitions: owned}}
		}
		in.Members = append(in.Members, m)
	}
	return in
}

// fewest is how many partitions change their owner in the best plan. That it is
// the best is proven, whoever made it.
func fewest(before, live []string) int {
	if len(live) == 0 || len(before) == 0 {
		return 0
	}
	in := group(before, live)
	plan, err := assign.CooperativeSticky{}.Target(in)
	if err == nil {
		err = assign.Verify(in, plan, assign.Options{})
	}
	if err != nil {
		panic("planning for a group of one topic: " + err.Error())
	}
	score, err := assign.Measure(in, plan)
	if err != nil {
		panic("measuring a plan that is proven: " + err.Error())
	}
	return score.Moves + score.Unowned
}

// need marks the partitions that had to move. Those of members that are gone had
// to. Of the others the number is what counts, not which ones: the ones that
// stood still longest are taken, in favour of who moved too many.
func need(stops []Stop, live []string, fewest int) {
	moved := []*Stop{}
	for i := range stops {
		if s := &stops[i]; s.Moved() {
			moved = append(moved, s)
		}
	}
	orphan := func(s *Stop) int {
		if slices.Contains(live, s.From) {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(moved, func(a, b *Stop) int {
		return cmp.Or(cmp.Compare(orphan(a), orphan(b)), cmp.Compare(b.Took, a.Took))
	})
	for _, s := range moved[:min(fewest, len(moved))] {
		s.Needed = true
	}
}

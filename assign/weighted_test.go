package assign_test

import (
	"math/rand/v2"
	"testing"

	"github.com/skeinstream/skein/assign"
)

func randomWeights(r *rand.Rand, in assign.Input) {
	style := r.IntN(3)
	for t := range in.Topics {
		for range in.Topics[t].Partitions {
			w := int64(r.IntN(10))
			if style == 1 && r.IntN(4) == 0 {
				w *= 20
			}
			if style == 2 {
				w = 0
			}
			in.Topics[t].Weights = append(in.Topics[t].Weights, w)
		}
	}
}

func (o *oracle) heaviest(of []int) (largest int64) {
	loads := make([]int64, o.members)
	for p, m := range of {
		if m >= 0 {
			loads[m] += o.in.Topics[o.topicIn(p)].Weights[o.numberOf[p]]
			largest = max(largest, loads[m])
		}
	}
	return largest
}

func (o *oracle) topicIn(p int) int {
	for i := range o.in.Topics {
		if o.in.Topics[i].Name == o.names[o.topicOf[p]] {
			return i
		}
	}
	return -1
}

// TestWeightedKeepsItsBound: the bound is one, the plan is within the heaviest
// partition of it, and the gap that is told is the true one.
func TestWeightedKeepsItsBound(t *testing.T) {
	r := seeded(t)
	best, plans := 0, 0
	for range rounds(600) {
		in := randomGroup(r, size{4, 4, 4, 7})
		randomWeights(r, in)
		o := newOracle(in)
		plan, gap, err := assign.Weighted{Tolerance: -1}.Plan(in)
		if err != nil {
			t.Fatal(err)
		}
		of := o.flatten(t, plan)
		o.complete(t, of)
		least := int64(1 << 60)
		o.every(func(of []int) { least = min(least, o.heaviest(of)) })
		if reached := o.heaviest(of); reached != gap.Reached || gap.Bound > least || reached > gap.Bound+gap.Heaviest {
			t.Fatalf("%+v\nplan %s: largest load %d, least possible %d, gap %+v", in, show(in, plan), reached, least, gap)
		} else if plans++; reached == least {
			best++
		}
		checkOrderDoesNotMatter(t, r, assign.Weighted{}, in, mustPlan(t, assign.Weighted{}, in))
	}
	t.Logf("%d of %d plans were the best there are", best, plans)
}

// TestWeightedLeavesOwnersAlone within the tolerance.
func TestWeightedLeavesOwnersAlone(t *testing.T) {
	in := assign.Input{Members: members("a: t owns t-0 t-1 | b: t owns t-2 t-3"), Topics: cluster("t:4")}
	in.Topics[0].Weights = []int64{50, 54, 50, 46}
	if got, want := show(in, mustPlan(t, assign.Weighted{}, in)), "a: t-0 t-1 | b: t-2 t-3"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	in.Topics[0].Weights[0] = 90
	plan, gap, err := assign.Weighted{}.Plan(in)
	if err != nil || gap.Reached >= 144 {
		t.Errorf("%s, gap %+v (%.0f%%), %v: want less than a has now", show(in, plan), gap, gap.Percent(), err)
	}
}

// TestWeightedSpreadsWhatWeighsNothing by number.
func TestWeightedSpreadsWhatWeighsNothing(t *testing.T) {
	in := assign.Input{Members: members("a: t | b: t | c: t"), Topics: cluster("t:9")}
	in.Topics[0].Weights = make([]int64, 9)
	plan := mustPlan(t, assign.Weighted{}, in)
	for i := range in.Members {
		if plan.Load(i) != 3 {
			t.Errorf("%s: want 3 each", show(in, plan))
		}
	}
}

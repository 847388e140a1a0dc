package assign_test

import (
	"testing"

	"github.com/skeinstream/skein/assign"
)

// spread sums the squares of what members have of each topic.
func (o *oracle) spread(of []int) (sum int) {
	counts := make([]int, len(o.names)*o.members)
	for p, m := range of {
		if m >= 0 {
			i := o.topicOf[p]*o.members + m
			sum += 2*counts[i] + 1
			counts[i]++
		}
	}
	return sum
}

// perTopic returns, by topic and member, how many partitions it has.
func (o *oracle) perTopic(of []int) map[string][]int {
	counts := map[string][]int{}
	for _, name := range o.names {
		counts[name] = make([]int, o.members)
	}
	for p, m := range of {
		if m >= 0 {
			counts[o.names[o.topicOf[p]]][m]++
		}
	}
	return counts
}

// TestTopicsAreSpreadAfterScaleUp: field report A1: 2 topics of 18, a ninth member
// joins eight; all have 4 in the end, 2 of each topic.
func TestTopicsAreSpreadAfterScaleUp(t *testing.T) {
	in := uniform(9, 2, 36)
	eight := assign.Input{Topics: in.Topics, Members: in.Members[:8]}
	in.Members = append(after(eight, mustPlan(t, assign.CooperativeSticky{}, eight)).Members, in.Members[8])
	o := newOracle(in)
	plan := mustPlan(t, target{assign.CooperativeSticky{}}, in)
	of := o.flatten(t, plan)
	if moved := o.moved(of); moved != 4 {
		t.Errorf("%d moves, want 4", moved)
	}
	for topic, counts := range o.perTopic(of) {
		for m, n := range counts {
			if n != 2 {
				t.Errorf("member %d has %d of %s, want 2: %s", m, n, topic, show(in, plan))
			}
		}
	}
}

// TestEqualSubscriptionsSpreadEveryTopic: what is planned from nothing differs by
// one at most, in every topic and in total; also in groups too large for the
// exact method.
func TestEqualSubscriptionsSpreadEveryTopic(t *testing.T) {
	r := seeded(t)
	for range rounds(60) {
		in := uniform(1+r.IntN(60), 1+r.IntN(120), 0)
		for i := range in.Topics {
			in.Topics[i].Partitions = int32(r.IntN(40))
		}
		o := newOracle(in)
		of := o.flatten(t, mustPlan(t, assign.Sticky{}, in))
		o.complete(t, of)
		counts := o.perTopic(of)
		counts["all"] = o.loads(of)
		for topic, counts := range counts {
			if d := descending(counts); d[0] > d[len(d)-1]+1 {
				t.Fatalf("%d members, %d topics: %s is spread as %v", len(in.Members), len(in.Topics), topic, counts)
			}
		}
	}
}

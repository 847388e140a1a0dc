package assign_test

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/skeinstream/skein/assign"
)

// TestMiddlingGroupsKeepTheirPromises: in groups too large to try all
// assignments, where topics are spread by rule of thumb, too, the order of the
// input does not matter, a plan fed back is a fixed point, and cooperative groups
// need two rounds at most.
func TestMiddlingGroupsKeepTheirPromises(t *testing.T) {
	r := seeded(t)
	for i := range rounds(60) {
		in := randomGroup(r, size{40, 30, 30, 500})
		if i%2 == 0 {
			randomRacks(r, in)
		}
		checkPromises(t, r, in, randomOptions(r.IntN(9)))
	}
}

func checkPromises(t *testing.T, r *rand.Rand, in assign.Input, opt assign.Options) {
	t.Helper()
	sticky, cooperative := assign.Sticky{Options: opt}, assign.CooperativeSticky{Options: opt}
	plan := mustPlan(t, sticky, in)
	checkOrderDoesNotMatter(t, r, sticky, in, plan)
	checkOrderDoesNotMatter(t, r, cooperative, in, mustPlan(t, cooperative, in))
	if again := mustPlan(t, sticky, after(in, plan)); show(in, again) != show(in, plan) {
		t.Fatalf("%+v\noptions %+v, plan %s\nfed back it becomes %s", in, opt, show(in, plan), show(in, again))
	}
	if settled, n := settle(t, cooperative, in); n > 2 {
		t.Fatalf("%+v\noptions %+v: %d rounds, to %s", in, opt, n, show(settled, mustPlan(t, cooperative, settled)))
	}
}

// TestPlansMakeLittleGarbage: at most 20 bytes a partition, besides the plan
// itself and a little that every plan needs.
func TestPlansMakeLittleGarbage(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	const fixed = 64 << 10
	equal := mixed(t, r, uniform(200, 50, 20_000))
	joined := mixed(t, r, assign.Input{Topics: equal.Topics, Members: equal.Members[1:]})
	joined.Members = append(joined.Members, uniform(1, 50, 0).Members[0])
	differing := mixed(t, r, subsets(r, 200, 100, 20_000, 10))
	for name, in := range map[string]assign.Input{
		"equal, fresh":       uniform(200, 50, 20_000),
		"equal, settled":     equal,
		"equal, one joins":   joined,
		"equal, some leave":  {Topics: equal.Topics, Members: equal.Members[20:]},
		"differing, fresh":   subsets(r, 200, 100, 20_000, 10),
		"differing, settled": differing,
		"differing, leave":   {Topics: differing.Topics, Members: differing.Members[20:]},
	} {
		var plan assign.Plan
		bytes := allocated(func() { plan = mustPlan(t, assign.Sticky{}, in) })
		garbage := bytes - sizeOf(in, plan)
		t.Logf("%s: %.1f bytes a partition besides the plan", name, float64(garbage)/20_000)
		if garbage > 20*20_000+fixed {
			t.Errorf("%s: %d bytes besides the plan, want at most 20 for each of 20,000 partitions", name, garbage)
		}
	}
}

// allocated returns how many bytes run allocates; nothing else may run.
func allocated(run func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	run()
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
}

// sizeOf is what a plan holds: partitions, where each member's part of each
// topic is, and the names.
func sizeOf(in assign.Input, plan assign.Plan) int {
	size := 4*plan.Partitions() + 8*len(in.Members) + 16*len(in.Topics)
	for i := range in.Members {
		size += 8 * len(plan.List(i))
	}
	return size
}

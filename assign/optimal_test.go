package assign_test

import (
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"github.com/skeinstream/skein/assign"
)

// seeded returns a random source and says how to get it again.
func seeded(t testing.TB) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	if s := os.Getenv("SKEIN_SEED"); s != "" {
		seed, _ = strconv.ParseUint(s, 10, 64)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("again with SKEIN_SEED=%d", seed)
		}
	})
	return rand.New(rand.NewPCG(seed, 0))
}

// rounds is how many random groups a test looks at: n, with SKEIN_LONG that many
// times more, under the race detector a quarter.
func rounds(n int) int {
	if raced {
		n = max(n/4, 1)
	}
	if f, err := strconv.Atoi(os.Getenv("SKEIN_LONG")); err == nil {
		return n * f
	}
	return n
}

// TestStickyIsOptimal: R-A8, R-A10, R-A13: against all assignments of small groups, the loads are
// fairest, the moves fewest, former owners come before strangers, and topics are
// spread evenly, each goal as far as those before it allow; the order of the input does not matter, and a
// plan fed back is a fixed point.
func TestStickyIsOptimal(t *testing.T) {
	r := seeded(t)
	for range rounds(2500) {
		in := randomGroup(r, small)
		o := newOracle(in)
		plan := mustPlan(t, assign.Sticky{}, in)
		of := o.flatten(t, plan)
		o.complete(t, of)
		score := func(of []int) []int {
			return append(descending(o.loads(of)), o.moved(of), o.estranged(of), o.spread(of))
		}
		if got, best := score(of), o.best(score); !slices.Equal(got, best) {
			t.Fatalf("%+v\nplan %s\nloads and moves %v, best %v", in, show(in, plan), got, best)
		}
		checkOrderDoesNotMatter(t, r, assign.Sticky{}, in, plan)
		if again := mustPlan(t, assign.Sticky{}, after(in, plan)); show(in, again) != show(in, plan) {
			t.Fatalf("%+v\nplan %s\nfed back it becomes %s", in, show(in, plan), show(in, again))
		}
	}
}

// TestFormerOwnersOfAnotherLevel: m3 must give up one of three. t2-0 was m5's once,
// who cannot have it again, since it has its fill of t1; t2-3 and t2-5 were nobody's,
// so that one of those goes. (Found by a million rebalances.)
func TestFormerOwnersOfAnotherLevel(t *testing.T) {
	in := assign.Input{Members: members("m0: owns t1-6 t2-1 | m1: t1 | m2: owns t1-1 t1-3 t2-4 | m3: t2 owns t1-0 t2-0 t2-3 t2-5 | m4: t2 owns t2-2 | m5: t2 t1 owns t1-0 t1-2 t1-5 t2-0 t2-1 | m6: t2"), Topics: cluster("t1:7 t2:6")}
	for i, g := range []int32{2, 1, 0, 1, 2, 0, 0} {
		in.Members[i].Generation = g
	}
	plan := prove(t, in, assign.Options{})
	for topic, partitions := range plan.Of(3) {
		if topic != "t2" || len(partitions) != 2 || partitions[0] != 0 {
			t.Errorf("%s: m3 must keep t2-0 and one more", show(in, plan))
		}
	}
}

func checkOrderDoesNotMatter(t *testing.T, r *rand.Rand, a assign.Assignor, in assign.Input, plan assign.Plan) {
	t.Helper()
	other, from := shuffled(r, in)
	got := mustPlan(t, a, other)
	for i, was := range from {
		if !reflect.DeepEqual(got.List(i), plan.List(was)) {
			t.Fatalf("%+v\n%s gives %s %v, in another order %v", in, a.Name(), in.Members[was].ID, plan.List(was), got.List(i))
		}
	}
}

// TestRacksAreOptimalInBothOrders: assign loads, then moves and misfits.
func TestRacksAreOptimalInBothOrders(t *testing.T) {
	r := seeded(t)
	for range rounds(500) {
		in := randomGroup(r, size{4, 3, 4, 7})
		randomRacks(r, in)
		o := newOracle(in)
		for _, order := range []assign.RackOrder{assign.RacksAfterMoves, assign.RacksBeforeMoves, assign.RacksIgnored} {
			score := func(of []int) []int {
				s := descending(o.loads(of))
				switch order {
				case assign.RacksAfterMoves:
					return append(s, o.moved(of), o.misfits(of), o.estranged(of), o.spread(of))
				case assign.RacksBeforeMoves:
					return append(s, o.misfits(of), o.moved(of), o.estranged(of), o.spread(of))
				}
				return append(s, o.moved(of), o.estranged(of), o.spread(of))
			}
			a := assign.Sticky{Options: assign.Options{Racks: order}}
			plan := mustPlan(t, a, in)
			of := o.flatten(t, plan)
			o.complete(t, of)
			if got, best := score(of), o.best(score); !slices.Equal(got, best) {
				t.Fatalf("racks %d: %+v\nplan %s\nscore %v, best %v", order, in, show(in, plan), got, best)
			}
			checkOrderDoesNotMatter(t, r, a, in, plan)
		}
	}
}

// TestSlackSavesMovesExactly: fewest moves with every load within the slack of
// its fair box, and of those plans one that leaves the box least.
func TestSlackSavesMovesExactly(t *testing.T) {
	r := seeded(t)
	for range rounds(500) {
		in := randomGroup(r, small)
		o := newOracle(in)
		slack := 1 + r.IntN(2)
		low, high := o.fairBoxes()
		score := func(of []int) []int {
			outside := 0
			for m, load := range o.loads(of) {
				if load < low[m]-slack || load > high[m]+slack {
					return []int{1}
				}
				outside += max(low[m]-load, load-high[m], 0)
			}
			return []int{0, o.moved(of), outside, o.estranged(of), o.spread(of)}
		}
		a := assign.Sticky{Options: assign.Options{Slack: int32(slack)}}
		plan := mustPlan(t, a, in)
		of := o.flatten(t, plan)
		o.complete(t, of)
		if got, best := score(of), o.best(score); !slices.Equal(got, best) {
			t.Fatalf("slack %d: %+v\nplan %s\nscore %v, best %v", slack, in, show(in, plan), got, best)
		}
		checkOrderDoesNotMatter(t, r, a, in, plan)
	}
}

// fairBoxes returns the least and the most that each member has in a fairest
// assignment, brought to the width of one that levels have.
func (o *oracle) fairBoxes() (low, high []int) {
	fairest := o.best(func(of []int) []int { return descending(o.loads(of)) })
	low, high = make([]int, o.members), make([]int, o.members)
	for m := range low {
		low[m] = 1 << 30
	}
	o.every(func(of []int) {
		loads := o.loads(of)
		if !slices.Equal(descending(loads), fairest) {
			return
		}
		for m, load := range loads {
			low[m], high[m] = min(low[m], load), max(high[m], load)
		}
	})
	return low, high
}

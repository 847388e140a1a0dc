package assign_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/skeinstream/skein/assign"
	"pgregory.net/rapid"
)

// planOf turns owners by partition into a plan.
func (o *oracle) planOf(of []int) assign.Plan {
	lists := make([][]assign.TopicPartitions, o.members)
	for p, m := range of {
		if m >= 0 {
			lists[m] = append(lists[m], list(o.names[o.topicOf[p]], o.numberOf[p]))
		}
	}
	return assign.PlanOf(lists)
}

// score is what Verify checks, for o's options.
func (o *oracle) score(opt assign.Options, of []int, low, high []int) []int {
	s := descending(o.loads(of))
	moved, misfits := o.moved(of), o.misfits(of)
	if opt.Racks == assign.RacksIgnored {
		misfits = 0
	}
	outside := 0
	if opt.Slack > 0 {
		s = []int{0}
		for m, load := range o.loads(of) {
			if load < low[m]-int(opt.Slack) || load > high[m]+int(opt.Slack) {
				s[0] = 1
			}
			outside += max(low[m]-load, load-high[m], 0)
		}
	}
	if opt.Racks == assign.RacksBeforeMoves {
		return append(s, misfits, moved, outside, o.estranged(of))
	}
	return append(s, moved, outside, misfits, o.estranged(of))
}

// TestVerifyIsRightAboutEveryPlan: it passes exactly the plans that no other
// assignment of the group beats.
func TestVerifyIsRightAboutEveryPlan(t *testing.T) {
	r := seeded(t)
	for i := range rounds(120) {
		in := randomGroup(r, size{4, 3, 4, 6})
		randomRacks(r, in)
		o := newOracle(in)
		opt := randomOptions(i)
		low, high := o.fairBoxes()
		best := o.best(func(of []int) []int { return o.score(opt, of, low, high) })
		o.every(func(of []int) {
			err := assign.Verify(in, o.planOf(of), opt)
			if good := slices.Equal(o.score(opt, of, low, high), best); good != (err == nil) {
				t.Fatalf("%+v\noptions %+v, plan %s\nscore %v, best %v, verdict %v", in, opt, show(in, o.planOf(of)), o.score(opt, of, low, high), best, err)
			}
		})
	}
}

// TestCounterExamplesHold: what an UnfairError tells makes loads fairer.
func TestCounterExamplesHold(t *testing.T) {
	in := assign.Input{Members: members("m0: t0 t1 | m1: t0 | m2: t0 t1 | m3: t0"), Topics: cluster("t0:2 t1:2")}
	plan := assign.PlanOf([][]assign.TopicPartitions{{list("t1", 0)}, nil, {list("t0", 0), list("t1", 1)}, {list("t0", 1)}})
	var unfair *assign.UnfairError
	if err := assign.Verify(in, plan, assign.Options{}); !errors.As(err, &unfair) {
		t.Fatalf("error %v, want an UnfairError", err)
	}
	if unfair.Rich != 2 || unfair.Poor != 0 || unfair.Transfers[0].From != "m2" || unfair.Transfers[len(unfair.Transfers)-1].To != "m1" {
		t.Errorf("%v", unfair)
	}
	in.Members[0].Owned = []assign.TopicPartitions{list("t1", 0)}
	in.Members[2].Owned = []assign.TopicPartitions{list("t0", 0)}
	in.Members[3].Owned = []assign.TopicPartitions{list("t0", 1)}
	plan = assign.PlanOf([][]assign.TopicPartitions{{list("t1", 1)}, {list("t0", 0)}, {list("t1", 0)}, {list("t0", 1)}})
	var wasteful *assign.WastefulError
	if err := assign.Verify(in, plan, assign.Options{}); !errors.As(err, &wasteful) || wasteful.Moves != 1 {
		t.Errorf("error %v, want a WastefulError that saves a move", err)
	}
	in = assign.Input{Members: members("m0: t | m1: t"), Topics: cluster("t:2")}
	in.Members[0].Owned, in.Members[1].Owned = []assign.TopicPartitions{list("t", 0)}, []assign.TopicPartitions{list("t", 1)}
	err := assign.Verify(in, assign.PlanOf([][]assign.TopicPartitions{{list("t", 1)}, {list("t", 0)}}), assign.Options{})
	if want := "one of t of m0 for one that was its own saves 1 move ("; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q in it", err, want)
	}
}

// TestVerifyRefusesWhatIsNoPlan.
func TestVerifyRefusesWhatIsNoPlan(t *testing.T) {
	in := assign.Input{Members: members("a: t | b: u"), Topics: cluster("t:1 u:1 v:1")}
	for name, lists := range map[string][][]assign.TopicPartitions{
		"incomplete":    {{list("t", 0)}, nil},
		"too few":       {{list("t", 0)}},
		"unknown":       {{list("t", 0, 1)}, {list("u", 0)}},
		"given twice":   {{list("t", 0, 0)}, {list("u", 0)}},
		"no subscriber": {{list("t", 0), list("u", 0)}, nil},
	} {
		var want *assign.InvalidPlanError
		if err := assign.Verify(in, assign.PlanOf(lists), assign.Options{}); !errors.As(err, &want) {
			t.Errorf("%s: error %v, want an InvalidPlanError", name, err)
		}
	}
}

// TestPlansOfAllSizesAreProven: Verify as the oracle, on groups too large for
// anything else, after random changes of a settled past.
func TestPlansOfAllSizesAreProven(t *testing.T) {
	r := seeded(t)
	for i := range rounds(150) {
		in := randomGroup(r, size{40, 30, 30, 500})
		if i%2 == 0 {
			randomRacks(r, in)
		}
		opt := randomOptions(r.IntN(9))
		prove(t, in, opt)
		next := changed(r, in, mustPlan(t, assign.Sticky{Options: opt}, in))
		prove(t, next, opt)
	}
}

func prove(t testing.TB, in assign.Input, opt assign.Options) assign.Plan {
	t.Helper()
	plan := mustPlan(t, assign.Sticky{Options: opt}, in)
	if err := assign.Verify(in, plan, opt); err != nil {
		t.Fatalf("%+v\noptions %+v: %v", in, opt, err)
	}
	return plan
}

// changed lets one thing happen to a settled group: a member leaves or joins,
// a topic grows, appears or vanishes, somebody subscribes otherwise.
func changed(r *rand.Rand, in assign.Input, plan assign.Plan) assign.Input {
	out := after(in, plan)
	out.Topics = slices.Clone(in.Topics)
	m, topic := r.IntN(len(out.Members)), r.IntN(len(out.Topics))
	switch r.IntN(5) {
	case 0:
		out.Members = slices.Delete(out.Members, m, m+1)
	case 1:
		out.Members = append(out.Members, assign.Member{ID: fmt.Sprintf("n%x", r.Uint64()), Subscription: assign.Subscription{Topics: out.Members[m].Topics}})
	case 2:
		out.Topics[topic].Partitions += int32(r.IntN(10))
	case 3:
		out.Topics = slices.Delete(out.Topics, topic, topic+1)
	case 4:
		out.Members[m].Topics = append(slices.Clone(out.Members[m].Topics), out.Topics[topic].Name)
	}
	return out
}

// TestRebalancesStayOptimal: histories of changes, each plan proven, every third
// one with racks and other options. The long form, SKEIN_LONG=1000, is a million
// rebalances.
func TestRebalancesStayOptimal(t *testing.T) {
	r := seeded(t)
	const changes = 5
	proven := 0
	for i := range rounds(200) {
		in, opt := randomGroup(r, size{7, 6, 8, 40}), assign.Options{}
		if i%3 == 2 {
			randomRacks(r, in)
			opt = randomOptions(r.IntN(9))
		}
		for range changes {
			if len(in.Members) == 0 || len(in.Topics) == 0 {
				in = randomGroup(r, size{7, 6, 8, 40})
			}
			in = changed(r, in, prove(t, in, opt))
			proven++
		}
	}
	t.Logf("%d rebalances proven", proven)
}

// TestHistoriesStayOptimal is the same with sequences that shrink.
func TestHistoriesStayOptimal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		in := randomGroup(r, size{8, 6, 8, 40})
		for range rapid.IntRange(1, 6).Draw(t, "changes") {
			if len(in.Members) == 0 || len(in.Topics) == 0 {
				return
			}
			plan, err := assign.Sticky{}.Assign(in)
			if err != nil {
				t.Fatal(err)
			}
			if err := assign.Verify(in, plan, assign.Options{}); err != nil {
				t.Fatalf("%+v\n%v", in, err)
			}
			in = changed(r, in, plan)
		}
	})
}

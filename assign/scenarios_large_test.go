package assign_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/skeinstream/skein/assign"
)

// ascending is a group of equal subscriptions to topics with 1, 2, 3, ... partitions.
func ascending(members, topics int) assign.Input {
	in := uniform(members, topics, 0)
	for t := range in.Topics {
		in.Topics[t].Partitions = int32(t + 1)
	}
	return in
}

// resubscribe gives every member fewer than most topics by chance.
func resubscribe(r *rand.Rand, in assign.Input, most int) {
	for i := range in.Members {
		in.Members[i].Topics = nil
		for range r.IntN(most) {
			in.Members[i].Topics = append(in.Members[i].Topics, in.Topics[r.IntN(len(in.Topics))].Name)
		}
	}
}

// scenario is a group without a past, and what happens when it has one.
type scenario struct {
	name   string
	in     func() assign.Input
	change func(in *assign.Input)
}

// TestLargerScenariosOfKafkasOwnTests: groups with a past, and what happens to
// them in Kafka's tests; every plan is proven, which is more than they ask.
func TestLargerScenariosOfKafkasOwnTests(t *testing.T) {
	for _, c := range largerScenarios(seeded(t)) {
		in := c.in()
		in = owned(in, prove(t, in, assign.Options{}))
		c.change(&in)
		prove(t, in, assign.Options{})
		if settled, n := settle(t, assign.CooperativeSticky{}, in); n > 2 || len(settled.Members) != len(in.Members) {
			t.Errorf("%s: %d rounds", c.name, n)
		}
		if t.Failed() {
			t.Fatal(c.name)
		}
	}
}

func largerScenarios(r *rand.Rand) []scenario {
	return []scenario{
		{"a tenth member joins nine of one topic", func() assign.Input { return uniform(9, 1, 20) },
			func(in *assign.Input) { in.Members = append(in.Members, uniform(10, 1, 0).Members[9]) }},
		{"one of eight equal members leaves", func() assign.Input { return ascending(8, 14) },
			func(in *assign.Input) { in.Members = slices.Delete(in.Members, 4, 5) }},
		{"50 of 200 with up to 19 of 40 topics leave", func() assign.Input {
			in := ascending(200, 40)
			for i := range in.Topics {
				in.Topics[i].Partitions = int32(1 + r.IntN(10))
			}
			resubscribe(r, in, 20)
			return in
		}, func(in *assign.Input) {
			for range 50 {
				i := r.IntN(len(in.Members))
				in.Members = slices.Delete(in.Members, i, i+1)
			}
		}},
		{"everybody subscribes otherwise at once", func() assign.Input {
			in := ascending(20+r.IntN(20), 10+r.IntN(10))
			resubscribe(r, in, 10)
			return in
		}, func(in *assign.Input) { resubscribe(r, *in, 10) }},
		{"every fourth member has the one half of the topics, the others the other", func() assign.Input {
			in := uniform(20, 50, 10_000)
			for i, m := range in.Members {
				in.Members[i].Topics = m.Topics[25:]
				if i%4 == 0 {
					in.Members[i].Topics = m.Topics[:25]
				}
			}
			return in
		}, func(in *assign.Input) { in.Members[0].Owned = nil }},
		{"one of many has a single topic", func() assign.Input {
			in := uniform(100, 20, 4000)
			in.Members[99].Topics = in.Members[99].Topics[:1]
			return in
		}, func(in *assign.Input) { in.Members[0].Owned = nil }},
	}
}

// racked spreads replicas over racks, one partition after the other, and members too.
func racked(in assign.Input, replicas, racks, membersRacks int) assign.Input {
	n := 0
	for t := range in.Topics {
		in.Topics[t].Racks = nil
		for range in.Topics[t].Partitions {
			var of []string
			for k := range replicas {
				of = append(of, fmt.Sprintf("r%d", (n+k)%racks))
			}
			in.Topics[t].Racks = append(in.Topics[t].Racks, of)
			n++
		}
	}
	for i := range in.Members {
		in.Members[i].Rack = fmt.Sprintf("r%d", i%membersRacks)
	}
	return in
}

// TestRackScenariosOfKafkasOwnTests: 15 partitions of three topics for three
// members in three racks. Loads are 5 each whatever the racks; how many partitions
// must be in a wrong rack is told.
func TestRackScenariosOfKafkasOwnTests(t *testing.T) {
	const equal, differing = "c1: t1 t2 t3 | c2: t1 t2 t3 | c3: t1 t2 t3", "c1: t1 t2 t3 | c2: t1 t2 t3 | c3: t1 t3"
	for _, c := range []struct {
		name, members   string
		replicas, racks int
		misfits         int
	}{
		{"one replica", equal, 1, 3, 0},
		{"two replicas", equal, 2, 3, 0},
		{"a replica in every rack", equal, 3, 3, 0},
		{"more racks than members", equal, 3, 4, 0},
		{"a member in a rack without replicas", equal, 2, 2, 5},
		{"one replica, and a member with fewer topics", differing, 1, 3, 4},
		{"two replicas, and a member with fewer topics", differing, 2, 3, 0},
		{"a replica in every rack, and a member with fewer topics", differing, 3, 3, 0},
	} {
		for _, order := range []assign.RackOrder{assign.RacksAfterMoves, assign.RacksBeforeMoves} {
			opt := assign.Options{Racks: order}
			in := racked(assign.Input{Members: members(c.members), Topics: cluster("t1:6 t2:7 t3:2")}, c.replicas, c.racks, 3)
			plan := prove(t, in, opt)
			checkRacks(t, c.name, in, plan, c.misfits)
			again := prove(t, after(in, plan), opt)
			if show(in, again) != show(in, plan) {
				t.Errorf("%s, racks %d: fed back, %s becomes %s", c.name, order, show(in, plan), show(in, again))
			}
		}
	}
}

func checkRacks(t *testing.T, name string, in assign.Input, plan assign.Plan, misfits int) {
	t.Helper()
	s, err := assign.Measure(in, plan)
	if err != nil || s.Misfits != misfits || !slices.Equal(s.Loads, []int{5, 5, 5}) {
		t.Errorf("%s: %s: %+v, %v; want 5 each, %d in a wrong rack", name, show(in, plan), s, err, misfits)
	}
}

// TestOwnedInAWrongRack: what is owned in a wrong rack is given up when racks come
// before moves, as in Kafka, and kept when moves come first.
func TestOwnedInAWrongRack(t *testing.T) {
	in := assign.Input{Members: members("c1: t1 t2 t3 owns t1-0 t1-1 t1-2 t1-3 t1-4 | c2: t1 t2 t3 owns t1-5 t2-0 t2-1 t2-2 t2-3 | c3: t1 t2 t3 owns t2-4 t2-5 t2-6 t3-0 t3-1"), Topics: cluster("t1:6 t2:7 t3:2")}
	in = racked(in, 1, 3, 3)
	before := prove(t, in, assign.Options{Racks: assign.RacksBeforeMoves})
	checkRacks(t, "racks first", in, before, 0)
	stay := prove(t, in, assign.Options{Racks: assign.RacksAfterMoves})
	if s, err := assign.Measure(in, stay); err != nil || s.Moves != 0 || s.Misfits == 0 {
		t.Errorf("moves first: %s: %+v, %v", show(in, stay), s, err)
	}
}

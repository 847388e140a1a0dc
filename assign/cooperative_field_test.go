package assign_test

import (
	"fmt"
	"testing"

	"github.com/skeinstream/skein/assign"
)

// settle lets a cooperative group rebalance until nobody has to let go of
// anything; it returns the group and how many rounds that took.
func settle(t testing.TB, a assign.CooperativeSticky, in assign.Input) (assign.Input, int) {
	t.Helper()
	for n := 1; ; n++ {
		plan := mustPlan(t, a, in)
		if err := assign.Check(in, plan, assign.Cooperative); err != nil {
			t.Fatalf("%+v\nround %d: %v", in, n, err)
		}
		revoked := 0
		o := newOracle(in)
		of := o.flatten(t, plan)
		for p, holders := range o.holders {
			for _, m := range holders {
				if of[p] != m {
					revoked++
				}
			}
		}
		in = after(in, plan)
		if revoked == 0 {
			o.complete(t, of)
			return in, n
		}
		if n > 5 {
			t.Fatalf("%+v: still unsettled after %d rounds", in, n)
		}
	}
}

// TestRacksThatChangeHandNothingOver: field report A10: three racks, eight
// partitions, and two members exchange their racks. What they have is in a wrong
// rack then, and must be let go of before it is given out; nobody has more than
// three meanwhile.
func TestRacksThatChangeHandNothingOver(t *testing.T) {
	in := assign.Input{Members: members("a: t | b: t | c: t"), Topics: cluster("t:8")}
	for p := range in.Topics[0].Partitions {
		in.Topics[0].Racks = append(in.Topics[0].Racks, []string{fmt.Sprintf("r%d", p%3)})
	}
	for i := range in.Members {
		in.Members[i].Rack = fmt.Sprintf("r%d", i)
	}
	a := assign.CooperativeSticky{Options: assign.Options{Racks: assign.RacksBeforeMoves}}
	in, _ = settle(t, a, in)
	if s, err := assign.Measure(in, mustPlan(t, a, in)); err != nil || s.Misfits != 0 {
		t.Fatalf("%+v, %v: want every partition in the rack of its member", s, err)
	}
	in.Members[0].Rack, in.Members[1].Rack = "r1", "r0"
	goal := mustPlan(t, target{a}, in)
	if s, err := assign.Measure(in, goal); err != nil || s.Misfits != 0 || s.Moves != 6 {
		t.Fatalf("%+v, %v: want all six exchanged", s, err)
	}
	first := mustPlan(t, a, in)
	checkWithheld(t, in, goal, first)
	for i := range in.Members {
		if n := first.Load(i); n > 3 {
			t.Errorf("%s has %d in the first round", in.Members[i].ID, n)
		}
	}
	settled, rounds := settle(t, a, in)
	if rounds != 2 || show(settled, mustPlan(t, a, settled)) != show(in, goal) {
		t.Errorf("after %d rounds %s, want in two %s", rounds, show(settled, mustPlan(t, a, settled)), show(in, goal))
	}
}

// TestRestartOfOneOfTwelveProcesses: field report A9: twelve processes of seven
// members, each of them on another topic. One process restarts: its members leave,
// and come back under other names. Each time the group settles within two
// rounds, and only what the newcomers must have moves.
func TestRestartOfOneOfTwelveProcesses(t *testing.T) {
	var in assign.Input
	process := func(name string) {
		for k := range 7 {
			m := assign.Member{ID: fmt.Sprintf("%s-%d", name, k), Subscription: assign.Subscription{Topics: []string{fmt.Sprintf("t%d", k)}, Generation: assign.NoGeneration}}
			in.Members = append(in.Members, m)
		}
	}
	for k := range 7 {
		in.Topics = append(in.Topics, assign.Topic{Name: fmt.Sprintf("t%d", k), Partitions: 24})
	}
	for p := range 12 {
		process(fmt.Sprintf("p%02d", p))
	}
	var a assign.CooperativeSticky
	in, rounds := settle(t, a, in)
	if rounds != 1 {
		t.Errorf("%d rounds from nothing, want 1", rounds)
	}
	in.Members = in.Members[7:]
	if s, err := assign.Measure(in, mustPlan(t, target{a}, in)); err != nil || s.Moves != 0 || s.Unowned != 14 {
		t.Errorf("%+v, %v: want the 14 that are free given out, and nothing moved", s, err)
	}
	if in, rounds = settle(t, a, in); rounds != 1 {
		t.Errorf("%d rounds after they left, want 1", rounds)
	}
	process("q00")
	if s, err := assign.Measure(in, mustPlan(t, target{a}, in)); err != nil || s.Moves != 14 {
		t.Errorf("%+v, %v: want 14 moves for the newcomers", s, err)
	}
	if in, rounds = settle(t, a, in); rounds != 2 {
		t.Errorf("%d rounds after they came back, want 2", rounds)
	}
	for i, m := range in.Members {
		if n := mustPlan(t, a, in).Load(i); n != 2 {
			t.Errorf("%s has %d, want 2", m.ID, n)
		}
	}
}

package assign_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/skeinstream/skein/assign"
)

// randomOptions covers what can be asked for.
func randomOptions(n int) assign.Options {
	return assign.Options{Racks: assign.RackOrder(n % 3), Slack: int32(n / 3 % 3 % 2)}
}

// TestCooperativeNeedsTwoRoundsAtMost: R-A19, R-A20: a partition stays with
// nobody while any other member holds it, the second round revokes nothing and
// gives out all that is left, and the third changes nothing.
func TestCooperativeNeedsTwoRoundsAtMost(t *testing.T) {
	r := seeded(t)
	for i := range rounds(3000) {
		in := randomGroup(r, size{5, 5, 5, 12})
		randomRacks(r, in)
		a := assign.CooperativeSticky{Options: randomOptions(i)}
		target, err := a.Target(in)
		if err != nil {
			t.Fatal(err)
		}
		first := mustPlan(t, a, in)
		checkWithheld(t, in, target, first)
		if err := assign.Check(in, first, assign.Cooperative); err != nil {
			t.Fatalf("%+v\nplan %s: %v", in, show(in, first), err)
		}
		next := after(in, first)
		o := newOracle(next)
		second := mustPlan(t, a, next)
		of := o.flatten(t, second)
		o.complete(t, of)
		if n := o.moved(of); n != 0 {
			t.Fatalf("%+v\nfirst round %s\nsecond %s revokes %d", in, show(in, first), show(in, second), n)
		}
		if third := mustPlan(t, a, after(in, second)); show(in, third) != show(in, second) {
			t.Fatalf("%+v\nsecond round %s\nthird %s", in, show(in, second), show(in, third))
		}
		checkOrderDoesNotMatter(t, r, a, in, first)
	}
}

// checkWithheld: the first round is the target without what others hold.
func checkWithheld(t *testing.T, in assign.Input, target, first assign.Plan) {
	t.Helper()
	o := newOracle(in)
	want := o.flatten(t, target)
	o.complete(t, want)
	got := o.flatten(t, first)
	for p, m := range want {
		if m < 0 {
			continue
		}
		free := m == o.owner[p] || !slices.ContainsFunc(o.holders[p], func(h int) bool { return h != m })
		if free && got[p] != m || !free && got[p] != -1 {
			t.Fatalf("%+v\ntarget %s\nround  %s\n%s-%d: held by %v, owned by %d, planned for %d, given to %d",
				in, show(in, target), show(in, first), o.names[o.topicOf[p]], o.numberOf[p], o.holders[p], o.owner[p], m, got[p])
		}
	}
}

func TestCooperativeCases(t *testing.T) {
	for _, c := range []struct{ name, topics, members, want string }{
		{"R-A19: a third joins and gets nothing owned", "t:6", "a: t owns t-0 t-1 t-2 | b: t owns t-3 t-4 t-5 | c: t", "a: t-0 t-1 | b: t-3 t-4 | c:"},
		{"and what is free at once", "t:7", "a: t owns t-0 t-1 t-2 | b: t owns t-3 t-4 t-5 | c: t", "a: t-0 t-1 t-2 | b: t-3 t-4 | c: t-6"},
		{"a double claim stays with nobody (R-A16)", "t:2", "a: t owns t-0 | b: t owns t-0 t-1", "a: | b: t-1"},
		{"one that no longer subscribes still holds", "t:1 u:1", "a: u owns t-0 | b: t", "a: u-0 | b:"},
	} {
		in := assign.Input{Members: members(c.members), Topics: cluster(c.topics)}
		if got := show(in, mustPlan(t, assign.CooperativeSticky{}, in)); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}
}

// TestStaleClaimIsNotOwnership: R-A20: the plan gives p to a, whose claim is two
// generations old, while b has it: it is withheld.
func TestStaleClaimIsNotOwnership(t *testing.T) {
	in := assign.Input{Members: members("a: t owns t-0 | b: t u owns t-0 u-0"), Topics: cluster("t:1 u:1")}
	in.Members[0].Generation, in.Members[1].Generation = 5, 7
	if got, want := show(in, mustPlan(t, assign.CooperativeSticky{}, in)), "a: | b: u-0"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestGenerationFromUserData: R-A18: subscriptions of version 0 and 1 have no
// generation of their own.
func TestGenerationFromUserData(t *testing.T) {
	for _, c := range []struct {
		name        string
		older, data []byte
		want        string
	}{
		{"b is newer", assign.AppendCooperativeUserData(nil, 5), assign.AppendCooperativeUserData(nil, 6), "a: | b: t-0"},
		{"b's bytes are torn", assign.AppendCooperativeUserData(nil, 5), []byte{9, 9}, "a: t-0 | b:"},
		{"none has one", nil, nil, "a: | b:"},
	} {
		in := assign.Input{Members: members("a: t owns t-0 | b: t owns t-0"), Topics: cluster("t:1")}
		in.Members[0].Generation, in.Members[1].Generation = assign.NoGeneration, assign.NoGeneration
		in.Members[0].UserData, in.Members[1].UserData = c.older, c.data
		if got := show(in, mustPlan(t, assign.CooperativeSticky{}, in)); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

// greedy is a cooperative assignor that takes partitions from their owners.
type greedy struct{}

func (greedy) Name() string                 { return "greedy" }
func (greedy) Protocols() []assign.Protocol { return []assign.Protocol{assign.Cooperative} }
func (greedy) Assign(in assign.Input) (assign.Plan, error) {
	lists := make([][]assign.TopicPartitions, len(in.Members))
	lists[len(lists)-1] = []assign.TopicPartitions{list("t", 0)}
	return assign.PlanOf(lists), nil
}

// TestForeignAssignorsAreChecked: R-A22, R-A25.
func TestForeignAssignorsAreChecked(t *testing.T) {
	in := assign.Input{Members: members("a: t owns t-0 | b: t"), Topics: cluster("t:1")}
	_, err := assign.Lead(greedy{}, assign.Cooperative, in)
	if want := (&assign.NotCooperativeError{}); !errors.As(err, &want) || want.Claimant != "a" || want.Receiver != "b" {
		t.Errorf("error %v, want a NotCooperativeError about a and b", err)
	}
	if _, err := assign.Lead(greedy{}, assign.Eager, in); err != nil {
		t.Errorf("under EAGER: %v", err)
	}
	for name, lists := range map[string][][]assign.TopicPartitions{
		"one entry too few":       {nil},
		"a partition too many":    {{list("t", 1)}, nil},
		"a negative partition":    {{list("t", -1)}, nil},
		"an unknown topic":        {{list("u", 0)}, nil},
		"two owners":              {{list("t", 0)}, {list("t", 0)}},
		"twice in one assignment": {{list("t", 0, 0)}, nil},
	} {
		var want *assign.InvalidPlanError
		if err := assign.Check(in, assign.PlanOf(lists), assign.Eager); !errors.As(err, &want) {
			t.Errorf("%s: error %v, want an InvalidPlanError", name, err)
		}
	}
	in.Members[1].Topics = nil
	if err := assign.Check(in, assign.PlanOf([][]assign.TopicPartitions{nil, {list("t", 0)}}), assign.Eager); err == nil {
		t.Error("a plan for a member that does not subscribe passed")
	}
}

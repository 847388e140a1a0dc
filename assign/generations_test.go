package assign_test

import (
	"bytes"
	"reflect"
	"slices"
	"testing"

	"github.com/skeinstream/skein/assign"
)

// TestClaimsOfSeveralGenerations: what Kafka's tests tell of members that were
// away for some generations, where there is no choice about the plan (R-A16).
// Members' generations are in their order.
func TestClaimsOfSeveralGenerations(t *testing.T) {
	for _, c := range []struct {
		name, topics, members string
		generations           []int32
		want                  string
	}{
		{"the newest of three has each partition", "t:3 u:3 v:3",
			"c1: t u v owns t-0 u-0 v-0 | c2: t u v owns t-1 u-1 v-1 | c3: t u v owns u-1 v-0 v-2", []int32{10, 9, 8},
			"c1: t-0 u-0 v-0 | c2: t-1 u-1 v-1 | c3: t-2 u-2 v-2"},
		{"old claims that nobody contests hold, a newcomer gets the rest", "t:3 u:3 v:3 w:3",
			"c1: t u v w | c2: t u v w owns t-0 v-0 u-0 | c3: t u v w owns w-2 v-2 u-1 | c4: t u v w owns w-1 t-1 t-2", []int32{-1, 9, 8, 7},
			"c1: u-2 v-1 w-0 | c2: t-0 u-0 v-0 | c3: u-1 v-2 w-2 | c4: t-1 t-2 w-1"},
		{"what the older one claims besides is not enough to matter", "t:3 u:3",
			"c1: t u owns t-0 t-1 u-1 | c2: t u owns t-0 u-1 u-2", []int32{10, 8},
			"c1: t-0 t-1 u-1 | c2: t-2 u-0 u-2"},
		{"two in one generation lose it to a third", "t:3",
			"c1: t owns t-0 t-1 | c2: t owns t-0 t-2 | c3: t", []int32{4, 4, 4},
			"c1: t-1 | c2: t-2 | c3: t-0"},
		{"one keeps its two, one its one, the free one goes to who has none", "t:4",
			"c1: t owns t-0 t-1 | c2: t owns t-2 | c3: t", []int32{4, 4, 4},
			"c1: t-0 t-1 | c2: t-2 | c3: t-3"},
	} {
		in := assign.Input{Members: members(c.members), Topics: cluster(c.topics)}
		for i, g := range c.generations {
			in.Members[i].Generation = g
		}
		for name, plan := range map[string]assign.Plan{
			"sticky":               prove(t, in, assign.Options{}),
			"sticky, by user data": mustPlan(t, assign.Sticky{}, byUserData(in)),
			"cooperative-sticky":   mustPlan(t, target{assign.CooperativeSticky{}}, in),
		} {
			if got := show(in, plan); got != c.want {
				t.Errorf("%s, %s:\ngot  %s\nwant %s", c.name, name, got, c.want)
			}
		}
	}
}

// byUserData moves what members claim into the user data of sticky.
func byUserData(in assign.Input) assign.Input {
	out := assign.Input{Topics: in.Topics, Members: slices.Clone(in.Members)}
	for i := range out.Members {
		m := &out.Members[i]
		m.UserData = assign.AppendStickyUserData(nil, m.Owned, m.Generation)
		m.Owned, m.Generation = nil, assign.NoGeneration
	}
	return out
}

// TestThreeGenerationsInEveryOrder: three members claim t-2, each in a generation
// of its own: whoever comes first, the newest is its owner (R-A17), so that it is
// moved only where the newest has one too many.
func TestThreeGenerationsInEveryOrder(t *testing.T) {
	for _, c := range []struct {
		generations []int32
		moves       int
	}{
		{[]int32{1, 2, 3}, 1}, {[]int32{2, 1, 3}, 1}, // c3 has three of seven
		{[]int32{1, 3, 2}, 1}, {[]int32{2, 3, 1}, 1}, // c2 has
		{[]int32{3, 1, 2}, 0}, {[]int32{3, 2, 1}, 0},
	} {
		in := assign.Input{Members: members("c1: t owns t-0 t-2 | c2: t owns t-1 t-2 t-3 | c3: t owns t-2 t-4 t-5 | c4: u owns u-0"), Topics: cluster("t:6 u:1")}
		for i, g := range c.generations {
			in.Members[i].Generation = g
		}
		for _, of := range []assign.Input{in, byUserData(in)} {
			o := newOracle(in)
			got := o.flatten(t, mustPlan(t, assign.Sticky{}, of))
			o.complete(t, got)
			if loads := descending(o.loads(got)); !slices.Equal(loads, []int{2, 2, 2, 1}) || o.moved(got) != c.moves {
				t.Errorf("generations %v: loads %v, %d moves, want %d", c.generations, loads, o.moved(got), c.moves)
			}
		}
	}
}

// TestOldAndDoubleClaimsTogether: c3 is newest and has one too many; c1 and c2
// claim t-0 in one generation, so that it is free.
func TestOldAndDoubleClaimsTogether(t *testing.T) {
	in := assign.Input{Members: members("c1: t owns t-0 t-1 t-4 | c2: t owns t-0 t-2 t-3 | c3: t owns t-3 t-4 t-5"), Topics: cluster("t:6")}
	in.Members[2].Generation = 2
	plan := prove(t, in, assign.Options{})
	o := newOracle(in)
	of := o.flatten(t, plan)
	if loads := o.loads(of); !slices.Equal(loads, []int{2, 2, 2}) || o.moved(of) != 1 || of[1] != 0 || of[2] != 1 {
		t.Errorf("%s", show(in, plan))
	}
}

// TestCooperativeUnderEagerForgets: R-A21: members that run it under EAGER send
// no partitions, and their user data is a generation and nothing else.
func TestCooperativeUnderEagerForgets(t *testing.T) {
	in := assign.Input{Members: members("a: t | b: t | c: t"), Topics: cluster("t:7")}
	before := mustPlan(t, assign.CooperativeSticky{}, in)
	for i := range in.Members {
		h := assign.History{Owned: before.List(i), Generation: 258}
		data := assign.CooperativeSticky{}.SubscriptionUserData(in.Members[i].Topics, h)
		if !bytes.Equal(data, []byte{0, 0, 1, 2}) {
			t.Fatalf("user data %x", data)
		}
		in.Members[i].UserData, in.Members[i].Generation = data, assign.NoGeneration
	}
	in.Members = in.Members[1:]
	after := mustPlan(t, assign.CooperativeSticky{}, in)
	bare := assign.Input{Members: members("b: t | c: t"), Topics: in.Topics}
	if want := mustPlan(t, assign.FairOptimal{}, bare); show(in, after) != show(bare, want) {
		t.Errorf("%s, want the plan of a group without a past, %s", show(in, after), show(bare, want))
	}
	if reflect.DeepEqual(after.List(0), before.List(1)) {
		t.Error("b kept exactly what it had: the case shows nothing")
	}
}

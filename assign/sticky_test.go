package assign_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/skeinstream/skein/assign"
)

// TestStickyCases: the examples of KIP-54 and the smallest groups on which
// other implementations are not fairest or move too much. want is what there is
// no choice about: loads in descending order, and moves.
func TestStickyCases(t *testing.T) {
	for _, c := range []struct {
		name, topics, members string
		loads                 []int
		moves                 int
	}{
		{"KIP-54 example 1, fresh", "t0:2 t1:2 t2:2 t3:2", "C0: t0 t1 t2 t3 | C1: t0 t1 t2 t3 | C2: t0 t1 t2 t3", []int{3, 3, 2}, 0},
		{"KIP-54 example 1, C1 leaves", "t0:2 t1:2 t2:2 t3:2", "C0: t0 t1 t2 t3 owns t0-0 t1-1 t3-0 | C2: t0 t1 t2 t3 owns t1-0 t2-1", []int{4, 4}, 0},
		{"KIP-54 example 2, fresh", "t0:1 t1:2 t2:3", "C0: t0 | C1: t0 t1 | C2: t0 t1 t2", []int{3, 2, 1}, 0},
		{"KIP-54 example 2, C0 leaves", "t0:1 t1:2 t2:3", "C1: t0 t1 owns t1-0 t1-1 | C2: t0 t1 t2 owns t2-0 t2-1 t2-2", []int{3, 3}, 0},
		{"favour who holds", "t:3", "A: t owns t-0 t-1 | B: t owns t-2", []int{2, 1}, 0},
		{"but not always: who gets 3 is part of the problem", "t0:2 t1:3 t2:1",
			"m0: t0 t1 owns t1-2 | m1: t1 t2 owns t1-0 t1-1 t2-0 | m2: t2", []int{3, 2, 1}, 1},
		{"place the free only when it is known who loses", "t0:2 t1:2",
			"m0: t0 t1 owns t1-0 | m1: t0 | m2: t0 t1 owns t0-0 | m3: t0 owns t0-1", []int{1, 1, 1, 1}, 1},
		{"one hop is not enough", "t0:2 t1:3", "m0: t0 t1 owns t0-1 | m1: t0 t1 owns t0-0 | m2: t0", []int{2, 2, 1}, 1},
		{"the extra one stays where it is", "t0:1", "m1: t0 | m2: t0 owns t0-0", []int{1, 0}, 0},
		{"10/10/10, not 9/10/11", "a:10 b:10 c:10", "m0: a b owns a-0 a-1 a-2 a-3 a-4 a-5 a-6 a-7 a-8 | m1: b c owns a-9 b-0 b-1 b-2 b-3 b-4 b-5 b-6 b-7 b-8 b-9 | m2: c a", []int{10, 10, 10}, 0},
		{"A2 field report, the third joins", "t:10", "C1: t owns t-1 t-3 t-5 t-7 t-9 | C2: t owns t-0 t-2 t-4 t-6 t-8 | C3: t", []int{4, 3, 3}, 3},
		{"A11 field report, from 1 to 2", "t:4 u:4", "a: t u owns t-0 t-1 t-2 t-3 u-0 u-1 u-2 u-3 | b: t u", []int{4, 4}, 4},
		{"R-A12 P=7 M=3", "t:7", "a: t | b: t | c: t", []int{3, 2, 2}, 0},
		{"R-A9 claims that count for nothing", "t:2 u:2", "a: t owns t-7 t--1 x-0 u-0 u-1 | b: u", []int{2, 2}, 0},
	} {
		in := assign.Input{Members: members(c.members), Topics: cluster(c.topics)}
		o := newOracle(in)
		plan := mustPlan(t, assign.Sticky{}, in)
		of := o.flatten(t, plan)
		o.complete(t, of)
		if got := descending(o.loads(of)); !slices.Equal(got, c.loads) || o.moved(of) != c.moves {
			t.Errorf("%s: %s\nloads %v, %d moves, want %v, %d", c.name, show(in, plan), got, o.moved(of), c.loads, c.moves)
		}
	}
}

// TestNewestClaimCounts: R-A16, R-A17, KIP-341, field report A5: through user
// data of version 1, whatever the order of the members.
func TestNewestClaimCounts(t *testing.T) {
	for _, order := range [][]int32{{5, 6}, {6, 5}} {
		in := assign.Input{Members: members("a: t | b: t"), Topics: cluster("t:1")}
		for i, generation := range order {
			in.Members[i].UserData = assign.AppendStickyUserData(nil, []assign.TopicPartitions{list("t", 0)}, generation)
		}
		plan := mustPlan(t, assign.Sticky{}, in)
		if newer := slices.Index(order, 6); plan.Load(newer) != 1 {
			t.Errorf("generations %v: %s", order, show(in, plan))
		}
	}
	in := assign.Input{Members: members("c2: t | c3: t"), Topics: cluster("t:7")}
	in.Members[0].UserData = assign.AppendStickyUserData(nil, []assign.TopicPartitions{list("t", 4, 5, 6)}, 3)
	in.Members[1].UserData = assign.AppendStickyUserData(nil, []assign.TopicPartitions{list("t", 3, 6)}, 2)
	plan := mustPlan(t, assign.Sticky{}, in)
	if got := plan.List(0); !slices.Contains(got[0].Partitions, 6) || plan.Partitions() != 7 {
		t.Errorf("6 must be at c2, once: %s", show(in, plan))
	}
}

// TestUserDataOfAnyVersionCounts: R-A14: v0 has no generation, garbage is nothing.
func TestUserDataOfAnyVersionCounts(t *testing.T) {
	v1 := assign.AppendStickyUserData(nil, []assign.TopicPartitions{list("t", 1, 3)}, 4)
	in := assign.Input{Members: members("a: t | b: t"), Topics: cluster("t:4")}
	in.Members[1].UserData = v1[:len(v1)-4]
	in.Members[0].UserData = []byte("garbage")
	if got, want := show(in, mustPlan(t, assign.Sticky{}, in)), "a: t-0 t-2 | b: t-1 t-3"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestAnyLeaderIsAsSticky: R-A15, field reports A3 and A4: all that a leader needs
// travels with the members.
func TestAnyLeaderIsAsSticky(t *testing.T) {
	in := assign.Input{Members: members("a: t | b: t | c: t"), Topics: cluster("t:12")}
	plan := mustPlan(t, assign.Sticky{}, in)
	next := assign.Input{Topics: in.Topics}
	for i, m := range in.Members[1:] {
		h := assign.History{Owned: plan.List(i + 1), Generation: 1}
		m.UserData = assign.Sticky{}.SubscriptionUserData(m.Topics, h)
		next.Members = append(next.Members, m)
	}
	second := mustPlan(t, assign.Sticky{}, next)
	for i := range next.Members {
		for _, p := range plan.List(i + 1)[0].Partitions {
			if !slices.Contains(second.List(i)[0].Partitions, p) {
				t.Errorf("%s lost t-%d: %s", next.Members[i].ID, p, show(next, second))
			}
		}
	}
	if data := (assign.Sticky{}).SubscriptionUserData(nil, assign.History{}); data != nil {
		t.Errorf("user data %x before the first assignment, want none", data)
	}
}

// TestFreshIgnoresThePast: R-A7.
func TestFreshIgnoresThePast(t *testing.T) {
	r := seeded(t)
	for range rounds(300) {
		in := randomGroup(r, small)
		bare := assign.Input{Topics: in.Topics, Members: slices.Clone(in.Members)}
		for i := range bare.Members {
			bare.Members[i].Owned = nil
		}
		want := show(in, mustPlan(t, assign.FairOptimal{}, bare))
		for _, a := range []assign.Assignor{assign.FairOptimal{}, assign.Sticky{Options: assign.Options{Fresh: true}}, assign.CooperativeSticky{Options: assign.Options{Fresh: true}}} {
			if a.Name() == "cooperative-sticky" {
				a = target{assign.CooperativeSticky{Options: assign.Options{Fresh: true}}}
			}
			if got := show(in, mustPlan(t, a, in)); got != want {
				t.Fatalf("%s: %+v\ngot  %s\nwant %s", a.Name(), in, got, want)
			}
		}
	}
}

// target plans where the rounds of a cooperative group lead.
type target struct{ assign.CooperativeSticky }

func (t target) Assign(in assign.Input) (assign.Plan, error) { return t.Target(in) }

// TestSomePartitionNeverSwaps: R-A11: no run moves one partition of a topic from
// a to b and another of it from b to a.
func TestSomePartitionNeverSwaps(t *testing.T) {
	r := seeded(t)
	type hop struct{ topic, from, to int }
	for range rounds(1000) {
		in := randomGroup(r, size{6, 6, 6, 20})
		o := newOracle(in)
		of := o.flatten(t, mustPlan(t, assign.Sticky{}, in))
		hops := map[hop]bool{}
		for p, m := range of {
			if o.owner[p] >= 0 && m != o.owner[p] {
				hops[hop{o.topicOf[p], o.owner[p], m}] = true
			}
		}
		for h := range hops {
			if hops[hop{h.topic, h.to, h.from}] {
				t.Fatalf("%+v: members %d and %d swap partitions of topic %d", in, h.from, h.to, h.topic)
			}
		}
	}
}

// TestBalancedGroupsAreLeftAlone: field report A8: 200 x 20 with half of the
// members on one topic fewer is planned, and its own output changes nothing.
func TestBalancedGroupsAreLeftAlone(t *testing.T) {
	in := assign.Input{}
	for i := range 10 {
		in.Topics = append(in.Topics, assign.Topic{Name: fmt.Sprintf("t%d", i), Partitions: 20})
	}
	for i := range 20 {
		m := assign.Member{ID: fmt.Sprintf("m%02d", i)}
		for _, topic := range in.Topics[i%2:] {
			m.Topics = append(m.Topics, topic.Name)
		}
		in.Members = append(in.Members, m)
	}
	plan := mustPlan(t, assign.Sticky{}, in)
	for range 3 {
		again := mustPlan(t, assign.Sticky{}, after(in, plan))
		if show(in, again) != show(in, plan) {
			t.Fatal("a balanced group was planned anew")
		}
	}
}

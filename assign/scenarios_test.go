package assign_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/skeinstream/skein/assign"
)

// TestScenariosOfKafkasOwnTests: what Kafka's tests of its sticky assignors are
// about, in our words. Each plan is proven, and its loads and moves are told.
func TestScenariosOfKafkasOwnTests(t *testing.T) {
	for _, c := range []struct {
		name, topics, members string
		loads                 []int
		moves                 int
	}{
		{"one member, no topic", "", "c:", []int{0}, 0},
		{"one member, a topic that does not exist", "", "c: t", []int{0}, 0},
		{"one member, one topic", "t:3", "c: t", []int{3}, 0},
		{"only subscribed topics are given", "t:3 other:3", "c: t", []int{3}, 0},
		{"one member, several topics", "t1:1 t2:2", "c: t1 t2", []int{3}, 0},
		{"two members, one partition", "t:1", "c1: t | c2: t", []int{1, 0}, 0},
		{"two members, two partitions", "t:2", "c1: t | c2: t", []int{1, 1}, 0},
		{"mixed subscriptions", "t1:3 t2:2", "c1: t1 | c2: t1 t2 | c3: t1", []int{2, 2, 1}, 0},
		{"two topics of three", "t1:3 t2:3", "c1: t1 t2 | c2: t1 t2", []int{3, 3}, 0},
		{"who owns the smaller quota may get the larger", "t1:2 t2:3",
			"c1: t1 t2 owns t1-0 t2-1 | c2: t1 t2 owns t1-1 t2-2", []int{3, 2}, 0},
		{"more members own the larger quota than may", "t1:2 t2:2",
			"c1: t1 t2 owns t1-0 t2-0 | c2: t1 t2 owns t1-1 t2-1 | c3: t1 t2", []int{2, 1, 1}, 1},
		{"fewer partitions than members, all owned", "t1:1 t2:1", "c1: t1 t2 owns t1-0 | c2: t1 t2 owns t2-0 | c3: t1 t2", []int{1, 1, 0}, 0},
		{"a member joins", "t:3", "c1: t owns t-0 t-1 t-2 | c2: t", []int{2, 1}, 1},
		{"and the other leaves", "t:3", "c2: t owns t-2", []int{3}, 0},
		{"two join two", "t1:4 t2:4", "c1: t1 t2 owns t1-0 t1-2 t2-0 t2-2 | c2: t1 t2 owns t1-1 t1-3 t2-1 t2-3 | c3: t1 t2 | c4: t1 t2", []int{2, 2, 2, 2}, 4},
		{"where roundrobin does poorly", "t1:2 t2:1 t3:2 t4:1 t5:2",
			"c1: t1 t2 t3 t4 t5 | c2: t1 t3 t5 | c3: t1 t3 t5 | c4: t1 t2 t3 t4 t5", []int{2, 2, 2, 2}, 0},
		{"a topic is added", "t1:3 t2:3", "c1: t1 t2 owns t1-0 t1-1 | c2: t1 t2 owns t1-2", []int{3, 3}, 0},
		{"and the first is deleted", "t2:3", "c1: t1 t2 owns t1-0 t2-1 | c2: t1 t2 owns t1-2 t2-0 t2-2", []int{2, 1}, 0},
		{"the only topic is deleted", "", "c1: t owns t-0 | c2: t owns t-1", []int{0, 0}, 0},
		{"subscriptions are exchanged", "t1:2 t2:2", "c1: t2 owns t1-0 t1-1 | c2: t1 owns t2-0 t2-1", []int{2, 2}, 0},
		{"everything was claimed twice", "t:3", "c1: t owns t-0 t-1 t-2 | c2: t owns t-0 t-1 t-2", []int{2, 1}, 0},
		{"unequal subscriptions after one leaves", "t1:2 t2:4 t3:1", "c2: t2 t3 owns t2-0 t2-1 | c3: t1 t2 owns t1-0 t2-2", []int{4, 3}, 0},
		{"the leader of four leaves, and who was idle gets what it had", "t:3", "c2: t owns t-1 | c3: t owns t-2 | c4: t", []int{1, 1, 1}, 0},
		{"ownership has to shift along", "t1:1 t2:1 t3:1 t4:1 t5:1 t6:1",
			"c1: t1 t2 owns t1-0 | c2: t1 t2 t3 t4 owns t2-0 t3-0 | c3: t2 t3 t4 t5 t6 owns t4-0 t5-0 t6-0", []int{2, 2, 2}, 2},
		{"one of three topics is gone, another is large", "t1:1 t3:100", "c: t1 t2 t3 owns t2-0 t2-1", []int{101}, 0},
		{"a member subscribes to what another has", "t1:1 t2:1 t3:1 t4:1", "c0: t1 | c1: t1 owns t1-0 | c2: t2 t3 t4 owns t2-0 t3-0 t4-0", []int{3, 1, 0}, 0},
		{"two join two, seven partitions", "t1:3 t2:4",
			"c1: t1 t2 owns t1-0 t1-2 t2-1 t2-3 | c2: t1 t2 owns t1-1 t2-0 t2-2 | c3: t1 t2 | c4: t1 t2", []int{2, 2, 2, 1}, 3},
		{"and the first two leave", "t1:3 t2:4", "c3: t1 t2 owns t2-1 t2-3 | c4: t1 t2 owns t2-2", []int{4, 3}, 0},
	} {
		in := assign.Input{Members: members(c.members), Topics: cluster(c.topics)}
		for _, a := range []assign.Assignor{assign.Sticky{}, target{assign.CooperativeSticky{}}} {
			o := newOracle(in)
			plan := mustPlan(t, a, in)
			of := o.flatten(t, plan)
			if got := descending(o.loads(of)); !slices.Equal(got, c.loads) || o.moved(of) != c.moves {
				t.Errorf("%s, %s: %s\nloads %v, %d moves, want %v, %d", c.name, a.Name(), show(in, plan), got, o.moved(of), c.loads, c.moves)
			}
			if err := assign.Verify(in, plan, assign.Options{}); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		}
	}
}

// TestStaleMembersKeepNothingThatIsOwned: in Kafka's words, owned partitions are
// invalidated for members with a stale generation, or with none.
func TestStaleMembersKeepNothingThatIsOwned(t *testing.T) {
	for _, stale := range []int32{9, assign.NoGeneration} {
		in := assign.Input{Members: members("c1: t u owns t-0 t-2 u-1 | c2: t u owns t-0 t-2 u-1 | c3: t u"), Topics: cluster("t:3 u:3")}
		in.Members[0].Generation, in.Members[1].Generation, in.Members[2].Generation = 10, stale, 10
		plan := prove(t, in, assign.Options{})
		of := newOracle(in).flatten(t, plan)
		if newOracle(in).moved(of) != 1 || plan.Load(0) != 2 {
			t.Errorf("generation %d: %s: c1 must give up one of three, to make 2 2 2", stale, show(in, plan))
		}
	}
}

// TestManyMembersChange: one of twenty leaves or joins, with subscriptions that
// overlap in every way.
func TestManyMembersChange(t *testing.T) {
	r := rand.New(rand.NewPCG(20, 20))
	in := assign.Input{}
	for i := range 20 {
		in.Topics = append(in.Topics, assign.Topic{Name: fmt.Sprintf("t%02d", i), Partitions: int32(i + 1)})
		m := assign.Member{ID: fmt.Sprintf("c%02d", i)}
		for j := range 20 - i {
			m.Topics = append(m.Topics, fmt.Sprintf("t%02d", 19-j))
		}
		in.Members = append(in.Members, m)
	}
	settled := after(in, prove(t, in, assign.Options{}))
	left := settled
	left.Members = slices.Delete(slices.Clone(settled.Members), 10, 11)
	prove(t, left, assign.Options{})
	for range 20 {
		settled = changed(r, settled, mustPlan(t, assign.Sticky{}, settled))
		prove(t, settled, assign.Options{})
	}
}

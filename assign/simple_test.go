package assign_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/skeinstream/skein/assign"
)

// cluster reads "t0:2 t1:3" as topics with partition counts.
func cluster(s string) []assign.Topic {
	var topics []assign.Topic
	for _, f := range strings.Fields(s) {
		var t assign.Topic
		name, n, _ := strings.Cut(f, ":")
		t.Name = name
		fmt.Sscan(n, &t.Partitions)
		topics = append(topics, t)
	}
	return topics
}

// members reads "C0: t0 t1 | C1: t0 owns t0-1 t1-0" as members with
// subscriptions and claims of generation 1.
func members(s string) []assign.Member {
	var all []assign.Member
	for _, f := range strings.Split(s, "|") {
		id, rest, _ := strings.Cut(strings.TrimSpace(f), ":")
		topics, owns, _ := strings.Cut(rest, "owns")
		m := assign.Member{ID: id, Subscription: assign.Subscription{Topics: strings.Fields(topics), Generation: 1}}
		for _, o := range strings.Fields(owns) {
			m.Owned = append(m.Owned, partition(o))
		}
		all = append(all, m)
	}
	return all
}

func partition(s string) assign.TopicPartitions {
	i := strings.LastIndexByte(s, '-')
	var p int32
	fmt.Sscan(s[i+1:], &p)
	return list(s[:i], p)
}

// show writes a plan as "C0: t0-0 t1-1 | C1:" in the order of the members.
func show(in assign.Input, p assign.Plan) string {
	var all []string
	for i, m := range in.Members {
		line := m.ID + ":"
		for topic, partitions := range p.Of(i) {
			for _, n := range partitions {
				line += fmt.Sprintf(" %s-%d", topic, n)
			}
		}
		all = append(all, line)
	}
	return strings.Join(all, " | ")
}

func mustPlan(t testing.TB, a assign.Assignor, in assign.Input) assign.Plan {
	t.Helper()
	p, err := a.Assign(in)
	if err != nil {
		t.Fatalf("%s: %v", a.Name(), err)
	}
	if p.Members() != len(in.Members) {
		t.Fatalf("%s: %d entries for %d members", a.Name(), p.Members(), len(in.Members))
	}
	return p
}

func TestPlansOfTheSimpleAssignors(t *testing.T) {
	for _, c := range []struct {
		name, topics, members, want string
		assignor                    assign.Assignor
	}{
		{"R-A3 range", "t0:3 t1:3", "C0: t0 t1 | C1: t0 t1", "C0: t0-0 t0-1 t1-0 t1-1 | C1: t0-2 t1-2", assign.Range{}},
		{"R-A4 roundrobin", "t0:3 t1:3", "C0: t0 t1 | C1: t0 t1", "C0: t0-0 t0-2 t1-1 | C1: t0-1 t1-0 t1-2", assign.RoundRobin{}},
		{"R-A5 roundrobin is skewed", "t0:1 t1:2 t2:3", "C0: t0 | C1: t0 t1 | C2: t0 t1 t2", "C0: t0-0 | C1: t1-0 | C2: t1-1 t2-0 t2-1 t2-2", assign.RoundRobin{}},
		{"R-A6 KIP-49", "T1:2 T2:1 T3:2 T4:1 T5:2", "C1: T1 T2 T3 T4 T5 | C2: T1 T3 T5 | C3: T1 T3 T5 | C4: T1 T2 T3 T4 T5",
			"C1: T2-0 T3-0 | C2: T1-0 T3-1 | C3: T1-1 T5-0 | C4: T4-0 T5-1", assign.Fair{}},
		{"R-A6 roundrobin leaves C3 idle", "T1:2 T2:1 T3:2 T4:1 T5:2", "C1: T1 T2 T3 T4 T5 | C2: T1 T3 T5 | C3: T1 T3 T5 | C4: T1 T2 T3 T4 T5",
			"C1: T1-0 T3-0 T5-0 | C2: T1-1 T3-1 T5-1 | C3: | C4: T2-0 T4-0", assign.RoundRobin{}},
		{"R-A6 one topic of one's own", "t0:3 t1:3", "C0: t0 | C1: t0 t1", "C0: t0-0 t0-1 t0-2 | C1: t1-0 t1-1 t1-2", assign.Fair{}},
		{"R-A2 unknown topics are skipped", "t0:2 t9:4", "C0: t0 t8 | C1: t0 | C2:", "C0: t0-0 | C1: t0-1 | C2:", assign.Range{}},
		{"A6 field report", "A:4 B:2 C:2", "m1: A | m2: A | m3: B | m4: B C", "m1: A-0 A-2 | m2: A-1 A-3 | m3: B-0 | m4: B-1 C-0 C-1", assign.RoundRobin{}},
	} {
		in := assign.Input{Members: members(c.members), Topics: cluster(c.topics)}
		if got := show(in, mustPlan(t, c.assignor, in)); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}
}

// TestStaticMembersKeepTheirRangeAcrossRestarts: R-A3, KIP-345.
func TestStaticMembersKeepTheirRangeAcrossRestarts(t *testing.T) {
	for _, a := range []assign.Assignor{assign.Range{}, assign.RoundRobin{}, assign.Fair{}} {
		in := assign.Input{Members: members("x: t0 t1 | b: t0 t1 | a: t0 t1"), Topics: cluster("t0:4 t1:3")}
		in.Members[1].InstanceID, in.Members[2].InstanceID = "i1", "i2"
		before := mustPlan(t, a, in)
		in.Members[1].ID, in.Members[2].ID = "z", "c"
		after := mustPlan(t, a, in)
		for i := range in.Members {
			if !reflect.DeepEqual(before.List(i), after.List(i)) {
				t.Errorf("%s: member %d had %v, has %v after a restart", a.Name(), i, before.List(i), after.List(i))
			}
		}
	}
}

// TestRangeByRackKeepsCountsAndCopartitioning: R-A23.
func TestRangeByRackKeepsCountsAndCopartitioning(t *testing.T) {
	in := assign.Input{Members: members("c: t0 t1 | b: t0 t1 | a: t0 t1"), Topics: cluster("t0:3 t1:3")}
	for i, rack := range []string{"r0", "r1", "r2"} {
		in.Members[i].Rack = rack
	}
	for t := range in.Topics {
		in.Topics[t].Racks = [][]string{{"r0"}, {"r1"}, {"r2"}}
	}
	if got, want := show(in, mustPlan(t, assign.Range{}, in)), "c: t0-0 t1-0 | b: t0-1 t1-1 | a: t0-2 t1-2"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestInputsThatCannotBe(t *testing.T) {
	for name, in := range map[string]assign.Input{
		"two members":                     {Members: members("a: t | b: t | a: t"), Topics: cluster("t:1")},
		"two members, one of them static": {Members: []assign.Member{{ID: "a", InstanceID: "i"}, {ID: "a"}}},
		"two topics":                      {Members: members("a: t"), Topics: cluster("t:1 t:2")},
		"too many partitions":             {Members: members("a: t u"), Topics: cluster("t:1000000000 u:1000000000")},
	} {
		for _, a := range []assign.Assignor{assign.Range{}, assign.RoundRobin{}, assign.Fair{}} {
			if _, err := a.Assign(in); err == nil {
				t.Errorf("%s: %s planned for it", name, a.Name())
			}
		}
	}
}

// TestFairIsRoundRobinWhenSubscriptionsAreEqual: R-A6; topics of one size, since
// Fair takes the large ones first.
func TestFairIsRoundRobinWhenSubscriptionsAreEqual(t *testing.T) {
	in := assign.Input{Members: members("a: t u v | b: t u v | c: t u v | d: t u v"), Topics: cluster("t:3 u:3 v:3")}
	if fair, rr := show(in, mustPlan(t, assign.Fair{}, in)), show(in, mustPlan(t, assign.RoundRobin{}, in)); fair != rr {
		t.Errorf("fair %s, roundrobin %s", fair, rr)
	}
}

// TestOneMemberAndHundredsOfTopics: field report A12.
func TestOneMemberAndHundredsOfTopics(t *testing.T) {
	in := assign.Input{Members: []assign.Member{{ID: "only"}}}
	want := 0
	for i := range 244 {
		name := fmt.Sprintf("topic-%d", i)
		in.Members[0].Topics = append(in.Members[0].Topics, name)
		if i%7 > 0 {
			in.Topics = append(in.Topics, assign.Topic{Name: name, Partitions: int32(i % 5)})
			want += i % 5
		}
	}
	slices.Reverse(in.Topics)
	for _, a := range []assign.Assignor{assign.Range{}, assign.RoundRobin{}, assign.Fair{}, assign.Sticky{}, assign.CooperativeSticky{}} {
		p := mustPlan(t, a, in)
		if p.Load(0) != want {
			t.Errorf("%s gave %d partitions, want %d", a.Name(), p.Load(0), want)
		}
	}
}

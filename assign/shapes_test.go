package assign_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/skeinstream/skein/assign"
)

// chain is a group in a row: topic i is shared by members i and i+1 and owned by
// i. What the first has too much can only go to the last by way of all.
func chain(members int, first, middle, last int32) assign.Input {
	var in assign.Input
	for i := range members {
		n := middle
		switch i {
		case 0:
			n = first
		case members - 1:
			n = last
		}
		topic := assign.Topic{Name: fmt.Sprintf("t%06d", i), Partitions: n}
		m := assign.Member{ID: fmt.Sprintf("m%06d", i)}
		m.Topics = []string{topic.Name}
		if i > 0 {
			m.Topics = append(m.Topics, in.Topics[i-1].Name)
		}
		m.Owned = []assign.TopicPartitions{{Topic: topic.Name}}
		for p := range n {
			m.Owned[0].Partitions = append(m.Owned[0].Partitions, p)
		}
		in.Topics, in.Members = append(in.Topics, topic), append(in.Members, m)
	}
	return in
}

// buckets is a group of disjoint parts of different sizes.
func buckets(members, topics int, partitions int32) assign.Input {
	in := uniform(members, topics, 0)
	for t := range in.Topics {
		in.Topics[t].Partitions = partitions
	}
	for i := range in.Members {
		b := i * 5 / members
		in.Members[i].Topics = in.Members[i].Topics[b*b*topics/25 : (b+1)*(b+1)*topics/25]
	}
	return in
}

// zipf is a group whose members want few topics, and most of them the same.
func zipf(r *rand.Rand, members, topics int, partitions int32) assign.Input {
	in := uniform(members, topics, 0)
	z := rand.NewZipf(r, 1.2, 3, uint64(topics-1))
	for t := range in.Topics {
		in.Topics[t].Partitions = partitions
	}
	for i := range in.Members {
		all := in.Members[i].Topics
		in.Members[i].Topics = nil
		for range 1 + r.IntN(8) {
			in.Members[i].Topics = append(in.Members[i].Topics, all[z.Uint64()])
		}
	}
	return in
}

// ownedByFirst gives everything to the first member that may have it.
func ownedByFirst(in assign.Input) assign.Input {
	lists := make([][]assign.TopicPartitions, len(in.Members))
	first := map[string]int{}
	for i := len(in.Members) - 1; i >= 0; i-- {
		for _, t := range in.Members[i].Topics {
			first[t] = i
		}
	}
	for _, t := range in.Topics {
		if m, wanted := first[t.Name]; wanted {
			tp := assign.TopicPartitions{Topic: t.Name}
			for p := range t.Partitions {
				tp.Partitions = append(tp.Partitions, p)
			}
			lists[m] = append(lists[m], tp)
		}
	}
	return after(in, assign.PlanOf(lists))
}

// TestAdversarialShapes proves plans of groups made to be hard.
func TestAdversarialShapes(t *testing.T) {
	r := seeded(t)
	for name, in := range map[string]assign.Input{
		"a cascade through 2,000 members":     chain(2000, 40, 20, 0),
		"300 distances":                       chain(300, 300, 3, 3),
		"as many phases as members":           chain(150, 299, 149, 149),
		"dense subscriptions":                 subsets(r, 200, 200, 10000, 100),
		"10,000 members, few partitions":      subsets(r, 10000, 20, 2000, 3),
		"more members than partitions, equal": uniform(3000, 2, 40),
		"disjoint buckets":                    buckets(200, 50, 40),
		"popular topics":                      zipf(r, 500, 300, 20),
		"everything at the first":             ownedByFirst(subsets(r, 200, 50, 5000, 5)),
		"everything at the first, buckets":    ownedByFirst(buckets(200, 50, 40)),
		"one topic for all, one each":         subsets(r, 100, 101, 2020, 2),
		"a thousand topics, one member":       uniform(1, 1000, 5000),
		"no partitions":                       uniform(10, 3, 0),
		"no members":                          uniform(0, 3, 30),
	} {
		plan := prove(t, in, assign.Options{})
		next := in
		next.Members = after(in, plan).Members
		next.Members = next.Members[len(next.Members)/10:]
		prove(t, next, assign.Options{})
		if t.Failed() {
			t.Fatal(name)
		}
	}
}

// TestManyLeaveAtOnce: field report A7: 3,000 partitions, 450 members, 50 leave;
// and a group of 7,000.
func TestManyLeaveAtOnce(t *testing.T) {
	r := seeded(t)
	for _, in := range []assign.Input{uniform(450, 30, 3000), uniform(7000, 10, 20_000)} {
		in = mixed(t, r, in)
		in.Members = in.Members[50:]
		plan := prove(t, in, assign.Options{})
		if s, err := assign.Measure(in, plan); err != nil || s.Moves != 0 {
			t.Errorf("%d members: %d moves, %v: want only what is free given out", len(in.Members), s.Moves, err)
		}
	}
}

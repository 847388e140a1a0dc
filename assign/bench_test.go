package assign_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/skeinstream/skein/assign"
)

// uniform is a group with equal subscriptions; every member has names of its own.
func uniform(members, topics, partitions int) assign.Input {
	var in assign.Input
	for t := range topics {
		in.Topics = append(in.Topics, assign.Topic{Name: fmt.Sprintf("topic-%06d", t), Partitions: int32(partitions / topics)})
	}
	for m := range members {
		member := assign.Member{ID: fmt.Sprintf("member-%06d", m)}
		for t := range topics {
			member.Topics = append(member.Topics, fmt.Sprintf("topic-%06d", t))
		}
		in.Members = append(in.Members, member)
	}
	return in
}

// subsets is a group whose members subscribe to some topics, chosen at random.
func subsets(r *rand.Rand, members, topics, partitions, each int) assign.Input {
	in := uniform(members, topics, partitions)
	for i := range in.Members {
		m := &in.Members[i]
		r.Shuffle(len(m.Topics), func(a, b int) { m.Topics[a], m.Topics[b] = m.Topics[b], m.Topics[a] })
		m.Topics = m.Topics[:each]
	}
	return in
}

// overlapping is a chain: topic i is shared by members i and i+1.
func overlapping(members, partitions int) assign.Input {
	in := uniform(members, members, members*partitions)
	for i := range in.Members {
		in.Members[i].Topics = in.Members[i].Topics[max(i-1, 0) : i+1]
	}
	return in
}

// mixed settles a group from owners chosen at random, with names of their own.
func mixed(tb testing.TB, r *rand.Rand, in assign.Input) assign.Input {
	subscribers := map[string][]int{}
	for i := range in.Members {
		for _, t := range in.Members[i].Topics {
			subscribers[t] = append(subscribers[t], i)
		}
	}
	lists := make([][]assign.TopicPartitions, len(in.Members))
	for _, t := range in.Topics {
		who := subscribers[t.Name]
		for p := range t.Partitions {
			if len(who) > 0 {
				m := who[r.IntN(len(who))]
				lists[m] = append(lists[m], assign.TopicPartitions{Topic: t.Name, Partitions: []int32{p}})
			}
		}
	}
	out := after(in, assign.PlanOf(lists))
	return owned(out, mustPlan(tb, assign.Sticky{}, out))
}

// owned gives every member its part of a plan, in memory of its own.
func owned(in assign.Input, plan assign.Plan) assign.Input {
	out := after(in, plan)
	for i := range out.Members {
		for j, tp := range out.Members[i].Owned {
			out.Members[i].Owned[j] = assign.TopicPartitions{Topic: string([]byte(tp.Topic)), Partitions: append([]int32(nil), tp.Partitions...)}
		}
	}
	return out
}

func BenchmarkSticky(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, s := range []struct {
		name string
		in   func() assign.Input
	}{
		{"uniform 10x100", func() assign.Input { return uniform(10, 5, 100) }},
		{"uniform 100x1k", func() assign.Input { return uniform(100, 10, 1000) }},
		{"uniform 500x10k", func() assign.Input { return uniform(500, 20, 10000) }},
		{"uniform 2000x200k", func() assign.Input { return uniform(2000, 100, 200000) }},
		{"10 of 100 topics, 100x10k", func() assign.Input { return subsets(r, 100, 100, 10000, 10) }},
		{"20 of 1000 topics, 1000x200k", func() assign.Input { return subsets(r, 1000, 1000, 200000, 20) }},
		{"half of 2000 topics, 2000x200k", func() assign.Input { return subsets(r, 2000, 2000, 200000, 1000) }},
		{"chain 100x2k", func() assign.Input { return overlapping(100, 20) }},
	} {
		in := s.in()
		run := func(name string, in assign.Input) {
			b.Run(s.name+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					mustPlan(b, assign.Sticky{}, in)
				}
			})
		}
		run("fresh", in)
		full := mixed(b, r, in)
		run("settled", full)
		leave := assign.Input{Topics: full.Topics, Members: full.Members[len(full.Members)/10:]}
		run("leave", leave)
		joined := assign.Input{Topics: in.Topics, Members: in.Members[1:]}
		joined = mixed(b, r, joined)
		joined.Members = append(joined.Members, in.Members[0])
		run("join", joined)
	}
}

package main

import "math/rand/v2"

// scenario is a named group and what happens to it.
type scenario struct {
	name   string
	build  func(r *rand.Rand) *group
	change func(r *rand.Rand, g *group)
}

// make builds the scenario, always the same.
func (s scenario) make() *group {
	r := rand.New(rand.NewPCG(7, 11))
	g := s.build(r)
	s.change(r, g)
	return g
}

// changes are what happens to most groups.
var changes = []struct {
	name  string
	apply func(*rand.Rand, *group)
}{{"fresh", fresh}, {"join", join}, {"leave", leave}, {"grow", grow}}

// scenarios lists all of them, small ones first.
func scenarios() []scenario {
	var all []scenario
	add := func(name string, build func(*rand.Rand) *group) {
		for _, c := range changes {
			all = append(all, scenario{name + ", " + c.name, build, c.apply})
		}
	}
	add("equal 10x100", equal(10, 5, 100))
	add("equal 100x1k", equal(100, 10, 1000))
	add("10 of 100 topics 100x10k", subsets(100, 100, 10_000, 10, 10))
	add("equal 500x10k", equal(500, 20, 10_000))
	all = append(all,
		scenario{"chain 100x2k, fresh", chain(100, 40, 20, 0), disown},
		scenario{"chain 100x2k, cascade", chain(100, 40, 20, 0), fresh},
	)
	add("5-50% of 300 topics 300x30k", subsets(300, 300, 30_000, 15, 150))
	add("five buckets 1000x50k", buckets(1000, 1000, 50_000))
	add("zipf 1000x200k", zipf(1000, 1000))
	add("20 of 1000 topics 1000x200k", subsets(1000, 1000, 200_000, 20, 20))
	add("equal 2000x200k", equal(2000, 100, 200_000))
	add("five buckets 2000x200k", buckets(2000, 1000, 200_000))
	all = append(all,
		scenario{"rolling deploy 2000x200k", equal(2000, 100, 200_000), deploy},
		scenario{"chain 1000x200k, fresh", chain(1000, 400, 200, 0), disown},
		scenario{"chain 1000x200k, cascade", chain(1000, 400, 200, 0), fresh},
		scenario{"one with one topic 2001x1M, fresh", odd(2000, 500, 1_000_000), fresh},
		scenario{"one with one topic 2001x1M, leave", odd(2000, 500, 1_000_000), leave},
	)
	add("equal 2000x1M", equal(2000, 500, 1_000_000))
	all = append(all, scenario{"equal 2000x1M of 10k topics, join", equal(2000, 10_000, 1_000_000), join})
	return append(all,
		scenario{"half of 2000 topics 2000x200k, leave", subsets(2000, 2000, 200_000, 900, 1100), leave},
		scenario{"10 of 1000 topics 10000x500k, leave", subsets(10_000, 1000, 500_000, 10, 10), leave},
		scenario{"chain 10000x200k, cascade", chain(10_000, 40, 20, 0), fresh},
	)
}

func sized(topics, partitions int) []int32 {
	counts := make([]int32, topics)
	for t := range counts {
		counts[t] = int32(partitions / topics)
	}
	return counts
}

func upTo(n int) []int32 {
	list := make([]int32, n)
	for i := range list {
		list[i] = int32(i)
	}
	return list
}

// equal: all members subscribe to all topics.
func equal(members, topics, partitions int) func(*rand.Rand) *group {
	return func(*rand.Rand) *group {
		g := &group{topics: sized(topics, partitions)}
		for range members {
			g.members = append(g.members, member{topics: upTo(topics)})
		}
		return g
	}
}

// subsets: every member subscribes to between least and most topics.
func subsets(members, topics, partitions, least, most int) func(*rand.Rand) *group {
	return func(r *rand.Rand) *group {
		g := &group{topics: sized(topics, partitions)}
		for range members {
			n := least + r.IntN(most-least+1)
			list := make([]int32, n)
			for i, t := range r.Perm(topics)[:n] {
				list[i] = int32(t)
			}
			g.members = append(g.members, member{topics: list})
		}
		return g
	}
}

// buckets is the heterogeneous model of Kafka's own benchmarks: five disjoint
// parts, here with sizes that differ.
func buckets(members, topics, partitions int) func(*rand.Rand) *group {
	return func(*rand.Rand) *group {
		g := &group{topics: sized(topics, partitions)}
		all := upTo(topics)
		for i := range members {
			b := i * 5 / members
			g.members = append(g.members, member{topics: all[b*(b+2)*topics/35 : (b+1)*(b+3)*topics/35]})
		}
		return g
	}
}

// zipf: popular topics, up to 20 for each member, of different sizes.
func zipf(members, topics int) func(*rand.Rand) *group {
	return func(r *rand.Rand) *group {
		g := &group{topics: make([]int32, topics)}
		for t := range g.topics {
			g.topics[t] = int32(20 + r.IntN(360))
		}
		z := rand.NewZipf(r, 1.2, 3, uint64(topics-1))
		for range members {
			seen := map[int32]bool{}
			var m member
			for range 1 + r.IntN(20) {
				if t := int32(z.Uint64()); !seen[t] {
					seen[t] = true
					m.topics = append(m.topics, t)
				}
			}
			g.members = append(g.members, m)
		}
		return g
	}
}

// odd: equal subscriptions but for one member with a single topic, which is
// franz-go's own benchmark of an imbalance that Java has trouble with.
func odd(members, topics, partitions int) func(*rand.Rand) *group {
	return func(r *rand.Rand) *group {
		g := equal(members, topics, partitions)(r)
		g.members = append(g.members, member{topics: []int32{0}})
		return g
	}
}

// chain: topic i is shared by members i and i+1 and owned by i; the first has
// too much, the last nothing.
func chain(members int, first, middle, last int32) func(*rand.Rand) *group {
	return func(*rand.Rand) *group {
		g := &group{}
		for i := range members {
			n := middle
			switch i {
			case 0:
				n = first
			case members - 1:
				n = last
			}
			g.topics = append(g.topics, n)
			m := member{topics: []int32{int32(i)}, owned: map[int32][]int32{int32(i): upTo(int(n))}}
			if i > 0 {
				m.topics = append(m.topics, int32(i-1))
			}
			g.members = append(g.members, m)
		}
		return g
	}
}

func disown(_ *rand.Rand, g *group) {
	for i := range g.members {
		g.members[i].owned = nil
	}
}

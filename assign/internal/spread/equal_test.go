package spread

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/skeinstream/skein/assign/internal/group"
	"github.com/skeinstream/skein/assign/internal/moves"
)

// equalProblem is a group with equal subscriptions, a random past and a plan with
// the fewest moves that is spread by nobody.
func equalProblem(r *rand.Rand, members int32, topics []int32) *Problem {
	g := &group.Group{}
	arena := &group.Arena{}
	base := append(arena.Room(len(topics)+1), 0)
	for _, n := range topics {
		base = append(base, base[len(base)-1]+n)
	}
	b := group.NewBuilder(g, arena, base, int(members))
	b.Begin()
	for t := range topics {
		b.Subscribe(int32(t))
	}
	b.End(0)
	for m := range members - 1 {
		b.JoinAs(m+1, 0)
	}
	b.Group()
	sources := g.SourcesByTopic()
	n := g.Partitions()
	mean := n / members
	m := &moves.Problem{Arena: arena, Supply: []int32{n}, Hubs: group.Lists{Start: []int32{0, 1}, Items: []int32{0}}, Hub: g.MemberClass, Members: g.Members,
		Block: arena.Ints(int(members)), SourceBlock: []int32{0}, Blocks: 1, Price: moves.Price{Move: 1}}
	for range members {
		m.Low, m.High = append(m.Low, mean), append(m.High, (n+members-1)/members)
	}
	before := make([]int32, n)
	owned := make([]int32, members)
	for q := range before {
		before[q] = r.Int32N(members+1) - 1
		if before[q] >= 0 {
			owned[before[q]]++
		}
	}
	m.Owners, m.Owned = group.Lists{Start: []int32{0, members}, Items: g.Positions(int(members))}, owned
	p := &Problem{Group: g, Sources: &sources, Problem: m, Before: before, Pairs: members * int32(len(topics))}
	p.Owner = planOf(moves.Fewest(m), before)
	return p
}

// planOf keeps and gives as many as the flow says, in the order of partitions.
func planOf(f moves.Flow, before []int32) []int32 {
	kept, taken, owner := slices.Clone(f.Kept), slices.Clone(f.Taken), slices.Clone(before)
	for q, m := range before {
		owner[q] = group.None
		if m >= 0 && kept[m] > 0 {
			kept[m]--
			owner[q] = m
		}
	}
	next := 0
	for q := range owner {
		if owner[q] != group.None {
			continue
		}
		for taken[next] == 0 {
			next++
		}
		taken[next]--
		owner[q] = int32(next)
	}
	return owner
}

// worth is the loads in order, the moves, and the sum of the squares.
func (p *Problem) worth() (list []int) {
	loads := make([]int, len(p.Hub))
	counts := map[[2]int32]int{}
	moved, squares := 0, 0
	for t := range int32(len(p.Base) - 1) {
		for q := p.Base[t]; q < p.Base[t+1]; q++ {
			m := p.Owner[q]
			loads[m]++
			squares += 2*counts[[2]int32{t, m}] + 1
			counts[[2]int32{t, m}]++
			if p.Before[q] != m {
				moved++
			}
		}
	}
	slices.Sort(loads)
	return append(loads, moved, squares)
}

// TestTheTableIsAsExactAsTheBoard: two methods that share nothing but the goal come
// to the same sum, at the same loads and moves, with more topics than members and
// with fewer, with few partitions and with many.
func TestTheTableIsAsExactAsTheBoard(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 11))
	better := 0
	for range 2000 {
		members := 1 + r.Int32N(16)
		topics := make([]int32, 1+r.IntN(MostPairs/int(max(members, 16))))
		for i := range topics {
			topics[i] = 1 + r.Int32N([]int32{4, 30, 400}[r.IntN(3)])
		}
		p := equalProblem(r, members, topics)
		if !p.Equal() {
			t.Fatal("the problem is not that of a group with equal subscriptions")
		}
		other := *p
		other.Owner = slices.Clone(p.Owner)
		first := p.worth()
		p.evenEqual()
		b := newBoard(&other)
		for f := newFinder(b); f.round(); {
		}
		b.realise()
		got, want := p.worth(), other.worth()
		if !slices.Equal(got, want) {
			t.Fatalf("%d members, topics %v: loads, moves, squares %v, want %v", members, topics, got, want)
		}
		if got[len(got)-1] < first[len(first)-1] {
			better++
		}
	}
	if better < 1000 {
		t.Errorf("only %d of 2000 had anything to even out", better)
	}
}

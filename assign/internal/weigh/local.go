package weigh

import (
	"cmp"
	"slices"

	"github.com/skeinstream/skein/assign/internal/group"
)

// spread is a plan that is being made.
type spread struct {
	*Problem
	class []int32 // topic class of each partition
	owner []int32
	load  []heft
	held  [][]int32
}

func newSpread(p *Problem) *spread {
	s := &spread{Problem: p, class: make([]int32, p.Partitions()), owner: make([]int32, p.Partitions()), load: make([]heft, len(p.MemberClass))}
	for t, c := range p.TopicClass {
		for q := p.Base[t]; q < p.Base[t+1]; q++ {
			s.class[q], s.owner[q] = c, group.None
		}
	}
	return s
}

func (s *spread) heft(q int32) heft { return heft{s.Weight[q], 1} }

// keep leaves everything with its owner.
func (s *spread) keep() {
	for q, m := range s.Owner {
		if s.owner[q] = m; m != group.None {
			s.load[m] = s.load[m].plus(s.heft(int32(q)))
		}
	}
}

// list fills held, and counts loads again.
func (s *spread) list() {
	clear(s.load)
	s.held = make([][]int32, len(s.load))
	for q, m := range s.owner {
		if m != group.None {
			s.load[m] = s.load[m].plus(s.heft(int32(q)))
			s.held[m] = append(s.held[m], int32(q))
		}
	}
}

// place gives what nobody has to the lightest subscriber, the heaviest first.
func (s *spread) place() {
	var free []int32
	for q, m := range s.owner {
		if m == group.None && s.class[q] != group.None {
			free = append(free, int32(q))
		}
	}
	slices.SortStableFunc(free, func(a, b int32) int { return cmp.Compare(s.Weight[b], s.Weight[a]) })
	queues := make([]queue, s.Subscribed.Len())
	for _, q := range free {
		waiting := &queues[s.class[q]]
		if waiting.waiting == nil {
			waiting.init(s.Subscribed.Of(s.class[q]), s.load)
		}
		m := waiting.lightest(s.load)
		s.owner[q] = m
		s.load[m] = s.load[m].plus(s.heft(q))
	}
}

func (s *spread) lightest(class int32) int32 {
	return slices.MinFunc(s.Subscribed.Of(class), func(a, b int32) int { return s.load[a].compare(s.load[b]) })
}

func (s *spread) heaviest() int32 {
	best := int32(0)
	for m := range s.load {
		if s.load[best].below(s.load[m]) {
			best = int32(m)
		}
	}
	return best
}

func (s *spread) largest() int64 {
	if len(s.load) == 0 {
		return 0
	}
	return s.load[s.heaviest()].weight
}

// passes is how often improve goes over all members at most.
const passes = 8

// improve moves and exchanges partitions, the heaviest members first, until no
// member gains by it or it has gone over all of them a few times.
func (s *spread) improve() {
	order := make([]int32, len(s.load))
	for m := range order {
		order[m] = int32(m)
	}
	for range passes {
		slices.SortStableFunc(order, func(a, b int32) int { return s.load[b].compare(s.load[a]) })
		better := false
		for _, m := range order {
			for s.lighten(m, s.load[m]) {
				better = true
			}
		}
		if !better {
			return
		}
	}
}

// relieve takes partitions from members above limit until there are none; it
// reports whether that worked.
func (s *spread) relieve(limit int64) bool {
	for range len(s.owner) + 1 {
		m := s.heaviest()
		if s.load[m].weight <= limit {
			return true
		}
		if !s.lighten(m, heft{limit + 1, 0}) {
			return false
		}
	}
	return false
}

// exchange is a partition that goes, and perhaps one that comes for it.
type exchange struct {
	give, take, to int32
	after          heft // the larger of the two loads when it is done
}

// lighten carries out the best move or else the best exchange of one of m's
// partitions that leaves both members below limit; it reports whether there was one.
func (s *spread) lighten(m int32, limit heft) bool {
	lightest := map[int32]int32{}
	best := exchange{give: group.None, take: group.None, after: limit}
	for _, q := range s.held[m] {
		to, seen := lightest[s.class[q]]
		if !seen {
			to = s.lightest(s.class[q])
			lightest[s.class[q]] = to
		}
		if to != m {
			best.consider(s, m, exchange{give: q, take: group.None, to: to})
		}
	}
	if best.give == group.None {
		for _, q := range s.held[m] {
			s.exchanges(m, q, lightest[s.class[q]], &best)
		}
	}
	if best.give == group.None {
		return false
	}
	s.move(best.give, m, best.to)
	if best.take != group.None {
		s.move(best.take, best.to, m)
	}
	return true
}

// consider takes x if it leaves less than the best so far.
func (best *exchange) consider(s *spread, m int32, x exchange) {
	goes, comes := s.heft(x.give), heft{}
	if x.take != group.None {
		comes = s.heft(x.take)
	}
	mine, theirs := s.load[m].minus(goes).plus(comes), s.load[x.to].plus(goes).minus(comes)
	if x.after = larger(mine, theirs); x.after.below(best.after) {
		*best = x
	}
}

// exchanges considers what to has that m may have for q.
func (s *spread) exchanges(m, q, to int32, best *exchange) {
	if to == m {
		return
	}
	for _, back := range s.held[to] {
		if s.Weight[back] < s.Weight[q] && s.may(m, s.class[back]) {
			best.consider(s, m, exchange{give: q, take: back, to: to})
		}
	}
}

func (s *spread) may(m, class int32) bool {
	_, yes := slices.BinarySearch(s.Subscribed.Of(class), m)
	return yes
}

func (s *spread) move(q, from, to int32) {
	s.owner[q] = to
	s.load[from] = s.load[from].minus(s.heft(q))
	s.load[to] = s.load[to].plus(s.heft(q))
	at, _ := slices.BinarySearch(s.held[from], q)
	s.held[from] = slices.Delete(s.held[from], at, at+1)
	at, _ = slices.BinarySearch(s.held[to], q)
	s.held[to] = slices.Insert(s.held[to], at, q)
}

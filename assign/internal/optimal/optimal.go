// Package optimal is the core of the sticky assignors: fairest loads first, then
// fewest moves, then what else is asked for, each goal exactly and none at the
// cost of one before it. It puts together level (which loads), moves (how many
// partitions go where), deal (which ones) and spread (evenly over topics).
package optimal

import (
	"github.com/skeinstream/skein/assign/internal/deal"
	"github.com/skeinstream/skein/assign/internal/group"
	"github.com/skeinstream/skein/assign/internal/level"
	"github.com/skeinstream/skein/assign/internal/moves"
	"github.com/skeinstream/skein/assign/internal/spread"
)

// Problem is a group and who has what.
type Problem struct {
	*group.Group
	// Owner is the owner of each partition, group.None when it has none that counts.
	// Solve replaces it by the new one. Owners must subscribe to what they own.
	Owner []int32
	// Former is nil, or by partition a member other than the owner that had it
	// once, and is preferred when the partition has to go anyway.
	Former []int32
	// Racks is nil when racks do not count.
	Racks *Racks
	// RacksFirst puts racks before moves.
	RacksFirst bool
	// Slack is by how much loads may leave the fairest ones to save moves.
	Slack int32
}

// Racks says where members run and partitions lie.
type Racks struct {
	// Member is the rack of each member, group.None when unknown.
	Member []int32
	// Set is the set of racks of each partition, group.None when unknown; Sets lists
	// the racks of each set.
	Set  []int32
	Sets group.Lists
	// Count is how many racks there are.
	Count int
}

// Solution says what all fairest plans have in common.
type Solution struct {
	Levels level.Levels
}

// Solve replaces what is in p.Owner by the plan. It takes time linear in the
// partitions plus that of a few flows over classes. The only error is ErrTooLarge.
func Solve(p Problem) (Solution, error) {
	s := &solver{Problem: p}
	price, err := s.price()
	if err != nil {
		return Solution{}, err
	}
	s.sources = s.divide()
	s.countOwned()
	s.levels = s.findLevels()
	m := s.movesProblem(price)
	flow := moves.Fewest(m)
	if !flow.Moves() {
		return Solution{Levels: s.levels}, nil
	}
	var before []int32
	pairs := spread.Pairs(&s.sources, m)
	if pairs <= spread.MostPairs {
		before = append(s.Room(len(p.Owner)), p.Owner...)
	}
	s.deal = deal.Problem{Group: p.Group, Sources: &s.sources, Problem: m, Flow: flow, Owned: s.owned, Owner: p.Owner}
	deal.Out(&s.deal)
	if before != nil {
		s.spread = spread.Problem{Group: p.Group, Sources: &s.sources, Problem: m, Before: before, Owner: p.Owner, Pairs: pairs}
		spread.Even(&s.spread)
	}
	return Solution{Levels: s.levels}, nil
}

type solver struct {
	Problem
	sources group.Sources
	// owners lists by source who owns some of it, owned how many.
	owners group.Lists
	owned  []int32
	levels level.Levels
	// What the steps are asked, in one piece of memory.
	level  level.Problem
	moves  moves.Problem
	deal   deal.Problem
	spread spread.Problem
}

func (s *solver) divide() group.Sources {
	if s.Racks == nil && s.Former == nil {
		return s.SourcesByTopic()
	}
	return s.SourcesBy(func(partition int32) group.Kind {
		k := group.Kind{Racks: group.None, Former: group.None}
		if s.Racks != nil {
			k.Racks = s.Racks.Set[partition]
		}
		if s.Former != nil {
			k.Former = s.Former[partition]
		}
		return k
	})
}

// countOwned counts, by source, what each member owns of it.
func (s *solver) countOwned() {
	at := s.Ints(len(s.MemberClass)) // 1 more than the place of a member's count
	s.owners = group.Lists{Start: append(s.Room(len(s.sources.Class)+1), 0), Items: s.Room(len(at))}
	s.owned = s.Room(len(at))
	for source := range int32(len(s.sources.Class)) {
		first := int32(len(s.owned))
		for _, r := range s.sources.Of(source) {
			for _, m := range s.Owner[r.From:r.To] {
				if m == group.None {
					continue
				}
				if at[m] > first {
					s.owned[at[m]-1]++
					continue
				}
				s.owners.Items = append(group.Extend(s.owners.Items, 1), m)
				s.owned = append(group.Extend(s.owned, 1), 1)
				at[m] = int32(len(s.owned))
			}
		}
		s.owners.Start = append(s.owners.Start, int32(len(s.owned)))
	}
}

// findLevels tells without looking what the level is where everybody may have
// everything: the mean load, rounded up.
func (s *solver) findLevels() level.Levels {
	if s.ClassTopics.Len() != 1 || s.Members.Len() != 1 || s.Slack > 0 {
		return level.Find(s.levelProblem())
	}
	supply, members := int32(0), int32(len(s.MemberClass))
	for source := range s.sources.Class {
		supply += s.sources.Supply(int32(source))
	}
	mean := supply / members
	if supply%members > 0 {
		mean++
	}
	both := s.Ints(1)
	both[0] = mean
	return level.Levels{Topics: both, Members: both}
}

func (s *solver) levelProblem() *level.Problem {
	s.level = level.Problem{Arena: s.Arena, Supply: s.Ints(s.ClassTopics.Len()), Size: s.Ints(s.Members.Len()), Subscribers: s.Subscribers, Ranges: s.Slack > 0}
	p := &s.level
	p.Owned = s.Ints(len(s.Subscribers.Items))
	for c := range p.Size {
		p.Size[c] = s.Members.Size(int32(c))
	}
	place := s.Ints(len(p.Size)) // of each member class among the subscribers
	for source, class := range s.sources.Class {
		p.Supply[class] += s.sources.Supply(int32(source))
		for a := s.Subscribers.Start[class]; a < s.Subscribers.Start[class+1]; a++ {
			place[s.Subscribers.Items[a]] = a
		}
		for a := s.owners.Start[source]; a < s.owners.Start[source+1]; a++ {
			p.Owned[place[s.MemberClass[s.owners.Items[a]]]] += s.owned[a]
		}
	}
	return p
}

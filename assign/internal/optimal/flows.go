package optimal

import (
	"slices"

	"github.com/skeinstream/skein/assign/internal/group"
	"github.com/skeinstream/skein/assign/internal/moves"
)

// movesProblem says what may flow where. Without slack a partition must stay in
// its block, or a member of a lower block could fill its box with what belongs
// to another; with slack the boxes are all there is.
func (s *solver) movesProblem(price moves.Price) *moves.Problem {
	s.moves = moves.Problem{Arena: s.Arena, Owners: s.owners, Owned: s.owned, Slack: s.Slack, Price: price}
	p := &s.moves
	p.Former, p.Once = s.former()
	hubs := s.hubs()
	p.Hub, p.Members = hubs.of, hubs.members
	p.Supply = s.Ints(len(s.sources.Class))
	for i := range p.Supply {
		p.Supply[i] = s.sources.Supply(int32(i))
	}
	s.boxes(p)
	s.blocks(p)
	s.connect(p, hubs)
	return p
}

// boxes says which loads are fair: those of the level within blocks, those of
// any fairest plan where slack is counted from there.
func (s *solver) boxes(p *moves.Problem) {
	p.Low, p.High = s.Ints(len(s.MemberClass)), s.Ints(len(s.MemberClass))
	for m, c := range s.MemberClass {
		if s.Slack > 0 {
			p.Low[m], p.High[m] = s.levels.Low[c], s.levels.High[c]
		} else {
			p.Low[m], p.High[m] = max(s.levels.Members[c]-1, 0), s.levels.Members[c]
		}
	}
}

// blocks numbers the levels.
func (s *solver) blocks(p *moves.Problem) {
	p.Block, p.SourceBlock = s.Ints(len(s.MemberClass)), s.Ints(len(s.sources.Class))
	if s.Slack > 0 {
		p.Blocks = 1
		return
	}
	levels := append(s.Room(len(s.levels.Members)), s.levels.Members...)
	slices.Sort(levels)
	levels = slices.Compact(levels)
	number := func(level int32) int32 {
		i, _ := slices.BinarySearch(levels, level)
		return int32(i)
	}
	p.Blocks = len(levels)
	byClass := s.Ints(len(s.levels.Members))
	for c, l := range s.levels.Members {
		byClass[c] = number(l)
	}
	for m, c := range s.MemberClass {
		p.Block[m] = byClass[c]
	}
	for i, class := range s.sources.Class {
		p.SourceBlock[i] = number(s.levels.Topics[class])
	}
}

// apart reports whether nothing of a topic class may go to a member class.
func (s *solver) apart(topics, members int32) bool {
	return s.Slack == 0 && s.levels.Topics[topics] != s.levels.Members[members]
}

// connect lists where each source may flow, and forbids to keep what a member
// of another block owns.
func (s *solver) connect(p *moves.Problem, hubs hubs) {
	p.Hubs.Start = append(s.Room(len(s.sources.Class)+1), 0)
	if hubs.plain() {
		p.Hubs.Items = s.Room(len(s.Subscribers.Items))
	}
	for i, class := range s.sources.Class {
		for _, c := range s.Subscribers.Of(class) {
			if !s.apart(class, c) {
				p.Hubs.Items = append(p.Hubs.Items, hubs.ofClass(c)...)
			}
		}
		p.Hubs.Start = append(p.Hubs.Start, int32(len(p.Hubs.Items)))
		for a := s.owners.Start[i]; a < s.owners.Start[i+1]; a++ {
			if s.apart(class, s.MemberClass[s.owners.Items[a]]) {
				p.Owned = s.forbid(p.Owned, a)
			}
		}
		if p.Former != nil && p.Former[i] != group.None && s.apart(class, s.MemberClass[p.Former[i]]) {
			p.Former[i] = group.None
		}
	}
	p.Misfit = s.misfits(hubs)
}

// forbid keeps the true counts and lets moves see a changed copy.
func (s *solver) forbid(owned []int32, a int32) []int32 {
	if &owned[0] == &s.owned[0] {
		owned = slices.Clone(owned)
	}
	owned[a] = 0
	return owned
}

// former returns the former owner of each source, and whether there is one.
func (s *solver) former() (of []int32, once []bool) {
	if s.Former == nil {
		return nil, nil
	}
	of, once = make([]int32, len(s.sources.Class)), make([]bool, len(s.sources.Class))
	for i := range of {
		of[i] = s.Former[s.sources.Of(int32(i))[0].From]
		once[i] = of[i] != group.None
	}
	return of, once
}

// hubs groups members by class and rack; the hubs of a class have consecutive numbers.
type hubs struct {
	of      []int32 // of each member
	members group.Lists
	first   []int32 // of each class, and the number of all; nil when hubs are classes
	rack    []int32 // of each hub
	self    []int32 // 0, 1, 2, ...: what ofClass cuts its results from
}

func (h hubs) plain() bool { return h.first == nil }

func (h hubs) ofClass(c int32) []int32 {
	if h.plain() {
		return h.self[c : c+1]
	}
	return h.self[h.first[c]:h.first[c+1]]
}

func (s *solver) hubs() hubs {
	if s.Racks == nil {
		return hubs{of: s.MemberClass, members: s.Members, self: s.Positions(s.Members.Len())}
	}
	h := hubs{of: s.Ints(len(s.MemberClass)), first: append(s.Room(s.Members.Len()+1), 0)}
	at := s.Ints(s.Racks.Count + 1) // 1 more than the hub of the class at hand in each rack
	for c := range int32(s.Members.Len()) {
		first := int32(len(h.rack))
		for _, m := range s.Members.Of(c) {
			rack := s.Racks.Member[m]
			if at[rack+1] <= first {
				h.rack = append(h.rack, rack)
				at[rack+1] = int32(len(h.rack))
			}
			h.of[m] = at[rack+1] - 1
		}
		h.first = append(h.first, int32(len(h.rack)))
	}
	h.members = s.Invert(h.of, len(h.rack))
	h.self = s.Positions(len(h.rack))
	return h
}

// misfits says which hubs stand in none of the racks of a source. What is
// unknown fits everywhere.
func (s *solver) misfits(h hubs) []bool {
	if s.Racks == nil {
		return nil
	}
	out := make([]bool, len(s.sources.Class)*len(h.rack))
	for i := range s.sources.Class {
		set := s.Racks.Set[s.sources.Of(int32(i))[0].From]
		if set == group.None {
			continue
		}
		for hub, rack := range h.rack {
			out[i*len(h.rack)+hub] = rack != group.None && !slices.Contains(s.Racks.Sets.Of(set), rack)
		}
	}
	return out
}

// Package spread evens out each topic over its members, as far as that costs
// nothing of the goals before it. Package deal does this well by rule of
// thumb; here it is made exact, by exchanges: as long as there is a round of
// members, each passing a partition on to the next, that leaves all prices as
// they are and makes the sum of the squared counts smaller, it is carried out.
// When there is none, the sum is least: it is a convex cost of a flow.
//
// Looking for rounds takes time for every pair of a topic and a subscriber, more
// than planning does. It is therefore done for groups with few pairs only,
// where a topic in the wrong hands is a large part of a member's work.
package spread

import (
	"github.com/skeinstream/skein/assign/internal/group"
	"github.com/skeinstream/skein/assign/internal/moves"
)

// MostPairs is how many pairs of topics and subscribers are looked at.
const MostPairs = 256

// Problem is a plan and what it was made from.
type Problem struct {
	*group.Group
	Sources *group.Sources
	*moves.Problem
	// Before and Owner are the owner of every partition before and after; Even
	// changes Owner.
	Before, Owner []int32
	// Pairs is how many pairs there are.
	Pairs int32
}

// Pairs counts the pairs of a group, up to what is looked at and one more.
func Pairs(sources *group.Sources, p *moves.Problem) int32 {
	pairs := int32(0)
	for s := range int32(len(sources.Class)) {
		members := int32(0)
		for _, h := range p.Hubs.Of(s) {
			members += p.Members.Size(h)
		}
		topic := group.None
		for _, r := range sources.Of(s) {
			if r.Topic == topic {
				continue
			}
			topic = r.Topic
			if pairs += members; pairs > MostPairs {
				return pairs
			}
		}
	}
	return pairs
}

// Even evens out the topics of p.
func Even(p *Problem) {
	if p.Equal() {
		p.evenEqual()
		return
	}
	if p.isEven() {
		return
	}
	b := newBoard(p)
	f := newFinder(b)
	if f == nil {
		return
	}
	turned := false
	for f.round() {
		turned = true
	}
	if turned {
		b.realise()
	}
}

// isEven reports whether there is nothing to win: of no topic has one member two
// more than another that may have some.
func (p *Problem) isEven() bool {
	count := p.Group.Ints(len(p.Hub))
	for s := range int32(len(p.Sources.Class)) {
		topic := group.None
		for _, r := range p.Sources.Of(s) {
			if r.Topic == topic {
				continue
			}
			topic = r.Topic
			all := p.Owner[p.Base[topic]:p.Base[topic+1]]
			for _, m := range all {
				count[m]++
			}
			even := p.within(s, count)
			for _, m := range all {
				count[m] = 0
			}
			if !even {
				return false
			}
		}
	}
	return true
}

// within reports whether the counts of all that may have a source differ by one
// at most.
func (p *Problem) within(source int32, count []int32) bool {
	least, most := int32(1<<30), int32(0)
	for _, h := range p.Hubs.Of(source) {
		for _, m := range p.Problem.Members.Of(h) {
			least, most = min(least, count[m]), max(most, count[m])
		}
	}
	return most <= least+1
}

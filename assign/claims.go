package assign

import (
	"cmp"
	"slices"

	"github.com/skeinstream/skein/assign/internal/group"
)

// claim is what one member says it owns, and since when.
type claim struct {
	owned      []TopicPartitions
	generation int32
}

// claims is what all claims together come to. They are hostile input: only
// what a member can have, and nobody newer or as new says to have, counts.
type claims struct {
	// owner is the one whose claim counts, by partition.
	owner []int32
	// former is nil, or by partition one whose claim does not, for being stale or
	// double. The partition suits it better than others if it has to go anyway.
	former []int32
	// held lists what members hold without owning it.
	held []holding
}

// holding is a partition that a member has not let go of.
type holding struct{ partition, member int32 }

// disputed marks a partition that was claimed and has no owner: by two members
// in one generation (R-A16), or by one that does not subscribe any more.
const disputed int32 = -2

// settle decides who owns what. Members are heard newest first, so that of two
// claims for a partition the first heard counts, whatever the order of the
// input (R-A17), and those who come too late are stale.
func (x *index) settle(of func(*Member) claim) *claims {
	x.claims = claims{owner: x.vacant()}
	h := hearing{x: x, c: &x.claims, claims: make([]claim, len(x.order)), subscribed: x.Ints(len(x.names))}
	for m := range h.claims {
		h.claims[m] = of(x.member(int32(m)))
	}
	class := group.None
	for _, m := range h.order() {
		if c := x.MemberClass[m]; c != class {
			class = c
			for _, t := range x.Topics.Of(c) {
				h.subscribed[t] = c + 1
			}
		}
		h.hear(m)
	}
	for _, held := range h.c.held {
		if h.c.owner[held.partition] == disputed {
			h.c.owner[held.partition] = group.None
		}
	}
	return h.c
}

type hearing struct {
	x      *index
	c      *claims
	claims []claim
	// subscribed is, by topic, 1 more than the last class heard that subscribes to it.
	subscribed []int32
}

// order puts the newest generation first, and members of a class together.
func (h *hearing) order() []int32 {
	newest := func(a, b int32) int {
		return cmp.Or(cmp.Compare(h.claims[b].generation, h.claims[a].generation), cmp.Compare(h.x.MemberClass[a], h.x.MemberClass[b]), cmp.Compare(a, b))
	}
	if slices.ContainsFunc(h.claims, func(c claim) bool { return c.generation != h.claims[0].generation }) {
		order := slices.Clone(h.x.Members.Items)
		slices.SortFunc(order, newest)
		return order
	}
	return h.x.Members.Items
}

// hear hears what m says to own: mostly topics that it subscribes to, in the order of
// their names, so that the next of these is tried first.
func (h *hearing) hear(m int32) {
	names, topics, next := h.x.names, h.x.Topics.Of(h.x.MemberClass[m]), 0
	for i := range h.claims[m].owned {
		o := &h.claims[m].owned[i]
		t, known := group.None, next < len(topics) && names[topics[next]] == o.Topic
		if known {
			t = topics[next]
			next++
		} else if t, next, known = h.x.findAmong(topics, next, o.Topic); !known {
			continue
		}
		base, end := h.x.Base[t], h.x.Base[t+1]
		owner, n := h.c.owner[base:end], uint32(end-base)
		mine := h.subscribed[t] == h.x.MemberClass[m]+1
		for _, p := range o.Partitions {
			switch {
			case uint32(p) >= n:
			case mine && owner[p] == group.None:
				owner[p] = m
			case owner[p] != m:
				h.dispute(base+p, m, mine)
			}
		}
	}
}

// dispute hears a claim on a partition that was claimed before, or that m does
// not subscribe to.
func (h *hearing) dispute(p, m int32, subscribed bool) {
	first := h.c.owner[p]
	h.hold(p, m)
	if subscribed {
		h.prefer(p, m)
	}
	switch {
	case first == group.None:
		h.c.owner[p] = disputed
	case first >= 0 && h.claims[first].generation == h.claims[m].generation:
		h.hold(p, first)
		h.prefer(p, first)
		h.c.owner[p] = disputed
	}
}

func (h *hearing) hold(p, m int32) { h.c.held = append(h.c.held, holding{p, m}) }

// prefer notes the newest member that had p, of equals the first in order.
func (h *hearing) prefer(p, m int32) {
	if h.c.former == nil {
		h.c.former = h.x.vacant()
	}
	f := h.c.former[p]
	if f == group.None || h.claims[f].generation == h.claims[m].generation && m < f {
		h.c.former[p] = m
	}
}

// withhold takes from a plan, in owner, what must stay with nobody for one
// generation (R-A19, R-A20): everything that goes to someone else than its
// owner while any other member, be its claim ever so stale, still holds it.
func (c *claims) withhold(owner []int32) {
	for p, before := range c.owner {
		if before != group.None && owner[p] != before {
			owner[p] = group.None
		}
	}
	for _, h := range c.held {
		if to := owner[h.partition]; to != h.member && to != c.owner[h.partition] {
			owner[h.partition] = group.None
		}
	}
}

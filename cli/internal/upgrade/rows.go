package upgrade

import "slices"

// shape is what a group looks like from outside, as far as the matrix tells groups apart.
type shape uint8

const (
	holdsEager  shape = iota // a member knows EAGER assignors alone
	either                   // all offer both kinds, or some do and the others COOPERATIVE ones alone
	coopAlone                // all offer COOPERATIVE ones alone
	withholds                // members hold EAGER ones back
	climbed                  // members run COOPERATIVE, and the broker still has their whole lists
	unguarded                // members own partitions and offer EAGER ones all the same
	untoldEager              // no lists are told, an EAGER one is selected
	untoldCoop               // no lists are told, and members claim what they own
	untoldFresh              // no lists are told, a COOPERATIVE one is selected, nobody claims anything
)

// shape finds it; what comes first in the list of cases decides.
func (g Group) shape() shape {
	n := g.names()
	some := func(is func(m Member) bool) bool { return slices.ContainsFunc(g.Members, is) }
	of := func(c class) func(Member) bool {
		return func(m Member) bool { return m.Listed && n.class(append(slices.Clone(m.Offers), m.Withholds...)) == c }
	}
	switch {
	case some(func(m Member) bool { return m.naive(n) }):
		return unguarded
	case some(of(eagerOnly)) || some(func(m Member) bool { return m.old(n) }):
		return holdsEager
	case some(func(m Member) bool { return len(m.Withholds) > 0 }):
		return withholds
	case some(g.climbed):
		return climbed
	case some(of(both)):
		return either
	case !some(func(m Member) bool { return !m.Listed }):
		return coopAlone
	case !n[g.Assignor]:
		return untoldEager
	case some(func(m Member) bool { return m.Claims > 0 }):
		return untoldCoop
	}
	return untoldFresh
}

// front is what a target's list begins with.
type front uint8

const (
	anyFront front = iota
	coopFirst
	eagerFirst
)

// row is one line of the matrix (docs/requirements.md, part C): who is there, and who comes.
type row struct {
	id     string
	there  []shape
	comes  class
	front  front
	client Client // "": either
}

// rows is the matrix. The first row that fits is the one. M6 is M5 where lists are forgotten, M14 is M11 where somebody has
// nothing to fall back to, M16 is a remark on M1 to M5, M18 and M19 look like M17 from outside, and M21 to M23 are not of lists:
// see extra.
func rows() []row {
	return []row{
		{id: "M1", there: []shape{holdsEager, untoldEager}, comes: both},
		{id: "M2", there: []shape{holdsEager}, comes: coopOnly},
		{id: "M15", there: []shape{holdsEager, untoldEager}, comes: eagerOnly},
		{id: "M3", there: []shape{either, untoldFresh}, comes: both, front: coopFirst, client: Stock},
		{id: "M9", there: []shape{either, untoldFresh}, comes: both, front: coopFirst, client: Skein},
		{id: "M4", there: []shape{either, untoldFresh}, comes: both, front: eagerFirst},
		{id: "M5", there: []shape{either, untoldEager, untoldFresh}, comes: coopOnly},
		{id: "M10", there: []shape{either, climbed, untoldFresh}, comes: eagerOnly},
		{id: "M7", there: []shape{coopAlone, untoldCoop}, comes: eagerOnly},
		{id: "M8", there: []shape{coopAlone, untoldCoop}, comes: both},
		{id: "M11", there: []shape{withholds}, comes: eagerOnly},
		{id: "M12", there: []shape{withholds, climbed}, comes: both, front: eagerFirst},
		{id: "M13", there: []shape{withholds, climbed, coopAlone, untoldCoop}, comes: coopOnly},
		{id: "M13", there: []shape{withholds, climbed}, comes: both},
		{id: "M17", there: []shape{unguarded}, comes: eagerOnly},
		{id: "M17", there: []shape{unguarded}, comes: both, front: eagerFirst},
		{id: "M13", there: []shape{unguarded}, comes: both},
		{id: "M13", there: []shape{unguarded}, comes: coopOnly},
	}
}

// fits says whether a restart is of the row.
func (r row) fits(s shape, t Target, n Names) bool {
	first := coopFirst
	if len(t.List) > 0 && !n[t.List[0]] {
		first = eagerFirst
	}
	return slices.Contains(r.there, s) && r.comes == n.class(t.List) && (r.front == anyFront || r.front == first) &&
		(r.client == "" || r.client == t.Client)
}

// find finds the row of a restart.
func (g Group) find(t Target) row {
	n, s := g.names(), g.shape()
	i := slices.IndexFunc(rows(), func(r row) bool { return r.fits(s, t, n) })
	return rows()[i]
}

// extra are rows that come on top, or in the place, of the one that the lists say.
func (g Group) extra(r row, f Forecast) (ids []string) {
	n, t := g.names(), f.Target
	id := r.id
	skein := slices.ContainsFunc(g.Members, func(m Member) bool { return len(m.Withholds) > 0 })
	switch {
	case id == "M5" && g.forgets(t):
		id = "M6"
	case id == "M11" && (f.Admitted == No || f.Adopts != "") && g.Broker.Union:
		id = "M14"
	case id == "M17" && skein:
		id = "M20"
	}
	ids = append(ids, id)
	other := func(name string) bool { return name != "range" && !n[name] }
	if slices.Contains([]string{"M1", "M3", "M4", "M5", "M6"}, id) && (slices.ContainsFunc(t.List, other) || other(g.Assignor)) {
		ids = append(ids, "M16")
	}
	if slices.ContainsFunc(g.Members, func(m Member) bool { return m.Static }) {
		ids = append(ids, "M22")
	}
	return ids
}

// forgets: a broker that keeps of every list the selected name alone refuses, after a restart of its own, who does not offer
// that one (R-C3).
func (g Group) forgets(t Target) bool {
	return !g.Broker.Remembers && !slices.Contains(t.List, g.Assignor)
}

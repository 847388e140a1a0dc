// Package moves decides how many partitions stay where they are, which is the
// second half of the optimal core: of all plans within the boxes that package
// level found, one that takes the fewest partitions from their owners.
//
// The obvious graph, partitions on one side and members on the other, has as
// many arcs as there are permissions, and the obvious start, an empty flow, pays
// for every partition. Neither is needed. Partitions that differ in nothing but
// their number form one source, members that differ in nothing but their name
// one hub. Of a source's partitions that one member owns, as many can be kept as
// the member gets of that source: a keep arc, free of charge and as wide as the
// number owned. Everything else flows from source to hub, at the price of a
// move, and from hub to member. The flow starts with everything kept and what is
// free spread by guess, which is optimal for the wrong loads; the shortest ways
// from members with too much to members with too little mend the loads and keep
// it optimal (successive shortest paths, a whole distance at a time).
//
// A settled group has no excess and costs nothing here.
package moves

import (
	"math"
	"slices"

	"github.com/skeinstream/skein/assign/internal/group"
)

// Problem is what may flow where, and at what price.
type Problem struct {
	*group.Arena
	// Supply is the number of partitions of each source.
	Supply []int32
	// Owners lists, by source, the members that own some of it, and Owned how many.
	Owners group.Lists
	Owned  []int32
	// Hubs lists, by source, the hubs it may flow to.
	Hubs group.Lists
	// Hub is the hub of each member, Members lists the members of each hub.
	Hub     []int32
	Members group.Lists
	// Block is the block of each member and SourceBlock that of each source; the
	// members of a block get all its sources' partitions.
	Block, SourceBlock []int32
	Blocks             int
	// Low[m] and High[m] are the least and the most that member m may get.
	Low, High []int32
	// Slack is by how much loads may leave that box.
	Slack int32
	// Former is nil, or by source the member that had its partitions once and may have
	// them again; Once is whether anybody had, who may be of another block.
	Former []int32
	Once   []bool
	// Misfit is nil, or whether a hub stands in none of the racks of a source:
	// Misfit[source*hubs+hub].
	Misfit []bool
	Price  Price
}

// Price is what is paid for one partition. The greater is worth any number of
// the smaller, so that the sum is least for the goals in order.
type Price struct {
	// Move is for a partition that is not kept, Misfit for one in a wrong rack,
	// Uneven for one outside the fair box, Estranged for one that is neither kept nor
	// goes to the member that had it once.
	Move, Misfit, Uneven, Estranged int64
}

// Flow says how many partitions go where.
type Flow struct {
	// Kept counts, for each of Problem.Owners.Items, the partitions that stay.
	Kept []int32
	// Through counts, for each of Problem.Hubs.Items, the others.
	Through []int32
	// Taken counts, by member, what it gets from its hub.
	Taken []int32
	// Returned is nil, or counts, by source, what goes to its former owner.
	Returned []int32
}

// Moves reports whether anything does not stay.
func (f *Flow) Moves() bool {
	moving := func(n int32) bool { return n > 0 }
	return slices.ContainsFunc(f.Through, moving) || slices.ContainsFunc(f.Returned, moving)
}

// Fewest computes a cheapest flow. There always is one that fits: level's boxes
// are those of a plan that exists.
func Fewest(p *Problem) Flow {
	out := Flow{Kept: p.Ints(len(p.Owners.Items)), Through: p.Ints(len(p.Hubs.Items)), Taken: p.Ints(len(p.Hub))}
	if p.Equal() {
		p.solveEqual(out)
		return out
	}
	if p.Former != nil {
		out.Returned = p.Ints(len(p.Supply))
	}
	f := &flow{p: p, out: out, load: p.Ints(len(p.Hub))}
	if f.begin() {
		f.reverse()
		f.solve()
	}
	return f.out
}

// flow is the flow so far. Nodes are sources, members, hubs and blocks, in this
// order; a node's number is its own plus where its kind begins.
type flow struct {
	p   *Problem
	out Flow
	// load is what each member has.
	load []int32
	// excess is, by node, what came in and did not go out; where negative, what
	// should come in.
	excess                []int32
	members, hubs, blocks int32 // where these kinds begin
	// spare is, by source, what of it is owned and not kept, and by hub what it is sent.
	spare       []int32
	ownersOf    group.Lists
	ownerSource []int32
	sourcesOf   group.Lists
	hubSource   []int32
	formerOf    group.Lists
	inBlock     group.Lists
	paths
}

// misfit is paid for a partition of source in the rack of a hub.
func (p *Problem) misfit(source, hub int32) int64 {
	if p.Misfit != nil && p.Misfit[int(source)*p.Members.Len()+int(hub)] {
		return p.Price.Misfit
	}
	return 0
}

// KeepPrice is paid to keep a partition of source at member m.
func (p *Problem) KeepPrice(source, m int32) int64 { return p.misfit(source, p.Hub[m]) }

// GivePrice is paid to give a partition of source to a hub.
func (p *Problem) GivePrice(source, hub int32) int64 {
	price := p.Price.Move + p.misfit(source, hub)
	if p.once(source) {
		price += p.Price.Estranged
	}
	return price
}

func (p *Problem) once(source int32) bool { return p.Once != nil && p.Once[source] }

// ReturnPrice is paid to give a partition of source back to its former owner.
func (p *Problem) ReturnPrice(source int32) int64 {
	return p.Price.Move + p.misfit(source, p.Hub[p.Former[source]])
}

// Heavier returns by how much a member's load may grow, and at what price a
// piece. With slack the price is convex: on the way to the box something is
// won, inside nothing is paid.
func (p *Problem) Heavier(m, load int32) (room int32, price int64) {
	switch {
	case load < p.Low[m]:
		return p.Low[m] - load, -p.Price.Uneven
	case load < p.High[m]:
		return p.High[m] - load, 0
	}
	return p.High[m] + p.Slack - load, p.Price.Uneven
}

// Lighter is the reverse.
func (p *Problem) Lighter(m, load int32) (room int32, price int64) {
	switch {
	case load > p.High[m]:
		return load - p.High[m], -p.Price.Uneven
	case load > p.Low[m]:
		return load - p.Low[m], 0
	}
	return load - max(p.Low[m]-p.Slack, 0), p.Price.Uneven
}

// begin keeps everything that is cheaper kept than moved, places what is free
// by guess, brings each member's load into its box on paper, and reports
// whether that leaves an excess anywhere.
func (f *flow) begin() (busy bool) {
	p := f.p
	f.members = int32(len(p.Supply))
	f.hubs = f.members + int32(len(p.Hub))
	f.blocks = f.hubs + int32(p.Members.Len())
	f.excess = p.Ints(int(f.blocks) + p.Blocks)
	for s := range f.members {
		f.keep(s)
		f.excess[f.blocks+p.SourceBlock[s]] -= p.Supply[s]
	}
	f.place()
	for m := range f.load {
		has := f.load[m]
		f.load[m] = min(max(has, p.Low[m]), p.High[m])
		f.excess[f.members+int32(m)] = has - f.load[m]
		f.excess[f.blocks+p.Block[m]] += f.load[m]
	}
	for _, e := range f.excess {
		if e != 0 {
			return true
		}
	}
	return false
}

func (f *flow) keep(s int32) {
	p := f.p
	free := p.Supply[s]
	for a := p.Owners.Start[s]; a < p.Owners.Start[s+1]; a++ {
		if m := p.Owners.Items[a]; p.KeepPrice(s, m) <= p.Price.Move {
			f.out.Kept[a] = p.Owned[a]
			f.load[m] += p.Owned[a]
			free -= p.Owned[a]
		}
	}
	f.excess[s] = free
}

// reverse lists the arcs by the nodes they lead to, so that flow can be taken back.
func (f *flow) reverse() {
	p := f.p
	f.ownersOf, f.ownerSource = p.invert(p.Owners, len(p.Hub))
	f.sourcesOf, f.hubSource = p.invert(p.Hubs, p.Members.Len())
	f.inBlock = p.Invert(p.Block, p.Blocks)
	if p.Former != nil {
		f.formerOf = p.Invert(p.Former, len(p.Hub))
	}
	f.countSpare()
}

func (f *flow) countSpare() {
	p := f.p
	f.spare = p.Ints(int(f.blocks))
	for s := range f.members {
		for a := p.Owners.Start[s]; a < p.Owners.Start[s+1]; a++ {
			f.spare[s] += p.Owned[a] - f.out.Kept[a]
		}
	}
	for a, h := range p.Hubs.Items {
		f.spare[f.hubs+h] += f.out.Through[a]
	}
}

// invert lists, for each of n values, the places where it stands in the lists'
// items, and beside each place the list that it belongs to.
func (p *Problem) invert(l group.Lists, n int) (places group.Lists, lists []int32) {
	places = p.Invert(l.Items, n)
	lists = p.Ints(len(l.Items))
	next := p.Ints(n)
	for i := range int32(l.Len()) {
		for _, v := range l.Of(i) {
			lists[places.Start[v]+next[v]] = i
			next[v]++
		}
	}
	return places, lists
}

// wide is the capacity of arcs that have no limit of their own.
const wide = math.MaxInt32

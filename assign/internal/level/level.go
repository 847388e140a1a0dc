// Package level finds what every fairest plan has in common, which is the first
// half of the optimal core.
//
// Fairest means that the loads, sorted from the largest, are lexicographically
// least. There may be many such plans, but they are all built alike (Frank and
// Murota call it the canonical partition): members and partitions fall into
// blocks, one for each level k. In every fairest plan a partition of block k goes
// to a member of block k, and every member of block k has k-1 or k partitions.
// Conversely, whatever keeps to that is fairest. So nothing has to be guessed
// about loads afterwards: fewest moves is a problem within blocks, with a box
// of two loads for each member.
//
// The obvious way, to place partitions one by one and repair along paths, is
// linear in the partitions and finds one plan, not the blocks. Here classes of
// members and topics are split by flows: with n partitions for m members, the
// average rounded up is q; what cannot be placed with q each lies above, what
// cannot fill q-1 each lies below, the rest is block q, and above and below
// are split again by their own averages. A group that was settled before needs
// one flow, mostly of nothing.
package level

import "github.com/skeinstream/skein/assign/internal/group"

// Problem is a group by classes.
type Problem struct {
	*group.Arena
	// Supply is the number of partitions of each topic class.
	Supply []int32
	// Size is the number of members of each member class.
	Size []int32
	// Subscribers lists the member classes of each topic class.
	Subscribers group.Lists
	// Owned counts, for each of Subscribers.Items, the partitions of that topic class
	// that the members of that class have already. It only saves work.
	Owned []int32
	// Ranges asks for Levels.Low and High.
	Ranges bool
}

// Levels is the level of each class. In every fairest plan a member of a class
// with level k has k-1 or k partitions (none when k is 0), and partitions go to
// members of their own level only.
type Levels struct {
	Topics, Members []int32
	// Low and High are, by member class, the least and the most that one of its
	// members has in any fairest plan: its level and one less, or the same twice
	// where there is no choice. Only with Problem.Ranges.
	Low, High []int32
}

// part is some topic classes and member classes that are still together.
type part struct{ topics, members []int32 }

// Find computes the levels, in as many flows as there are levels at worst times
// two, each over the classes and their subscriptions.
func Find(p *Problem) Levels {
	f := &finder{p: p, out: Levels{Topics: p.Ints(len(p.Supply)), Members: p.Ints(len(p.Size))}}
	if p.Ranges {
		f.out.Low, f.out.High = p.Ints(len(p.Size)), p.Ints(len(p.Size))
	}
	todo := []part{{p.Positions(len(p.Supply)), p.Positions(len(p.Size))}}
	for len(todo) > 0 {
		x := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if len(x.members) == 0 {
			continue
		}
		if f.settled(x) {
			f.close(x)
			continue
		}
		below, above := f.split(x)
		todo = append(todo, below, above)
	}
	return f.out
}

type finder struct {
	p    *Problem
	out  Levels
	flow *flow
}

// average returns the mean load of x's members, rounded up.
func (f *finder) average(x part) int32 {
	var supply, members int64
	for _, t := range x.topics {
		supply += int64(f.p.Supply[t])
	}
	for _, c := range x.members {
		members += int64(f.p.Size[c])
	}
	return int32((supply + members - 1) / members)
}

// settled reports whether x is one block without looking: one class on each
// side, or no partitions.
func (f *finder) settled(x part) bool {
	return f.average(x) == 0 || len(x.topics) == 1 && len(x.members) == 1
}

func (f *finder) close(x part) {
	level := f.average(x)
	for _, t := range x.topics {
		f.out.Topics[t] = level
	}
	for _, c := range x.members {
		f.out.Members[c] = level
		if f.p.Ranges && level > 0 {
			f.out.Low[c], f.out.High[c] = f.p.Supply[x.topics[0]]/f.p.Size[c], level
		}
	}
}

// split closes block q of x, where q is the average, and returns the rest.
func (f *finder) split(x part) (below, above part) {
	if f.flow == nil {
		f.flow = newFlow(f.p)
	}
	q := f.average(x)
	f.flow.begin(x, q)
	f.flow.place()
	f.flow.run(false)
	f.flow.markAbove()
	if f.flow.levelFrom(q - 1) {
		f.flow.run(true)
		f.flow.markBelow()
	}
	if f.p.Ranges {
		f.flow.ranges(q, f.out)
	}
	return f.divide(x, q)
}

// divide sorts the classes of x by the side they lie on.
func (f *finder) divide(x part, q int32) (below, above part) {
	for i, t := range x.topics {
		switch f.flow.topicSide[i] {
		case here:
			f.out.Topics[t] = q
		case lower:
			below.topics = append(below.topics, t)
		case upper:
			above.topics = append(above.topics, t)
		}
	}
	for i, c := range x.members {
		switch f.flow.memberSide[i] {
		case here:
			f.out.Members[c] = q
		case lower:
			below.members = append(below.members, c)
		case upper:
			above.members = append(above.members, c)
		}
	}
	return below, above
}

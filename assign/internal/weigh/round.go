package weigh

import (
	"slices"

	"github.com/skeinstream/skein/assign/internal/group"
)

// round turns the flow into whole partitions. Its classes are laid out on lines:
// the partitions of a topic class in order, cut where the amounts for its member
// classes end, and what a member class gets in order of the topic classes, cut
// where a member is full. A partition that a cut goes through is split. Once the
// flow has no circles, neither has the graph of split partitions and the members
// they are split between; so each tree of it has a root among the members, and
// every split partition goes to one of its members further from the root. No
// member gets two.
func (f *flow) round() []int32 {
	f.openCircles()
	owner := make([]int32, f.Partitions())
	for q := range owner {
		owner[q] = group.None
	}
	l := &layout{flow: f, owner: owner, used: make([]int64, len(f.MemberClass)), at: make([]int32, f.Members.Len()), between: map[int32][]int32{}}
	for t := range int32(len(f.supply)) {
		l.lay(t)
	}
	l.settleSplit()
	return owner
}

type layout struct {
	*flow
	owner []int32
	used  []int64 // by member
	at    []int32 // by member class, which of its members is being filled
	// split lists the partitions that were cut, between the members of each.
	split   []int32
	between map[int32][]int32
}

// lay cuts the line of one topic class.
func (l *layout) lay(t int32) {
	a := l.Subscribers.Start[t]
	left := int64(0) // of the amount for the member class at hand
	if a < l.Subscribers.Start[t+1] {
		left = l.amount[a]
	}
	for _, topic := range l.ClassTopics.Of(t) {
		for q := l.Base[topic]; q < l.Base[topic+1]; q++ {
			var members []int32
			for w := l.Weight[q]; w > 0; {
				for left == 0 {
					a++
					left = l.amount[a]
				}
				k := l.fill(l.Subscribers.Items[a], min(w, left), &members)
				w, left = w-k, left-k
			}
			l.give(q, t, members)
		}
	}
}

// fill gives the member of class c that is being filled what fits of w.
func (l *layout) fill(c int32, w int64, members *[]int32) int64 {
	for {
		m := l.Members.Of(c)[l.at[c]]
		if room := l.most - l.used[m]; room > 0 {
			k := min(w, room)
			l.used[m] += k
			if !slices.Contains(*members, m) {
				*members = append(*members, m)
			}
			return k
		}
		l.at[c]++
	}
}

func (l *layout) give(q, t int32, members []int32) {
	switch len(members) {
	case 0: // it weighs nothing
		l.owner[q] = l.Subscribed.Of(t)[0]
	case 1:
		l.owner[q] = members[0]
	default:
		l.split = append(l.split, q)
		l.between[q] = members
	}
}

// settleSplit walks the trees from a root down; whoever is reached over a
// partition gets it.
func (l *layout) settleSplit() {
	touching := map[int32][]int32{} // split partitions by member
	for _, q := range l.split {
		for _, m := range l.between[q] {
			touching[m] = append(touching[m], q)
		}
	}
	for _, q := range l.split {
		if l.owner[q] != group.None {
			continue
		}
		queue := []int32{l.between[q][0]}
		for len(queue) > 0 {
			m := queue[0]
			queue = queue[1:]
			for _, r := range touching[m] {
				if l.owner[r] == group.None {
					children := slices.DeleteFunc(slices.Clone(l.between[r]), func(x int32) bool { return x == m })
					l.owner[r] = children[0]
					queue = append(queue, children...)
				}
			}
		}
	}
}

// openCircles takes circles out of the flow: along one, amounts are raised and
// lowered in turn until one of them is nothing.
func (f *flow) openCircles() {
	for {
		circle := f.circle()
		if circle == nil {
			return
		}
		least := f.amount[circle[0]]
		for i := 0; i < len(circle); i += 2 {
			least = min(least, f.amount[circle[i]])
		}
		for i, a := range circle {
			if i%2 == 0 {
				f.amount[a] -= least
			} else {
				f.amount[a] += least
			}
		}
	}
}

// circle returns the subscriptions along a circle of amounts, or nil. It removes
// what can be on none, nodes with one amount, until nothing or circles are left.
func (f *flow) circle() []int32 {
	degree := make([]int32, len(f.supply)+len(f.room))
	members := int32(len(f.supply))
	alive := make([]bool, len(f.amount))
	for a, n := range f.amount {
		if n > 0 {
			alive[a] = true
			degree[f.from[a]]++
			degree[members+f.Subscribers.Items[a]]++
		}
	}
	for again := true; again; {
		again = false
		for a := range alive {
			t, c := f.from[a], members+f.Subscribers.Items[a]
			if alive[a] && (degree[t] == 1 || degree[c] == 1) {
				alive[a], again = false, true
				degree[t]--
				degree[c]--
			}
		}
	}
	first := slices.Index(alive, true)
	if first < 0 {
		return nil
	}
	return f.walkCircle(int32(first), alive)
}

// walkCircle goes on from subscription to subscription, over a member class and
// a topic class in turn, until a member class is met again.
func (f *flow) walkCircle(a int32, alive []bool) []int32 {
	var path []int32
	met := map[int32]int{} // member class: where in path it was left from
	for {
		path = append(path, a)
		c := f.Subscribers.Items[a]
		if at, again := met[c]; again {
			return path[at:]
		}
		met[c] = len(path)
		a = f.other(f.into.Of(c), a, alive)
		path = append(path, a)
		t := f.from[a]
		a = f.otherRange(f.Subscribers.Start[t], f.Subscribers.Start[t+1], a, alive)
	}
}

func (f *flow) other(list []int32, a int32, alive []bool) int32 {
	return list[slices.IndexFunc(list, func(b int32) bool { return b != a && alive[b] })]
}

func (f *flow) otherRange(from, to, a int32, alive []bool) int32 {
	for b := from; b < to; b++ {
		if b != a && alive[b] {
			return b
		}
	}
	return a
}

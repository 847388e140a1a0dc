package group

import "slices"

// Arena cuts the many short lists of one plan out of few pieces of memory: to a
// small group, asking for each of them takes longer than planning. Nothing is given
// back; the collector takes the pieces when the plan is made.
type Arena struct{ free []int32 }

const (
	arenaPiece = 2048
	arenaLarge = 256 // longer lists are pieces of their own
)

// Expect makes the first piece large enough for lists of n in all, as far as pieces go.
func (a *Arena) Expect(n int) { a.free = make([]int32, min(max(n, arenaLarge), arenaPiece)) }

// Ints returns n zeros. They must not be appended to.
func (a *Arena) Ints(n int) []int32 {
	if n > arenaLarge {
		return make([]int32, n)
	}
	if n > len(a.free) {
		a.free = make([]int32, arenaPiece)
	}
	out := a.free[:n:n]
	a.free = a.free[n:]
	return out
}

// Room returns an empty list with room for n.
func (a *Arena) Room(n int) []int32 { return a.Ints(n)[:0] }

// zeros returns n zeros, in the memory of list if it is large enough.
func (a *Arena) zeros(list []int32, n int) []int32 {
	if cap(list) < n {
		return a.Ints(n)
	}
	list = list[:n]
	clear(list)
	return list
}

// Extend returns list with room for n more, twice as much as before when it has to
// grow: lists that grow by a quarter leave four times their size behind.
func Extend(list []int32, n int) []int32 {
	if cap(list)-len(list) >= n {
		return list
	}
	return slices.Grow(list, max(n, cap(list)))
}

// Positions returns 0 to n-1.
func (a *Arena) Positions(n int) []int32 {
	list := a.Ints(n)
	for i := range list {
		list[i] = int32(i)
	}
	return list
}

// Nones returns n times None.
func (a *Arena) Nones(n int) []int32 {
	list := a.Ints(n)
	for i := range list {
		list[i] = None
	}
	return list
}

// Invert lists, for each of n values, the places where it stands in of,
// ascending; None stands nowhere.
func (a *Arena) Invert(of []int32, n int) Lists { return a.InvertInto(Lists{}, of, n) }

// InvertInto does so in the memory of lists that are not needed any more, if they
// are large enough.
func (a *Arena) InvertInto(l Lists, of []int32, n int) Lists {
	l.Start = a.zeros(l.Start, n+1)
	for _, v := range of {
		if v != None {
			l.Start[v+1]++
		}
	}
	Accumulate(l.Start)
	l.Items = a.zeros(l.Items, int(l.Start[n]))
	for i, v := range of {
		if v != None {
			l.Items[l.Start[v]] = int32(i)
			l.Start[v]++
		}
	}
	rewind(l.Start)
	return l
}

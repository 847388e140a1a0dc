package spread

import (
	"slices"

	"github.com/skeinstream/skein/assign/internal/group"
)

// board counts, for each cell and each member that may have some of it, what the
// member has. A cell is what a topic and a source share: partitions that are alike
// for all goals, this one included.
type board struct {
	p     *Problem
	cells []cell
	// By pair of cell and member: the member, its hub, what it has, what it owned,
	// and its share of the topic.
	member, hub, has, owned, share []int32
	// By share of a topic that a member may have: the member, and how many it has.
	holder, holds []int32
	single        []bool // whether it lies in one cell
	load          []int32
}

// cell is partitions of one topic and source; its pairs are from first to last.
type cell struct {
	source, topic int32
	runs          []group.Run
	first, last   int32
}

func newBoard(p *Problem) *board {
	b := &board{p: p, load: p.Group.Ints(len(p.Hub))}
	for s := range int32(len(p.Sources.Class)) {
		runs := p.Sources.Of(s)
		for len(runs) > 0 {
			n := 1
			for n < len(runs) && runs[n].Topic == runs[0].Topic {
				n++
			}
			b.cells = append(b.cells, cell{source: s, topic: runs[0].Topic, runs: runs[:n]})
			runs = runs[n:]
		}
	}
	slices.SortStableFunc(b.cells, func(x, y cell) int { return int(x.topic - y.topic) })
	for _, list := range []*[]int32{&b.member, &b.hub, &b.has, &b.owned, &b.share, &b.holder, &b.holds} {
		*list = p.Group.Room(int(p.Pairs))
	}
	b.single = make([]bool, 0, p.Pairs)
	b.pairs()
	for _, m := range p.Owner {
		if m != group.None {
			b.load[m]++
		}
	}
	return b
}

// pairs lists who may have some of each cell, and counts.
func (b *board) pairs() {
	pair := b.p.Group.Ints(len(b.p.Hub))  // of the cell at hand
	share := b.p.Group.Ints(len(b.p.Hub)) // 1 more than its share of the topic at hand
	from := int32(0)                      // where the topic's shares begin
	for i := range b.cells {
		c := &b.cells[i]
		if i == 0 || b.cells[i-1].topic != c.topic {
			from = int32(len(b.holder))
		}
		c.first = int32(len(b.member))
		for _, h := range b.p.Hubs.Of(c.source) {
			for _, m := range b.p.Problem.Members.Of(h) {
				if share[m] <= from {
					b.holder, b.holds, b.single = append(b.holder, m), append(b.holds, 0), append(b.single, true)
					share[m] = int32(len(b.holder))
				} else {
					b.single[share[m]-1] = false
				}
				pair[m] = int32(len(b.member))
				b.member, b.hub, b.share = append(b.member, m), append(b.hub, h), append(b.share, share[m]-1)
				b.has, b.owned = append(b.has, 0), append(b.owned, 0)
			}
		}
		c.last = int32(len(b.member))
		b.count(c, pair)
	}
}

func (b *board) count(c *cell, pair []int32) {
	for _, r := range c.runs {
		for q := r.From; q < r.To; q++ {
			i := pair[b.p.Owner[q]]
			b.has[i]++
			b.holds[b.share[i]]++
			if m := b.p.Before[q]; m != group.None && b.mayKeep(c, m, pair) {
				b.owned[pair[m]]++
			}
		}
	}
}

// mayKeep reports whether an owner is among those that may have the cell.
func (b *board) mayKeep(c *cell, m int32, pair []int32) bool {
	return pair[m] >= c.first && int(pair[m]) < len(b.member) && b.member[pair[m]] == m
}

// price is paid for the piece of pair i that comes when it has n.
func (b *board) price(c *cell, i, n int32) int64 {
	p, m := b.p, b.member[i]
	switch {
	case n < b.owned[i]:
		return p.KeepPrice(c.source, m)
	case p.Former != nil && p.Former[c.source] == m:
		return p.ReturnPrice(c.source)
	}
	return p.GivePrice(c.source, b.hub[i])
}

// realise gives every member of every cell as many partitions as the board says,
// what it owned first.
func (b *board) realise() {
	left := b.p.Group.Ints(len(b.p.Hub))
	for i := range b.cells {
		c := &b.cells[i]
		for j := c.first; j < c.last; j++ {
			left[b.member[j]] = b.has[j]
		}
		b.keep(c, left)
		b.fill(c, left)
	}
}

func (b *board) keep(c *cell, left []int32) {
	for _, r := range c.runs {
		for q := r.From; q < r.To; q++ {
			m := b.p.Before[q]
			if m != group.None && left[m] > 0 {
				left[m]--
				b.p.Owner[q] = m
			} else {
				b.p.Owner[q] = group.None
			}
		}
	}
}

func (b *board) fill(c *cell, left []int32) {
	next := c.first
	for _, r := range c.runs {
		for q := r.From; q < r.To; q++ {
			if b.p.Owner[q] != group.None {
				continue
			}
			for left[b.member[next]] == 0 {
				next++
			}
			left[b.member[next]]--
			b.p.Owner[q] = b.member[next]
		}
	}
}

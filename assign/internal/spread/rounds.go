package spread

import "math"

// finder looks for rounds by Bellman and Ford's method. Nodes are members, cells
// and blocks. On the way from a member to a cell a partition is given up, on the way
// back one is taken, and over a block one member gets one more and another one less.
// Topics that lie in several cells have a node for each member's share between
// the member and these cells, since it is the share that is to be even.
type finder struct {
	*board
	edges []edge
	// begins is where the edges of each cell begin, and where they end.
	begins []int32
	cost   []int64 // of each edge today, never when it cannot be taken
	// distance is that of each node, from the edge that it was reached over.
	distance []int64
	from     []int32
	seen     []int32
	scale    int64 // what one unit of price counts in squares
}

// edge is a step from one node to another.
type edge struct {
	from, to int32
	kind     kind
	at       int32 // the pair, share or member that it is about
	cell     int32 // of a pair
}

type kind uint8

const (
	give  kind     = iota // pair: from the member or its share to the cell
	take                  // pair: from the cell
	less                  // share: from the member to its share
	more                  // share: back
	gain                  // member: to its block
	lose                  // member: from its block
	whole = 1 << 4        // give or take of a pair that is the whole share
)

// newFinder returns nil when prices are too large to be compared in one number
// with squares.
func newFinder(b *board) *finder {
	f := &finder{board: b}
	nodes := int32(len(b.p.Hub) + len(b.holder) + len(b.cells) + b.p.Blocks)
	longest := int64(nodes) * (2*int64(len(b.p.Owner)) + 2) // no round changes the squares by more
	f.scale = longest
	if most := b.p.Price.Move + b.p.Price.Misfit + b.p.Price.Uneven + b.p.Price.Estranged; most > never/4/longest/int64(nodes) {
		return nil
	}
	f.connect()
	f.cost, f.distance = make([]int64, len(f.edges)), make([]int64, nodes)
	f.from, f.seen = b.p.Group.Ints(int(nodes)), b.p.Group.Ints(int(nodes))
	return f
}

// connect lists the edges, in the order in which rounds go on.
func (f *finder) connect() {
	f.edges = make([]edge, 0, 2*(len(f.member)+len(f.holder)+len(f.load)))
	f.begins = f.p.Group.Room(len(f.cells) + 1)
	sharesAt := int32(len(f.p.Hub))
	cellsAt := sharesAt + int32(len(f.holder))
	blocksAt := cellsAt + int32(len(f.cells))
	for s, m := range f.holder {
		if !f.single[s] {
			f.edges = append(f.edges, edge{m, sharesAt + int32(s), less, int32(s), 0})
		}
	}
	for x, c := range f.cells {
		f.begins = append(f.begins, int32(len(f.edges)))
		for _, way := range [...]kind{give, take} {
			for i := c.first; i < c.last; i++ {
				e := edge{sharesAt + f.share[i], cellsAt + int32(x), way, i, int32(x)}
				if f.single[f.share[i]] {
					e.from, e.kind = f.member[i], way|whole
				}
				if way == take {
					e.from, e.to = e.to, e.from
				}
				f.edges = append(f.edges, e)
			}
		}
	}
	f.begins = append(f.begins, int32(len(f.edges)))
	for s, m := range f.holder {
		if !f.single[s] {
			f.edges = append(f.edges, edge{sharesAt + int32(s), m, more, int32(s), 0})
		}
	}
	for m, b := range f.p.Block {
		f.edges = append(f.edges, edge{int32(m), blocksAt + b, gain, int32(m), 0})
	}
	for m, b := range f.p.Block {
		f.edges = append(f.edges, edge{blocksAt + b, int32(m), lose, int32(m), 0})
	}
}

// round finds one round that wins something and carries it out, as often as it
// wins; it reports whether there was one.
func (f *finder) round() bool {
	for i, e := range f.edges {
		f.cost[i] = f.today(e)
	}
	clear(f.distance)
	for v := range f.from {
		f.from[v] = -1
	}
	for n, look := 1, 1; f.relax(n%2 == 1); n++ {
		if n < look {
			continue // a loop does not go away, and looking takes as long as a step
		}
		look *= 2
		if v := f.loop(); v >= 0 {
			f.turn(v)
			return true
		}
	}
	return false
}

// relax takes every step once, cell by cell from the first or from the last, so
// that ways through many cells in a row are walked at once; it reports whether any
// node came nearer.
func (f *finder) relax(forward bool) (changed bool) {
	if forward {
		return f.relaxFrom(0, int32(len(f.edges)))
	}
	last := len(f.begins) - 1
	changed = f.relaxFrom(0, f.begins[0])
	for x := last; x > 0; x-- {
		changed = f.relaxFrom(f.begins[x-1], f.begins[x]) || changed
	}
	return f.relaxFrom(f.begins[last], int32(len(f.edges))) || changed
}

func (f *finder) relaxFrom(first, end int32) (changed bool) {
	for i := first; i < end; i++ {
		e := &f.edges[i]
		if d := f.distance[e.from] + f.cost[i]; d < f.distance[e.to] {
			f.distance[e.to], f.from[e.to] = d, i
			changed = true
		}
	}
	return changed
}

// today is what a step costs with the counts as they are.
func (f *finder) today(e edge) int64 {
	switch e.kind {
	case less:
		return f.fewer(e.at)
	case more:
		return 1 + 2*int64(f.holds[e.at])
	case gain, lose:
		return f.ofLoad(e)
	}
	c := &f.cells[e.cell]
	cost := int64(0)
	if e.kind&^whole == give {
		if f.has[e.at] == 0 {
			return never
		}
		cost = -f.price(c, e.at, f.has[e.at]-1) * f.scale
		if e.kind&whole != 0 {
			cost += f.fewer(f.share[e.at])
		}
		return cost
	}
	cost = f.price(c, e.at, f.has[e.at]) * f.scale
	if e.kind&whole != 0 {
		cost += 1 + 2*int64(f.holds[f.share[e.at]])
	}
	return cost
}

func (f *finder) fewer(share int32) int64 {
	if f.holds[share] == 0 {
		return never
	}
	return 1 - 2*int64(f.holds[share])
}

func (f *finder) ofLoad(e edge) int64 {
	room, price := f.p.Heavier(e.at, f.load[e.at])
	if e.kind == lose {
		room, price = f.p.Lighter(e.at, f.load[e.at])
	}
	if room <= 0 {
		return never
	}
	return price * f.scale
}

// loop returns a node on a loop of steps backwards, which is a round that wins,
// or -1.
func (f *finder) loop() int32 {
	clear(f.seen)
	for v := range f.from {
		u := int32(v)
		for f.from[u] >= 0 && f.seen[u] == 0 {
			f.seen[u] = int32(v) + 1
			u = f.edges[f.from[u]].from
		}
		if f.from[u] >= 0 && f.seen[u] == int32(v)+1 {
			return u
		}
		f.seen[u] = int32(v) + 1
	}
	return -1
}

// turn carries out the round through v.
func (f *finder) turn(v int32) {
	for times := f.times(v); times > 0; times-- {
		f.walk(v, f.step)
	}
}

// walk goes around the round through v, backwards.
func (f *finder) walk(v int32, do func(edge)) {
	for u := v; ; {
		e := f.edges[f.from[u]]
		do(e)
		if u = e.from; u == v {
			return
		}
	}
}

// times returns how often the round may be carried out before it stops winning:
// prices must stay as they are, and every time each change of a share costs 2 more.
func (f *finder) times(v int32) int64 {
	squares, changes, most := int64(0), int64(0), int64(1)<<30
	f.walk(v, func(e edge) {
		most = min(most, f.samePrice(e))
		switch {
		case e.kind == less || e.kind == give|whole:
			squares += 1 - 2*int64(f.holds[f.shareOf(e)])
			changes++
		case e.kind == more || e.kind == take|whole:
			squares += 1 + 2*int64(f.holds[f.shareOf(e)])
			changes++
		}
	})
	if changes == 0 {
		return 1
	}
	return max(1, min(most, (2*changes-1-squares)/(2*changes)))
}

func (f *finder) shareOf(e edge) int32 {
	if e.kind == less || e.kind == more {
		return e.at
	}
	return f.share[e.at]
}

// samePrice returns how many pieces have one price from here on.
func (f *finder) samePrice(e edge) int64 {
	room := int32(math.MaxInt32)
	switch e.kind {
	case gain:
		room, _ = f.p.Heavier(e.at, f.load[e.at])
	case lose:
		room, _ = f.p.Lighter(e.at, f.load[e.at])
	case take, take | whole:
		if has, owned := f.has[e.at], f.owned[e.at]; has < owned {
			room = owned - has
		}
	case give, give | whole:
		has, owned := f.has[e.at], f.owned[e.at]
		room = has
		if has > owned {
			room = has - owned
		}
	}
	return int64(room)
}

func (f *finder) step(e edge) {
	switch e.kind {
	case give, give | whole:
		f.has[e.at]--
	case take, take | whole:
		f.has[e.at]++
	case gain:
		f.load[e.at]++
	case lose:
		f.load[e.at]--
	}
	switch e.kind {
	case less, give | whole:
		f.holds[f.shareOf(e)]--
	case more, take | whole:
		f.holds[f.shareOf(e)]++
	}
}

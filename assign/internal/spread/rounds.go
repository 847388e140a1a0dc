package spread

// cost is a change of the prices, and of the sum of squares, which counts only
// where prices are equal.
type cost struct{ price, squares int64 }

func (c cost) plus(d cost) cost { return cost{c.price + d.price, c.squares + d.squares} }

func (c cost) less(d cost) bool {
	return c.price < d.price || c.price == d.price && c.squares < d.squares
}

// finder looks for rounds by Bellman and Ford's method. Nodes are members, their
// shares of topics, cells, and blocks. On the way from a member over its share to a
// cell a partition is given up, on the way back one is taken, from share to share
// over cells it changes hands, and over a block one member gets one more and another
// one less.
type finder struct {
	*board
	sharesAt, cellsAt, blocksAt int32
	distance                    []cost
	from                        []step
	seen                        []int32
}

// step is how a node was reached: from which other, and over which pair where
// it is one between a share and a cell.
type step struct{ node, pair int32 }

func newFinder(b *board) *finder {
	f := &finder{board: b, sharesAt: int32(len(b.p.Hub))}
	f.cellsAt = f.sharesAt + int32(len(b.holder))
	f.blocksAt = f.cellsAt + int32(len(b.cells))
	n := int(f.blocksAt) + b.p.Blocks
	f.distance, f.from, f.seen = make([]cost, n), make([]step, n), make([]int32, n)
	return f
}

// round finds one round that wins something and carries it out, as often as it
// wins; it reports whether there was one.
func (f *finder) round() bool {
	clear(f.distance)
	for v := range f.from {
		f.from[v] = step{-1, -1}
	}
	for f.relax() {
		if v := f.loop(); v >= 0 {
			f.turn(v)
			return true
		}
	}
	return false
}

// relax takes every step once, in the order in which rounds go on; it reports
// whether any node came nearer.
func (f *finder) relax() (changed bool) {
	for s, m := range f.holder {
		if f.holds[s] > 0 {
			changed = f.reach(m, f.sharesAt+int32(s), -1, f.less(int32(s))) || changed
		}
	}
	for x := range f.cells {
		c, at := &f.cells[x], f.cellsAt+int32(x)
		for i := c.first; i < c.last; i++ {
			if f.has[i] > 0 {
				changed = f.reach(f.sharesAt+f.share[i], at, i, f.giving(c, i)) || changed
			}
		}
		for i := c.first; i < c.last; i++ {
			changed = f.reach(at, f.sharesAt+f.share[i], i, f.taking(c, i)) || changed
		}
	}
	for s, m := range f.holder {
		changed = f.reach(f.sharesAt+int32(s), m, -1, f.more(int32(s))) || changed
	}
	return f.relaxLoads() || changed
}

func (f *finder) relaxLoads() (changed bool) {
	for m, load := range f.load {
		if room, price := f.p.Heavier(int32(m), load); room > 0 {
			changed = f.reach(int32(m), f.blocksAt+f.p.Block[m], -1, cost{price, 0}) || changed
		}
	}
	for m, load := range f.load {
		if room, price := f.p.Lighter(int32(m), load); room > 0 {
			changed = f.reach(f.blocksAt+f.p.Block[m], int32(m), -1, cost{price, 0}) || changed
		}
	}
	return changed
}

func (f *finder) reach(from, to, pair int32, c cost) bool {
	if d := f.distance[from].plus(c); d.less(f.distance[to]) {
		f.distance[to], f.from[to] = d, step{from, pair}
		return true
	}
	return false
}

// less and more are what the squares win and lose by one partition of a topic.
func (f *finder) less(share int32) cost { return cost{0, 1 - 2*int64(f.holds[share])} }
func (f *finder) more(share int32) cost { return cost{0, 1 + 2*int64(f.holds[share])} }

func (f *finder) giving(c *cell, i int32) cost { return cost{-f.price(c, i, f.has[i]-1), 0} }
func (f *finder) taking(c *cell, i int32) cost { return cost{f.price(c, i, f.has[i]), 0} }

// loop returns a node on a loop of steps backwards, which is a round that wins,
// or -1.
func (f *finder) loop() int32 {
	clear(f.seen)
	for v := range f.from {
		mark := int32(v) + 1
		u := int32(v)
		for u >= 0 && f.seen[u] == 0 {
			f.seen[u] = mark
			u = f.from[u].node
		}
		if u >= 0 && f.seen[u] == mark {
			return u
		}
	}
	return -1
}

// turn carries out the round through v.
func (f *finder) turn(v int32) {
	for times := f.times(v); times > 0; times-- {
		f.once(v)
	}
}

// times returns how often the round may be carried out before it stops winning:
// prices must stay as they are, and every time each change of a share costs 2 more.
func (f *finder) times(v int32) int64 {
	squares, changes, most := int64(0), int64(0), int64(1)<<30
	f.walk(v, func(from, to, pair int32) {
		switch {
		case pair >= 0:
			most = min(most, f.samePrice(pair, from >= f.cellsAt))
		case from < f.sharesAt && to >= f.blocksAt:
			room, _ := f.p.Heavier(from, f.load[from])
			most = min(most, int64(room))
		case from >= f.blocksAt:
			room, _ := f.p.Lighter(to, f.load[to])
			most = min(most, int64(room))
		case from < f.sharesAt:
			squares += f.less(to - f.sharesAt).squares
			changes++
		default:
			squares += f.more(from - f.sharesAt).squares
			changes++
		}
	})
	if changes == 0 {
		return 1
	}
	return max(1, min(most, (2*changes-1-squares)/(2*changes)))
}

// walk goes around the round through v, backwards.
func (f *finder) walk(v int32, do func(from, to, pair int32)) {
	for u := v; ; {
		s := f.from[u]
		do(s.node, u, s.pair)
		if u = s.node; u == v {
			return
		}
	}
}

// samePrice returns how many pieces of a pair have one price from here on.
func (f *finder) samePrice(i int32, taking bool) int64 {
	has, owned := f.has[i], f.owned[i]
	switch {
	case taking && has < owned:
		return int64(owned - has)
	case taking:
		return 1 << 30
	case has > owned:
		return int64(has - owned)
	}
	return int64(has)
}

func (f *finder) once(v int32) {
	f.walk(v, func(from, to, pair int32) {
		switch {
		case pair >= 0 && from >= f.cellsAt:
			f.has[pair]++
		case pair >= 0:
			f.has[pair]--
		case from < f.sharesAt && to >= f.blocksAt:
			f.load[from]++
		case from >= f.blocksAt:
			f.load[to]--
		case from < f.sharesAt:
			f.holds[to-f.sharesAt]--
		default:
			f.holds[from-f.sharesAt]++
		}
	})
}

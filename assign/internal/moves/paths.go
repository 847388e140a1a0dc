package moves

import "slices"

// paths is the state of the primal-dual method. Prices are seen through
// potentials, so that no arc with room left costs less than nothing; the
// cheapest ways are then those along arcs that cost nothing.
type paths struct {
	potential, distance []int64
	depth, next         []int32
	sink                int32 // depth of the nearest node that misses something
	queue               []int32
	rings               rings
}

// solve sends every excess to where something is missing, nearest first.
func (f *flow) solve() {
	n := len(f.excess)
	f.potential, f.distance = make([]int64, n), make([]int64, n)
	for v := f.members; v < int32(n); v++ {
		f.potential[v] = f.p.Price.Move // the flow starts with what is free on its way to the hubs
	}
	f.depth, f.next, f.queue = f.p.Ints(n), f.p.Ints(n), f.p.Room(n)
	for {
		for f.reach() {
			clear(f.next)
			for v, e := range f.excess {
				if e > 0 {
					f.excess[v] -= f.push(int32(v), e)
				}
			}
		}
		if !f.advance() {
			return
		}
	}
}

// reach searches breadth-first along arcs that cost nothing; it reports whether
// a node that misses something was found.
func (f *flow) reach() bool {
	for v := range f.depth {
		f.depth[v] = -1
	}
	f.queue = f.queue[:0]
	for v, e := range f.excess {
		if e > 0 {
			f.depth[v] = 0
			f.queue = append(f.queue, int32(v))
		}
	}
	f.sink = -1
	for h := 0; h < len(f.queue); h++ {
		v := f.queue[h]
		depth, here := f.depth[v], f.potential[v]
		if f.sink >= 0 && depth >= f.sink {
			break
		}
		first, end := f.span(v)
		for i := f.seek(v, first, end, -1); i < end; i = f.seek(v, i+1, end, -1) {
			to, room, price := f.arc(v, i)
			if room == 0 || price+here != f.potential[to] {
				continue
			}
			f.depth[to] = depth + 1
			if f.excess[to] < 0 {
				f.sink = depth + 1
			}
			f.queue = append(f.queue, to)
		}
	}
	return f.sink >= 0
}

// push sends up to limit from v along the layers of the search. Nodes from which no
// more can be sent leave the search, so that each is tried once.
func (f *flow) push(v, limit int32) (sent int32) {
	if f.excess[v] < 0 {
		sent = min(limit, -f.excess[v])
		f.excess[v] += sent
		if sent == limit {
			return sent
		}
	}
	depth, here := f.depth[v], f.potential[v]
	if depth == f.sink {
		f.depth[v] = -1
		return sent
	}
	for first, end := f.span(v); ; f.next[v]++ {
		i := f.seek(v, max(first, f.next[v]), end, depth+1)
		if f.next[v] = i; i >= end {
			f.depth[v] = -1
			return sent
		}
		to, room, price := f.arc(v, i)
		if room == 0 || price+here != f.potential[to] {
			continue
		}
		n := f.push(to, min(limit-sent, room))
		if n == 0 {
			continue
		}
		f.send(v, i, n)
		if sent += n; sent == limit {
			return sent
		}
	}
}

// seek returns the next arc out of v, from arc i on, that leads to a node of the
// given depth; end if there is none before. Few arcs lead anywhere new: the others
// are passed over quickly, a row at a time.
func (f *flow) seek(v, i, end, depth int32) int32 {
	for i < end {
		heads, offset := f.row(v, i)
		for _, to := range heads {
			if f.depth[to+offset] == depth {
				return i
			}
			i++
		}
	}
	return i
}

const far = int64(1) << 62

// advance finds the distance from an excess to the nearest node that misses
// something, and moves the potentials so that this distance becomes nothing. It
// reports whether there still was an excess.
func (f *flow) advance() bool {
	for v := range f.distance {
		f.distance[v] = far
	}
	f.rings.reset()
	for v, e := range f.excess {
		if e > 0 {
			f.distance[v] = 0
			f.rings.put(0, int32(v))
		}
	}
	found, yes := f.settle()
	if !yes {
		return false
	}
	for v := range f.potential {
		f.potential[v] += min(f.distance[v], found)
	}
	return true
}

// settle is Dijkstra's search up to the first node that misses something.
func (f *flow) settle() (found int64, yes bool) {
	for {
		d, v, more := f.rings.take()
		if !more {
			return 0, false
		}
		if f.distance[v] != d {
			continue // reached on a shorter way since
		}
		if f.excess[v] < 0 {
			return d, true
		}
		for i, end := f.span(v); i < end; {
			heads, offset := f.row(v, i)
			for _, to := range heads {
				if f.distance[to+offset] > d { // or no arc makes it nearer
					f.near(v, i, d)
				}
				i++
			}
		}
	}
}

// near takes arc i out of v, a node at distance d, if that is a shorter way.
func (f *flow) near(v, i int32, d int64) {
	to, room, price := f.arc(v, i)
	if room == 0 {
		return
	}
	if e := d + f.potential[v] + price - f.potential[to]; e < f.distance[to] {
		f.distance[to] = e
		f.rings.put(e, to)
	}
}

// rings is a priority queue for few different distances: one ring of nodes for
// each, nearest last.
type rings struct {
	distance []int64
	nodes    [][]int32
	free     [][]int32
}

func (r *rings) reset() {
	r.free = append(r.free, r.nodes...)
	r.distance, r.nodes = r.distance[:0], r.nodes[:0]
}

func (r *rings) put(d int64, v int32) {
	i := len(r.distance) - 1
	for i >= 0 && r.distance[i] < d {
		i--
	}
	if i < 0 || r.distance[i] != d {
		i++
		r.distance = slices.Insert(r.distance, i, d)
		r.nodes = slices.Insert(r.nodes, i, r.spare())
	}
	r.nodes[i] = append(r.nodes[i], v)
}

func (r *rings) spare() []int32 {
	n := len(r.free)
	if n == 0 {
		return nil
	}
	s := r.free[n-1]
	r.free = r.free[:n-1]
	return s[:0]
}

// take removes a nearest node.
func (r *rings) take() (d int64, v int32, more bool) {
	for n := len(r.distance); n > 0; n-- {
		if ring := r.nodes[n-1]; len(ring) > 0 {
			r.nodes[n-1] = ring[:len(ring)-1]
			return r.distance[n-1], ring[len(ring)-1], true
		}
		r.free = append(r.free, r.nodes[n-1])
		r.distance, r.nodes = r.distance[:n-1], r.nodes[:n-1]
	}
	return 0, 0, false
}

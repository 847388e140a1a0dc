package deal

import "github.com/skeinstream/skein/assign/internal/group"

// rings holds who still gets something. The members of a hub stand in a ring,
// as do the hubs that the source at hand flows to.
type rings struct {
	p *Problem
	// after links the members of each hub that get something into a ring.
	after []int32
	// last is, by hub, the member in whose place the next one is looked for.
	last []int32
	// hubs are those with something to come of this source, turn the next of them.
	hubs []openHub
	turn int
	// level is what members may have of the topic at hand to get one more, and
	// least the least that one of those who have more has.
	level, least int32
}

// openHub is a hub, or with hub None a single member, and how many it gets.
type openHub struct {
	hub, member int32
	left        int32
	// full says that its members have more than level.
	full bool
}

// join puts everyone that gets something from a hub into its ring.
func (d *dealer) join() {
	p := d.p
	d.rings = rings{p: p, after: p.Group.Ints(len(p.Hub)), last: p.Group.Ints(p.Problem.Members.Len())}
	for h := range int32(p.Problem.Members.Len()) {
		first, last := group.None, group.None
		for _, m := range p.Problem.Members.Of(h) {
			switch {
			case p.Taken[m] == 0:
				continue
			case first == group.None:
				first = m
			default:
				d.after[last] = m
			}
			last = m
		}
		if last != group.None {
			d.after[last] = first
		}
		d.last[h] = last
	}
}

// open takes up a source; it reports whether anything of it is to be dealt.
func (r *rings) open(s int32) bool {
	p := r.p
	r.hubs, r.turn = r.hubs[:0], 0
	for a := p.Hubs.Start[s]; a < p.Hubs.Start[s+1]; a++ {
		if p.Through[a] > 0 {
			r.hubs = append(r.hubs, openHub{hub: p.Hubs.Items[a], left: p.Through[a]})
		}
	}
	if p.Returned != nil && p.Returned[s] > 0 {
		r.hubs = append(r.hubs, openHub{hub: group.None, member: p.Former[s], left: p.Returned[s]})
	}
	return len(r.hubs) > 0
}

func (r *rings) newTopic() { r.raise(0) }

func (r *rings) raise(level int32) {
	r.level, r.least = level, 1<<30
	for i := range r.hubs {
		r.hubs[i].full = false
	}
}

// pick returns the member that gets the next partition of the topic: one with
// the fewest of it, and of those the next in the rings.
func (r *rings) pick(count []int32) int32 {
	for {
		for range r.hubs {
			if r.turn >= len(r.hubs) {
				r.turn = 0
			}
			h := &r.hubs[r.turn]
			m, found := r.try(h, count)
			if !found {
				h.full = true
				r.turn++
				continue
			}
			if h.left--; h.left == 0 {
				r.hubs = append(r.hubs[:r.turn], r.hubs[r.turn+1:]...)
			} else {
				r.turn++
			}
			return m
		}
		r.raise(r.least)
	}
}

// try looks around one hub's ring.
func (r *rings) try(h *openHub, count []int32) (m int32, found bool) {
	if h.full {
		return 0, false
	}
	if h.hub == group.None {
		return h.member, r.suits(count[h.member])
	}
	start := r.last[h.hub]
	for before := start; ; {
		m = r.after[before]
		if r.suits(count[m]) {
			r.serve(h.hub, before, m)
			return m, true
		}
		if before = m; before == start {
			return 0, false
		}
	}
}

func (r *rings) suits(count int32) bool {
	if count <= r.level {
		return true
	}
	r.least = min(r.least, count)
	return false
}

// serve counts one for m, who leaves the ring when it has everything.
func (r *rings) serve(hub, before, m int32) {
	r.last[hub] = m
	if r.p.Taken[m]--; r.p.Taken[m] > 0 {
		return
	}
	r.after[before] = r.after[m]
	r.last[hub] = before
	if before == m {
		r.last[hub] = group.None // the ring is empty; nothing is left for the hub
	}
}

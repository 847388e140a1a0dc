package assign

import "github.com/skeinstream/skein/assign/internal/group"

// plan lays owners, by partition and in places of members, out in columns: one
// pass counts, one fills.
func (x *index) plan(owner []int32) Plan {
	n := len(x.order)
	c := columns{x: x, owner: owner, of: make([]column, n)}
	c.count()
	partitions, shares := c.begin()
	all := make([]int32, int(partitions)+2*int(shares+1)+2*n) // one piece of memory for everything
	cut := func(n int) []int32 {
		list := all[:n:n]
		all = all[n:]
		return list
	}
	p := Plan{topics: x.names, partitions: cut(int(partitions)), shares: cut(2 * int(shares+1)), members: cut(2 * n)}
	p.shares[2*int(shares)+1] = partitions
	for m, at := range x.order {
		p.members[2*at] = c.of[m].shares
	}
	c.fill(&p)
	for m, at := range x.order {
		p.members[2*at+1] = c.of[m].shares
	}
	return p
}

// columns are what each member gets.
type columns struct {
	x     *index
	owner []int32
	of    []column
}

// column counts, and then points to the next free element, of one member.
type column struct {
	// last is one more than the topic that the member got something of last.
	last               int32
	partitions, shares int32
}

func (c *columns) count() {
	for t := range int32(len(c.x.names)) {
		for _, m := range c.owner[c.x.Base[t]:c.x.Base[t+1]] {
			if m == group.None {
				continue
			}
			k := &c.of[m]
			k.partitions++
			if k.last != t+1 {
				k.last = t + 1
				k.shares++
			}
		}
	}
}

// begin turns counts into where members' columns begin; it returns the sums.
func (c *columns) begin() (partitions, shares int32) {
	for m := range c.of {
		k := &c.of[m]
		k.last = 0
		k.partitions, partitions = partitions, partitions+k.partitions
		k.shares, shares = shares, shares+k.shares
	}
	return partitions, shares
}

func (c *columns) fill(p *Plan) {
	for t := range int32(len(c.x.names)) {
		for i, m := range c.owner[c.x.Base[t]:c.x.Base[t+1]] {
			if m == group.None {
				continue
			}
			k := &c.of[m]
			at := k.partitions
			k.partitions = at + 1
			p.partitions[at] = int32(i)
			if k.last != t+1 {
				k.last = t + 1
				s := p.shares[2*int(k.shares):][:2]
				s[0], s[1] = t, at
				k.shares++
			}
		}
	}
}

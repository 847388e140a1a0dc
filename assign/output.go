package assign

import "github.com/skeinstream/skein/assign/internal/group"

// plan lays owners, by partition and in places of members, out in columns: one
// pass counts, one fills.
func (x *index) plan(owner []int32) Plan {
	n := len(x.order)
	c := columns{x: x, owner: owner, last: x.Ints(n), partitions: x.Ints(n + 1), shares: x.Ints(n + 1)}
	c.count()
	group.Accumulate(c.partitions)
	group.Accumulate(c.shares)
	p := Plan{topics: x.names, partitions: make([]int32, c.partitions[n]), shares: make([]share, c.shares[n]+1), members: make([][2]int32, n)}
	p.shares[c.shares[n]].start = c.partitions[n]
	for m, at := range x.order {
		p.members[at] = [2]int32{c.shares[m], c.shares[m+1]}
	}
	c.fill(&p)
	return p
}

// columns counts, and then points to the next free element, by member.
type columns struct {
	x     *index
	owner []int32
	// last is one more than the topic that a member got something of last.
	last               []int32
	partitions, shares []int32
}

func (c *columns) count() {
	for t := range int32(len(c.x.names)) {
		for _, m := range c.owner[c.x.Base[t]:c.x.Base[t+1]] {
			if m == group.None {
				continue
			}
			c.partitions[m+1]++
			if c.last[m] != t+1 {
				c.last[m] = t + 1
				c.shares[m+1]++
			}
		}
	}
}

func (c *columns) fill(p *Plan) {
	clear(c.last)
	for t := range int32(len(c.x.names)) {
		for i, m := range c.owner[c.x.Base[t]:c.x.Base[t+1]] {
			if m == group.None {
				continue
			}
			at := c.partitions[m]
			c.partitions[m] = at + 1
			p.partitions[at] = int32(i)
			if c.last[m] != t+1 {
				c.last[m] = t + 1
				p.shares[c.shares[m]] = share{t, at}
				c.shares[m]++
			}
		}
	}
}

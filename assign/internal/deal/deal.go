// Package deal turns numbers into partitions, which is the last step of the
// optimal core: package moves says how many of a member's partitions stay and
// how many it gets, and here it is decided which. Neither the loads nor the
// number of moves can change any more, so that this is where each topic is
// spread: members give up what they have most of, and are dealt what they have
// least of.
package deal

import (
	"github.com/skeinstream/skein/assign/internal/group"
	"github.com/skeinstream/skein/assign/internal/moves"
)

// Problem is what package moves was asked, what it answered, and the partitions.
type Problem struct {
	*group.Group
	Sources *group.Sources
	*moves.Problem
	moves.Flow
	// Owned counts what Owners own, also where moves was told that nothing can stay.
	Owned []int32
	// Owner holds the owner of every partition, and afterwards its new one.
	Owner []int32
}

// Out deals. Its order is that of sources, topics, partitions and members.
func Out(p *Problem) {
	d := &dealer{p: p, count: p.Group.Ints(len(p.Hub)), pooled: p.Group.Room(fewPooled)}
	for s := range int32(len(p.Sources.Class)) {
		d.release(s)
	}
	d.join()
	for s := range int32(len(p.Sources.Class)) {
		d.deal(s)
	}
}

// fewPooled is room for what is free of a topic in most groups.
const fewPooled = 64

type dealer struct {
	p *Problem
	// count is scratch by member: what it has of a topic; pooled is what is free of it.
	count, pooled []int32
	releaser
	rings
}

// deal gives the free partitions of a source to the members that get some.
func (d *dealer) deal(s int32) {
	if !d.open(s) {
		return
	}
	pool := d.pooled
	runs := d.p.Sources.Of(s)
	for len(runs) > 0 {
		topic := runs[0].Topic
		pool = pool[:0]
		for len(runs) > 0 && runs[0].Topic == topic {
			pool = d.free(pool, runs[0])
			runs = runs[1:]
		}
		if len(pool) > 0 {
			d.dealTopic(topic, pool)
		}
	}
	d.pooled = pool
}

func (d *dealer) free(pool []int32, r group.Run) []int32 {
	for p := r.From; p < r.To; p++ {
		if d.p.Owner[p] == group.None {
			pool = append(pool, p)
		}
	}
	return pool
}

func (d *dealer) dealTopic(topic int32, pool []int32) {
	all := d.p.Owner[d.p.Base[topic]:d.p.Base[topic+1]]
	for _, m := range all {
		if m != group.None {
			d.count[m]++
		}
	}
	d.newTopic()
	for _, p := range pool {
		m := d.pick(d.count)
		d.count[m]++
		d.p.Owner[p] = m
	}
	for _, m := range all {
		if m != group.None {
			d.count[m] = 0
		}
	}
}

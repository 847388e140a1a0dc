// Package weigh spreads partitions of different weights. To make the largest
// load as small as possible is NP-hard even without subscriptions, so nothing
// here is optimal; what it does promise is a bound, and how far from it the
// result is.
//
// The bound is the smallest largest load there would be if partitions could be
// split (a flow over classes), or the heaviest partition if that is more. The
// result never exceeds the bound plus the heaviest partition: where trying does
// not get there, the split partitions of the flow are rounded so that no member
// gets more than one of them (Lenstra, Shmoys and Tardos).
package weigh

import "github.com/skeinstream/skein/assign/internal/group"

// Problem is a group, the weights of its partitions, and who has what.
type Problem struct {
	*group.Group
	// Weight is that of each partition, not negative.
	Weight []int64
	// Subscribed lists, by topic class, the members that subscribe, ascending.
	Subscribed group.Lists
	// Owner is the owner of each partition, group.None for none.
	Owner []int32
	// Tolerance is by how many percent of the bound loads may exceed it before
	// partitions are taken from their owners.
	Tolerance int
}

// Result is a plan and what is known of it.
type Result struct {
	// Owner is the new owner of each partition.
	Owner []int32
	// Bound: the largest load of no assignment is smaller. Reached is the largest of
	// this one, Heaviest the largest weight of a partition; Reached is at most Bound
	// plus the greater of Heaviest and the tolerance.
	Bound, Reached, Heaviest int64
}

// Spread plans. It tries what is nearest to the past first: owners keep what they
// have, and only members above the tolerance give something up; then a plan
// from nothing, the heaviest partitions first; then the rounding of the flow.
func Spread(p *Problem) Result {
	f := bound(p)
	r := Result{Bound: max(f.most, f.heaviest), Heaviest: f.heaviest}
	best := newSpread(p)
	best.place()
	best.list()
	best.improve()
	if best.largest() > r.Bound+r.Heaviest {
		best.owner = f.round()
		best.list()
		best.improve()
	}
	kept := newSpread(p)
	kept.keep()
	kept.place()
	kept.list()
	if kept.relieve(max(best.largest(), r.Bound+r.Bound/100*int64(p.Tolerance))) {
		best = kept
	}
	r.Owner, r.Reached = best.owner, best.largest()
	return r
}

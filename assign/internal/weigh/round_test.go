package weigh

import (
	"math/rand/v2"
	"testing"

	"github.com/skeinstream/skein/assign/internal/group"
)

// randomProblem is a group of few classes with weights that hardly divide.
func randomProblem(r *rand.Rand) *Problem {
	topics, members := 1+r.IntN(6), 1+r.IntN(8)
	base := []int32{0}
	for range topics {
		base = append(base, base[len(base)-1]+int32(r.IntN(6)))
	}
	b := group.NewBuilder(&group.Group{}, &group.Arena{}, base, members)
	for m := range int32(members) {
		b.Begin()
		for t := range int32(topics) {
			if r.IntN(2) == 0 {
				b.Subscribe(t)
			}
		}
		b.End(m)
	}
	p := &Problem{Group: b.Group()}
	for range p.Partitions() {
		p.Weight = append(p.Weight, int64(r.IntN(30)))
		p.Owner = append(p.Owner, group.None)
	}
	p.Subscribed.Start = []int32{0}
	for class := range int32(p.Subscribers.Len()) {
		for m, c := range p.MemberClass {
			for _, s := range p.Subscribers.Of(class) {
				if s == c {
					p.Subscribed.Items = append(p.Subscribed.Items, int32(m))
				}
			}
		}
		p.Subscribed.Start = append(p.Subscribed.Start, int32(len(p.Subscribed.Items)))
	}
	return p
}

// TestRoundingGivesNoMemberTwoSplitPartitions: the rounded flow by itself, without
// any improvement, is within the heaviest partition of its bound.
func TestRoundingGivesNoMemberTwoSplitPartitions(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	for i := range 20000 {
		p := randomProblem(r)
		f := bound(p)
		s := newSpread(p)
		s.owner = f.round()
		s.list()
		if s.largest() > f.most+f.heaviest {
			t.Fatalf("seed %d, problem %d: %+v: largest load %d, bound %d, heaviest %d", seed, i, p, s.largest(), f.most, f.heaviest)
		}
		for q, m := range s.owner {
			if (m == group.None) != (s.class[q] == group.None) || m != group.None && !s.may(m, s.class[q]) {
				t.Fatalf("seed %d, problem %d: partition %d goes to %d", seed, i, q, m)
			}
		}
	}
}

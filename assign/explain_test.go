package assign_test

import (
	"slices"
	"testing"

	"github.com/skeinstream/skein/assign"
)

// TestExplanationsAreExact: what would be if another member had the partition is
// the best of all assignments in which it has.
func TestExplanationsAreExact(t *testing.T) {
	r := seeded(t)
	for i := range rounds(250) {
		in := randomGroup(r, size{4, 3, 4, 6})
		randomRacks(r, in)
		opt := assign.Options{Racks: assign.RackOrder(i % 3)}
		o := newOracle(in)
		if len(o.allowed) == 0 {
			continue
		}
		p := r.IntN(len(o.allowed))
		var others []string
		for _, m := range o.allowed[p] {
			others = append(others, in.Members[m].ID)
		}
		e, err := assign.Explain(in, opt, o.names[o.topicOf[p]], o.numberOf[p], others...)
		if err != nil {
			t.Fatal(err)
		}
		for j, other := range e.Others {
			checkOther(t, o, opt, p, o.allowed[p][j], other)
			if other.Member == e.Holder && other.Reason != assign.Tie {
				t.Fatalf("%+v: the holder %s of %d is worse: %+v", in, e.Holder, p, other)
			}
		}
	}
}

func checkOther(t *testing.T, o *oracle, opt assign.Options, p, m int, other assign.Other) {
	t.Helper()
	var best, all []int
	o.every(func(of []int) {
		s := o.score(opt, of, nil, nil)
		if all == nil || slices.Compare(s, all) < 0 {
			all = s
		}
		if of[p] == m && (best == nil || slices.Compare(s, best) < 0) {
			best = s
		}
	})
	n := o.members
	moves, misfits := best[n], best[n+2]
	if opt.Racks == assign.RacksBeforeMoves {
		moves, misfits = best[n+1], best[n]
	}
	if opt.Racks == assign.RacksIgnored {
		misfits = other.Misfits
	}
	tie := slices.Equal(best, all)
	if !slices.Equal(other.Loads, best[:n]) || other.Moves != moves || other.Misfits != misfits || (other.Reason == assign.Tie) != tie {
		t.Fatalf("%+v\npartition %d with member %d: %+v, the best is %v, of all %v", o.in, p, m, other, best, all)
	}
}

// TestBlockingSetCanPassOnToNobodyPoorer.
func TestBlockingSetCanPassOnToNobodyPoorer(t *testing.T) {
	in := assign.Input{Members: members("a: t owns t-0 t-1 | b: t u | c: u v | d: v"), Topics: cluster("t:4 u:1 v:6")}
	e, err := assign.Explain(in, assign.Options{}, "v", 5, "c", "d")
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range e.Others {
		if other.Member != e.Holder && other.Reason == assign.LessFair && (len(other.Blocking) == 0 || other.Least == 0) {
			t.Errorf("%+v", other)
		}
	}
	if _, err := assign.Explain(in, assign.Options{}, "v", 6); err == nil {
		t.Error("a partition that does not exist was explained")
	}
	if _, err := assign.Explain(in, assign.Options{}, "v", 0, "a"); err == nil {
		t.Error("a member that does not subscribe was explained")
	}
}

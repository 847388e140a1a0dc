package level

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/skeinstream/skein/assign/internal/group"
)

// tiny is a problem of classes, with its members and partitions written out.
type tiny struct {
	*Problem
	class   []int32 // of each member
	allowed [][]int // of each partition
	topic   []int32 // topic class of each partition
}

func randomTiny(r *rand.Rand) tiny {
	x := tiny{Problem: &Problem{Arena: &group.Arena{}, Ranges: true, Subscribers: group.Lists{Start: []int32{0}}}}
	for c := range 1 + r.IntN(3) {
		n := int32(1 + r.IntN(2))
		x.Size = append(x.Size, n)
		for range n {
			x.class = append(x.class, int32(c))
		}
	}
	for t := range 1 + r.IntN(3) {
		var classes []int32
		for c := range x.Size {
			if r.IntN(2) == 0 {
				classes = append(classes, int32(c))
			}
		}
		if len(classes) == 0 {
			classes = append(classes, int32(r.IntN(len(x.Size))))
		}
		x.Subscribers.Items = append(x.Subscribers.Items, classes...)
		x.Subscribers.Start = append(x.Subscribers.Start, int32(len(x.Subscribers.Items)))
		n := int32(r.IntN(4))
		x.Supply = append(x.Supply, n)
		var who []int
		for m, c := range x.class {
			if slices.Contains(classes, c) {
				who = append(who, m)
			}
		}
		for range n {
			x.allowed, x.topic = append(x.allowed, who), append(x.topic, int32(t))
		}
	}
	x.Owned = make([]int32, len(x.Subscribers.Items))
	for i := range x.Owned {
		x.Owned[i] = int32(r.IntN(2))
	}
	return x
}

func (x tiny) every(visit func(of, loads []int)) {
	of, loads := make([]int, len(x.allowed)), make([]int, len(x.class))
	var next func(p int)
	next = func(p int) {
		if p == len(of) {
			visit(of, loads)
			return
		}
		for _, m := range x.allowed[p] {
			of[p] = m
			loads[m]++
			next(p + 1)
			loads[m]--
		}
	}
	next(0)
}

// inBlocks: every partition goes to its own level, every load is k-1 or k.
func (x tiny) inBlocks(l Levels, of, loads []int) bool {
	for p, m := range of {
		if l.Topics[x.topic[p]] != l.Members[x.class[m]] {
			return false
		}
	}
	for m, load := range loads {
		if k := int(l.Members[x.class[m]]); load > k || load < k-1 {
			return false
		}
	}
	return true
}

// TestFairestIsToKeepToTheBlocks is the structure theorem, over all assignments
// of small problems: fairest if and only if in the blocks.
func TestFairestIsToKeepToTheBlocks(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	for i := range 3000 {
		x := randomTiny(r)
		l := Find(x.Problem)
		var fairest []int
		x.every(func(_, loads []int) {
			if d := descending(loads); fairest == nil || slices.Compare(d, fairest) < 0 {
				fairest = d
			}
		})
		low, high := make([]int32, len(x.Size)), make([]int32, len(x.Size))
		for c := range low {
			low[c] = 1 << 30
		}
		problem := ""
		x.every(func(of, loads []int) {
			fair := slices.Equal(descending(loads), fairest)
			if in := x.inBlocks(l, of, loads); in != fair {
				problem = fmt.Sprintf("%v with loads %v: fairest %v, in blocks %v", of, loads, fair, in)
			}
			for m, load := range loads {
				if c := x.class[m]; fair {
					low[c], high[c] = min(low[c], int32(load)), max(high[c], int32(load))
				}
			}
		})
		if problem != "" {
			t.Fatalf("seed %d, problem %d %+v: levels %+v: %s", seed, i, x, l, problem)
		}
		if !slices.Equal(l.Low, low) || !slices.Equal(l.High, high) {
			t.Fatalf("seed %d, problem %d %+v: ranges %v to %v, want %v to %v", seed, i, x, l.Low, l.High, low, high)
		}
	}
}

func descending(list []int) []int {
	list = slices.Clone(list)
	slices.Sort(list)
	slices.Reverse(list)
	return list
}

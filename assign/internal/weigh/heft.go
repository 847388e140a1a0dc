package weigh

import "cmp"

// heft is a load: by weight, and where weights are equal (no topic may have any
// lag at all) by number.
type heft struct {
	weight int64
	number int32
}

func (h heft) plus(g heft) heft  { return heft{h.weight + g.weight, h.number + g.number} }
func (h heft) minus(g heft) heft { return heft{h.weight - g.weight, h.number - g.number} }

func (h heft) compare(g heft) int {
	return cmp.Or(cmp.Compare(h.weight, g.weight), cmp.Compare(h.number, g.number))
}

func (h heft) below(g heft) bool { return h.compare(g) < 0 }

func larger(a, b heft) heft {
	if a.below(b) {
		return b
	}
	return a
}

// queue is a heap of members by load, where loads may have grown since a member
// was put in.
type queue struct{ waiting []waiting }

type waiting struct {
	load   heft
	member int32
}

func (w waiting) below(v waiting) bool {
	return cmp.Or(w.load.compare(v.load), cmp.Compare(w.member, v.member)) < 0
}

// lightest returns the member with the least load; current returns that of today.
func (q *queue) lightest(current []heft) int32 {
	for {
		top := &q.waiting[0]
		if now := current[top.member]; now != top.load {
			top.load = now
			q.sink(0)
			continue
		}
		return top.member
	}
}

func (q *queue) init(members []int32, current []heft) {
	for _, m := range members {
		q.waiting = append(q.waiting, waiting{current[m], m})
	}
	for i := len(q.waiting)/2 - 1; i >= 0; i-- {
		q.sink(i)
	}
}

func (q *queue) sink(i int) {
	for {
		child := 2*i + 1
		if child >= len(q.waiting) {
			return
		}
		if child+1 < len(q.waiting) && q.waiting[child+1].below(q.waiting[child]) {
			child++
		}
		if !q.waiting[child].below(q.waiting[i]) {
			return
		}
		q.waiting[i], q.waiting[child] = q.waiting[child], q.waiting[i]
		i = child
	}
}

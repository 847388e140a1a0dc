package certificate

import "slices"

// arc leads to a node at a cost.
type arc struct {
	to   int32
	cost Cost
}

// exchange is the graph of rounds. Nodes are members, cells, classes, and
// counters, over which one member can get one more and another one less. A way
// from a member to a cell gives a partition up, one from a cell to a member, over
// its class or because the partition was its own, takes one.
type exchange struct {
	costs
	loads    []int32
	cells    []cell
	cellOf   []int32 // of each partition
	arcs     [][]arc
	distance []Cost
	parent   []int32
	cellsAt  int32
	classAt  int32
	countAt  int32
}

// Wasteful returns a round of passing on that makes the plan better for the
// goals and leaves its loads as good as they are, and what it saves; nil when
// there is none. Without slack p must be a fairest plan.
func Wasteful(p *Plan, goals *Goals) ([]Step, Cost) {
	g := &exchange{costs: costs{p, goals}, loads: p.Loads(), cellOf: make([]int32, len(p.Topic))}
	g.findCells()
	g.cellsAt = int32(len(p.Class))
	g.classAt = g.cellsAt + int32(len(g.cells))
	g.countAt = g.classAt + int32(len(p.Topics))
	g.arcs = make([][]arc, int(g.countAt)+1+int(slices.Max(append(g.loads, 0)))+1)
	g.takeOver()
	g.giveAndTakeBack()
	g.count()
	round := g.search()
	if round == nil {
		return nil, Cost{}
	}
	return g.steps(round), g.sum(round).minus()
}

func (g *exchange) add(from, to int32, c Cost) { g.arcs[from] = append(g.arcs[from], arc{to, c}) }

func (g *exchange) findCells() {
	number := map[cell]int32{}
	for q, t := range g.p.Topic {
		x := cell{t, -1, g.p.Former[q]}
		if g.g.Racks {
			x.rackSet = g.p.RackSet[q]
		}
		n, seen := number[x]
		if !seen {
			n = int32(len(g.cells))
			number[x] = n
			g.cells = append(g.cells, x)
		}
		g.cellOf[q] = n
	}
}

// takeOver: any subscriber may get any partition.
func (g *exchange) takeOver() {
	classes := g.p.classesOf()
	for i, x := range g.cells {
		for _, c := range classes.of(x.topic) {
			g.add(g.cellsAt+int32(i), g.classAt+c, g.give(x, c))
		}
		if x.former >= 0 {
			g.add(g.cellsAt+int32(i), x.former, g.giveBack(x))
		}
	}
	for m, c := range g.p.Class {
		g.add(g.classAt+c, int32(m), Cost{})
	}
}

// giveAndTakeBack: members give up what they have, once for each price, and take
// back what was theirs.
func (g *exchange) giveAndTakeBack() {
	type offer struct {
		member, cell int32
		cost         Cost
	}
	offered := map[offer]bool{}
	for q, m := range g.p.Holder {
		if m < 0 {
			continue
		}
		x := g.cellOf[q]
		give := offer{m, x, g.held(g.cells[x], int32(q), m)}
		if !offered[give] {
			offered[give] = true
			g.add(m, g.cellsAt+x, give.cost.minus())
		}
		if o := g.p.Owner[q]; o >= 0 && o != m {
			back := offer{-1 - o, x, Cost{}}
			if !offered[back] {
				offered[back] = true
				g.add(g.cellsAt+x, o, g.keep(g.cells[x], o))
			}
		}
	}
}

// count: without slack, members may exchange loads that differ by one; with it,
// loads may be whatever the boxes allow.
func (g *exchange) count() {
	for m, load := range g.loads {
		gains, loses := g.countAt+load+1, g.countAt+load
		up, down := Cost{}, Cost{}
		mayGain, mayLose := true, load > 0
		if g.g.Slack > 0 {
			gains, loses = g.countAt, g.countAt
			up, mayGain = g.g.gain(int32(m), load)
			down, mayLose = g.g.lose(int32(m), load)
		}
		if mayGain {
			g.add(int32(m), gains, up)
		}
		if mayLose {
			g.add(loses, int32(m), down)
		}
	}
}

// search is Bellman and Ford's, with a queue. It returns the nodes of a round
// that saves something, or nil.
func (g *exchange) search() []int32 {
	n := len(g.arcs)
	g.distance, g.parent = make([]Cost, n), make([]int32, n)
	waiting := make([]bool, n)
	queue := make([]int32, n)
	for v := range queue {
		queue[v], waiting[v], g.parent[v] = int32(v), true, -1
	}
	for taken := 1; len(queue) > 0; taken++ {
		v := queue[0]
		queue = queue[1:]
		waiting[v] = false
		for _, a := range g.arcs[v] {
			d := g.distance[v].plus(a.cost)
			if !g.g.less(d, g.distance[a.to]) {
				continue
			}
			g.distance[a.to], g.parent[a.to] = d, v
			if !waiting[a.to] {
				waiting[a.to] = true
				queue = append(queue, a.to)
			}
		}
		if taken%n == 0 || len(queue) == 0 {
			if round := g.loop(); round != nil {
				return round
			}
		}
	}
	return nil
}

// loop returns a loop among the parents, in the order of the way.
func (g *exchange) loop() []int32 {
	seen := make([]int32, len(g.parent))
	for v := range g.parent {
		u := int32(v)
		for u >= 0 && seen[u] == 0 {
			seen[u] = int32(v) + 1
			u = g.parent[u]
		}
		if u < 0 || seen[u] != int32(v)+1 {
			continue
		}
		round := []int32{u}
		for w := g.parent[u]; w != u; w = g.parent[w] {
			round = append(round, w)
		}
		slices.Reverse(round)
		return round
	}
	return nil
}

func (g *exchange) sum(round []int32) (sum Cost) {
	for i, v := range round {
		to := round[(i+1)%len(round)]
		best, found := Cost{}, false
		for _, a := range g.arcs[v] {
			if a.to == to && (!found || g.g.less(a.cost, best)) {
				best, found = a.cost, true
			}
		}
		sum = sum.plus(best)
	}
	return sum
}

// steps tells a round by who passes on to whom.
func (g *exchange) steps(round []int32) []Step {
	for i, v := range round { // begin with a member
		if v < g.cellsAt {
			round = append(slices.Clone(round[i:]), round[:i]...)
			break
		}
	}
	var steps []Step
	giver, over := int32(-1), int32(-1)
	for _, v := range append(round, round[0]) {
		switch {
		case v < g.cellsAt:
			if over >= 0 && giver >= 0 {
				steps = append(steps, Step{giver, v, over})
			}
			giver, over = v, -1
		case v < g.classAt:
			over = g.cells[v-g.cellsAt].topic
		}
	}
	return steps
}

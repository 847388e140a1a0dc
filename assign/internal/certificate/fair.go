package certificate

import (
	"cmp"
	"slices"
)

// passing is the graph of who can pass partitions on to whom: from a member over
// the topics it has some of, or backwards over those it may have, to the members
// of the classes that may have some, or have some.
type passing struct {
	p              *Plan
	loads          []int32
	topics         *lists // that each member has some of
	holders        *lists // members that have some of each topic
	members        *lists // of each class
	classes        *lists // that subscribe to each topic
	seen, class    []bool // members, classes
	topicSeen      []bool
	from, fromOver []int32 // how each member was reached
	queue          []int32
}

func newPassing(p *Plan) *passing {
	g := &passing{p: p, loads: p.Loads(), members: p.membersOf(), classes: p.classesOf()}
	n := len(p.Class)
	g.topics = collect(n, func(emit func(list, item int32)) { g.eachHolding(func(m, t int32) { emit(m, t) }) })
	g.holders = collect(p.TopicCount, func(emit func(list, item int32)) { g.eachHolding(func(m, t int32) { emit(t, m) }) })
	g.from, g.fromOver = make([]int32, n), make([]int32, n)
	g.forget()
	return g
}

// eachHolding calls do with every member and topic it has some of.
func (g *passing) eachHolding(do func(member, topic int32)) {
	last := make([]int32, len(g.p.Class))
	for q, m := range g.p.Holder {
		if t := g.p.Topic[q] + 1; m >= 0 && last[m] != t {
			last[m] = t
			do(m, t-1)
		}
	}
}

func (g *passing) forget() {
	g.seen, g.class, g.topicSeen = make([]bool, len(g.p.Class)), make([]bool, len(g.p.Topics)), make([]bool, g.p.TopicCount)
}

// byLoad lists the members, the largest load first.
func (g *passing) byLoad() []int32 {
	list := make([]int32, len(g.loads))
	for m := range list {
		list[m] = int32(m)
	}
	slices.SortStableFunc(list, func(a, b int32) int { return cmp.Compare(g.loads[b], g.loads[a]) })
	return list
}

// reach visits whatever can be passed on to from m and was not visited before.
func (g *passing) reach(m int32, visit func(member int32)) {
	if g.seen[m] {
		return
	}
	g.from[m] = -1
	g.enqueue(m)
	for len(g.queue) > 0 {
		u := g.queue[0]
		g.queue = g.queue[1:]
		visit(u)
		for _, t := range g.topics.of(u) {
			if g.topicSeen[t] {
				continue
			}
			g.topicSeen[t] = true
			for _, c := range g.classes.of(t) {
				g.reachClass(c, u, t)
			}
		}
	}
}

func (g *passing) enqueue(m int32) {
	g.seen[m] = true
	g.queue = append(g.queue, m)
}

func (g *passing) reachClass(c, from, over int32) {
	if g.class[c] {
		return
	}
	g.class[c] = true
	for _, v := range g.members.of(c) {
		if !g.seen[v] {
			g.from[v], g.fromOver[v] = from, over
			g.enqueue(v)
		}
	}
}

// reachBack visits whatever can pass on to m and was not visited before.
func (g *passing) reachBack(m int32, visit func(member int32)) {
	if g.seen[m] {
		return
	}
	g.enqueue(m)
	for len(g.queue) > 0 {
		u := g.queue[0]
		g.queue = g.queue[1:]
		visit(u)
		if g.class[g.p.Class[u]] {
			continue
		}
		g.class[g.p.Class[u]] = true
		for _, t := range g.p.Topics[g.p.Class[u]] {
			if g.topicSeen[t] {
				continue
			}
			g.topicSeen[t] = true
			for _, v := range g.holders.of(t) {
				if !g.seen[v] {
					g.enqueue(v)
				}
			}
		}
	}
}

// Unfair returns a way along which a partition each can be passed on so that
// loads become fairer, or nil: then they are fairest. Members are visited from
// the richest on; who was reached by one that is richer need not be visited again.
// It takes time linear in the plan and in the subscriptions of the classes.
func Unfair(p *Plan) []Step {
	g := newPassing(p)
	for _, m := range g.byLoad() {
		worst := int32(-1)
		g.reach(m, func(v int32) {
			if g.loads[v]+1 < g.loads[m] && (worst < 0 || g.loads[v] < g.loads[worst]) {
				worst = v
			}
		})
		if worst >= 0 {
			return g.way(worst)
		}
	}
	return nil
}

// way returns how m was reached.
func (g *passing) way(m int32) []Step {
	var steps []Step
	for g.from[m] >= 0 {
		steps = append(steps, Step{g.from[m], m, g.fromOver[m]})
		m = g.from[m]
	}
	slices.Reverse(steps)
	return steps
}

// Ranges returns the least and the most that each member has in any fairest plan;
// p must be one. Loads can be exchanged along ways between members that differ
// by one.
func Ranges(p *Plan) (low, high []int32) {
	g := newPassing(p)
	low, high = slices.Clone(g.loads), slices.Clone(g.loads)
	order := g.byLoad()
	for _, m := range order {
		g.reach(m, func(v int32) { high[v] = max(high[v], g.loads[m]) })
	}
	g.forget()
	slices.Reverse(order)
	for _, m := range order {
		g.reachBack(m, func(v int32) { low[v] = min(low[v], g.loads[m]) })
	}
	return low, high
}

// Within returns everybody that m can pass partitions on to, m included, and the
// least load among them: it can be relieved of nothing by those outside.
func Within(p *Plan, m int32) (members []int32, least int32) {
	g := newPassing(p)
	least = g.loads[m]
	g.reach(m, func(v int32) {
		members = append(members, v)
		least = min(least, g.loads[v])
	})
	slices.Sort(members)
	return members, least
}

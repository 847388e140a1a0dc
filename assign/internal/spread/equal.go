package spread

import (
	"math"

	"github.com/skeinstream/skein/assign/internal/group"
)

// table counts what each member of a group with equal subscriptions has and owned
// of each topic. It does what board and finder do in general, but in one room: all
// pairs of a topic and a member are there, and nothing is paid for but moves.
//
// A round alternates between members and topics. Those there are fewer of are its
// nodes, and of the others only the cheapest between each two nodes matters, so
// that rounds are looked for among 16 nodes at most. One more node, the last, is
// the block: over it a member that has one more than others hands that on.
type table struct {
	p        *Problem
	runs     []group.Run // one for each topic
	members  int
	has, own []int32 // by topic and member
	load     []int32
	scale    int64 // what a move counts in squares

	nodes, others    int
	nodeStep, aStep  int // from one node to the next in has, and from one of the others
	membersAreNodes  bool
	give, take       [MostPairs]int64 // what a pair costs that gives one, and takes one
	cost             [(mostNodes + 1) * (mostNodes + 1)]int64
	over             [(mostNodes + 1) * (mostNodes + 1)]int32 // the other that is the cheapest
	distance         [mostNodes + 1]int64
	before, onTheWay [mostNodes + 1]int32
}

// mostNodes is the most that the fewer of topics and members can be.
const mostNodes = 16

// evenEqual evens out a group with equal subscriptions.
func (p *Problem) evenEqual() {
	runs, members := p.Sources.Of(0), len(p.Hub)
	counts := p.Group.Ints(2 * len(runs) * members)
	has, own := counts[:len(counts)/2], counts[len(counts)/2:]
	even := true
	for i, r := range runs {
		even = p.countTopic(r, has[i*members:(i+1)*members], own[i*members:(i+1)*members]) && even
	}
	if !even {
		p.exchange(runs, has, own)
	}
}

// countTopic counts who has and owned what of a topic; it reports whether it is as
// even as can be.
func (p *Problem) countTopic(r group.Run, has, own []int32) (even bool) {
	for q := r.From; q < r.To; q++ {
		has[p.Owner[q]]++
		if m := p.Before[q]; m != group.None {
			own[m]++
		}
	}
	least, most := has[0], has[0]
	for _, n := range has {
		least, most = min(least, n), max(most, n)
	}
	return most <= least+1
}

// exchange carries out rounds as long as there is one that wins.
func (p *Problem) exchange(runs []group.Run, has, own []int32) {
	var t table
	t.p, t.runs, t.members, t.has, t.own = p, runs, len(p.Hub), has, own
	t.begin()
	turned := false
	for t.round() {
		turned = true
	}
	if turned {
		t.realise()
	}
}

func (t *table) begin() {
	t.load = t.p.Group.Ints(t.members)
	for i, n := range t.has {
		t.load[i%t.members] += n
	}
	t.nodes, t.nodeStep, t.others, t.aStep = len(t.runs), t.members, t.members, 1
	if t.members < len(t.runs) {
		t.membersAreNodes = true
		t.nodes, t.nodeStep, t.others, t.aStep = t.members, 1, len(t.runs), t.members
	}
	t.scale = 4 * (mostNodes + 2) * (int64(len(t.p.Owner)) + 1) // no round changes the squares by more
}

// never is the price of what cannot be done.
const never = math.MaxInt64 / 4

// round finds rounds that win something and carries them out, each as often as it
// wins; it reports whether there was one.
func (t *table) round() bool {
	t.pairs()
	t.steps()
	for v := range t.nodes + 1 {
		t.distance[v], t.before[v] = 0, -1
	}
	for t.relax() {
		if t.turnAll() {
			return true
		}
	}
	return false
}

// pairs says what each pair costs today. What a member keeps is free.
func (t *table) pairs() {
	for i, n := range t.has {
		t.give[i], t.take[i] = 1-2*int64(n), 1+2*int64(n)
		switch own := t.own[i]; {
		case n == 0:
			t.give[i] = never
		case n > own:
			t.give[i] -= t.scale
		}
		if n >= t.own[i] {
			t.take[i] += t.scale
		}
	}
}

// steps says what it costs to go from node to node: one of the others gives of the
// first and takes of the second, or where members are nodes, the first gives what
// the second takes.
func (t *table) steps() {
	width := t.nodes + 1
	for a := range t.nodes {
		for b := range t.nodes {
			if a != b {
				t.cost[a*width+b], t.over[a*width+b] = t.cheapest(a*t.nodeStep, b*t.nodeStep)
			}
		}
		t.cost[a*width+a], t.cost[a*width+t.nodes], t.cost[t.nodes*width+a] = never, never, never
		if t.membersAreNodes {
			t.memberAndBlock(a)
		} else {
			t.topicAndBlock(a)
		}
	}
	t.cost[t.nodes*width+t.nodes] = never
}

func (t *table) cheapest(from, to int) (cost int64, over int32) {
	cost = never
	for x := range t.others {
		if c := t.give[from] + t.take[to]; c < cost {
			cost, over = c, int32(x)
		}
		from += t.aStep
		to += t.aStep
	}
	return cost, over
}

// memberAndBlock: who has one less than others can keep what it was handed, who
// has one more need not be handed anything.
func (t *table) memberAndBlock(m int) {
	width := t.nodes + 1
	if t.mayGain(m) {
		t.cost[m*width+t.nodes] = 0
	}
	if t.mayLose(m) {
		t.cost[t.nodes*width+m] = 0
	}
}

func (t *table) mayGain(m int) bool { return t.load[m] < t.p.High[m] }
func (t *table) mayLose(m int) bool { return t.load[m] > t.p.Low[m] }

// topicAndBlock: one who has more than others gives of the topic, one who has less
// takes of it.
func (t *table) topicAndBlock(a int) {
	width := t.nodes + 1
	for m := range t.members {
		give, take := t.give[a*t.members+m], t.take[a*t.members+m]
		if t.mayLose(m) && give < t.cost[a*width+t.nodes] {
			t.cost[a*width+t.nodes], t.over[a*width+t.nodes] = give, int32(m)
		}
		if t.mayGain(m) && take < t.cost[t.nodes*width+a] {
			t.cost[t.nodes*width+a], t.over[t.nodes*width+a] = take, int32(m)
		}
	}
}

// relax takes every step once; it reports whether any node came nearer.
func (t *table) relax() (changed bool) {
	width := t.nodes + 1
	for u := range width {
		here := t.distance[u]
		for v, cost := range t.cost[u*width : (u+1)*width] {
			if here+cost < t.distance[v] {
				t.distance[v], t.before[v] = here+cost, int32(u)
				changed = true
			}
		}
	}
	return changed
}

// turnAll carries out every round among the steps that nodes were reached over last.
// They have no node in common, so that none changes what another wins.
func (t *table) turnAll() (any bool) {
	clear(t.onTheWay[:t.nodes+1])
	for v := range int32(t.nodes + 1) {
		u := v
		for u >= 0 && t.onTheWay[u] == 0 {
			t.onTheWay[u] = v + 1
			u = t.before[u]
		}
		if u >= 0 && t.onTheWay[u] == v+1 {
			t.turn(u)
			any = true
		}
	}
	return any
}

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
	give, take       []int64 // what a pair costs that gives one, and takes one
	cost             []int64 // from node to node
	over             []int32 // the other that is the cheapest
	distance         []int64
	before, onTheWay []int32
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
	t.room()
}

// room finds room for what rounds are looked for in. It is cut to measure: arrays
// for the largest table would make the stack grow, which takes longer than a round.
func (t *table) room() {
	pairs, width := len(t.has), t.nodes+1
	all := make([]int64, 2*pairs+width*width+width)
	t.give, t.take, all = all[:pairs], all[pairs:2*pairs], all[2*pairs:]
	t.cost, t.distance = all[:width*width], all[width*width:]
	t.over, t.before, t.onTheWay = t.p.Group.Ints(width*width), t.p.Group.Ints(width), t.p.Group.Ints(width)
}

// never is the price of what cannot be done.
const never = math.MaxInt64 / 4

// round finds rounds that win something and carries them out, each as often as it
// wins; it reports whether there was one.
func (t *table) round() bool {
	t.pairs()
	t.steps()
	for v := range t.distance {
		t.distance[v], t.before[v] = 0, -1
	}
	for t.relax() {
		if t.turnAll() {
			return true
		}
	}
	return false
}

// pairs says what each pair costs today. What a member keeps is free; to give it away
// costs a move, which only somebody who takes back what he gave up can make good.
func (t *table) pairs() {
	released := t.released()
	for i, n := range t.has {
		t.give[i], t.take[i] = 1-2*int64(n), 1+2*int64(n)
		switch own := t.own[i]; {
		case n == 0, n <= own && !released:
			t.give[i] = never
		case n > own:
			t.give[i] -= t.scale
		}
		if n >= t.own[i] {
			t.take[i] += t.scale
		}
	}
}

// released reports whether anybody gives up something.
func (t *table) released() bool {
	for i, n := range t.has {
		if n < t.own[i] {
			return true
		}
	}
	return false
}

// steps says what it costs to go from node to node: one of the others gives of the
// first and takes of the second, or where members are nodes, the first gives what
// the second takes.
func (t *table) steps() {
	for i := range t.cost {
		t.cost[i] = never
	}
	for x := range t.others {
		for a := range t.nodes {
			if give := t.give[x*t.aStep+a*t.nodeStep]; give < never {
				t.stepsOver(x, a, give)
			}
		}
	}
	for m := range t.members {
		if t.membersAreNodes {
			t.memberAndBlock(m)
		} else {
			t.topicsAndBlock(m)
		}
	}
}

// stepsOver says what steps from node a cost if they go over x, which gives.
func (t *table) stepsOver(x, a int, give int64) {
	row, pair := a*(t.nodes+1), x*t.aStep
	for b := range t.nodes {
		if c := give + t.take[pair]; b != a && c < t.cost[row+b] {
			t.cost[row+b], t.over[row+b] = c, int32(x)
		}
		pair += t.nodeStep
	}
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

// topicsAndBlock: one who has more than others gives of a topic, one who has less
// takes of it.
func (t *table) topicsAndBlock(m int) {
	width := t.nodes + 1
	mayLose, mayGain := t.mayLose(m), t.mayGain(m)
	for a := range t.nodes {
		give, take := t.give[a*t.members+m], t.take[a*t.members+m]
		if to := a*width + t.nodes; mayLose && give < t.cost[to] {
			t.cost[to], t.over[to] = give, int32(m)
		}
		if from := t.nodes*width + a; mayGain && take < t.cost[from] {
			t.cost[from], t.over[from] = take, int32(m)
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
	clear(t.onTheWay)
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

package onebounce

import "fmt"

// emitter is told every state that follows from one, and by what step.
type emitter func(state, step)

// Result is what the walk through all states has found.
type Result struct {
	States int
	// Overlaps are states in which two current members own a partition (INV1), Overwrites those in which a member may
	// commit what another has been given (INV2).
	Overlaps, Overwrites int
	// Zombies are states in which a partition is owned twice, by one that the group has expelled without its knowledge.
	Zombies int
	// Fatal are refusals that end a process of old code, FatalDynamic those of our own.
	Fatal, FatalDynamic int
	// Climbed are states with all members COOPERATIVE.
	Climbed int
	// Stuck are states, of those with three generations to go, from which the group cannot be made whole any more.
	Stuck int
	// Trace is how the first violation comes about.
	Trace []string
}

type seen struct {
	state  state
	parent int32
	step   step
}

type explorer struct {
	model *Model
	ids   map[state]int32
	list  []seen
	edges [][2]int32 // to, from
	at    int32
	out   Result
}

// Explore walks through every state that the group can come into.
func (m *Model) Explore() Result {
	x := &explorer{model: m, ids: map[state]int32{}}
	x.at = -1
	x.visit(m.start(), step{})
	for x.at = 0; int(x.at) < len(x.list); x.at++ {
		m.successors(x.list[x.at].state, x.visit)
	}
	x.out.States = len(x.list)
	x.out.Stuck = x.stuck()
	return x.out
}

func (m *Model) start() state {
	s := state{leader: -1, left: m.Faults}
	for i, kind := range m.Kinds {
		s.procs[i] = process{kind: kind, alive: true}
	}
	return s
}

// successors are all things that may happen next.
func (m *Model) successors(s state, emit emitter) {
	for i := range s.procs {
		if !s.procs[i].alive {
			m.bury(s, i, emit)
			m.restart(s, i, emit)
			continue
		}
		m.join(s, i, emit)
		m.plan(s, i, emit)
		m.receive(s, i, emit)
		m.bounce(s, i, emit)
		m.crash(s, i, emit)
		m.expel(s, i, emit)
		m.lose(s, i, emit)
	}
	m.failOver(s, emit)
	m.complete(s, emit)
	m.expire(s, emit)
}

func (x *explorer) visit(s state, by step) {
	if by.fatal {
		x.refused(by)
	}
	id, known := x.ids[s]
	if !known {
		id = int32(len(x.list))
		x.ids[s] = id
		x.list = append(x.list, seen{s, x.at, by})
		x.judge(&s, id)
	}
	if x.at >= 0 {
		x.edges = append(x.edges, [2]int32{id, x.at})
	}
}

func (x *explorer) refused(by step) {
	if by.dynamic {
		x.out.FatalDynamic++
	} else {
		x.out.Fatal++
	}
}

func (x *explorer) judge(s *state, id int32) {
	overlap, overwrites := s.overlap(false), s.overwrites(x.model.Rule)
	if overlap {
		x.out.Overlaps++
	} else if s.overlap(true) {
		x.out.Zombies++
	}
	if overwrites {
		x.out.Overwrites++
	}
	if (overlap || overwrites) && x.out.Trace == nil {
		x.out.Trace = x.trace(id)
	}
	if s.climbed() {
		x.out.Climbed++
	}
}

// trace are the steps from the start to a state.
func (x *explorer) trace(id int32) (steps []string) {
	for ; id > 0; id = x.list[id].parent {
		steps = append([]string{x.list[id].step.String()}, steps...)
	}
	return steps
}

// stuck counts the states from which no path leads to a whole group.
func (x *explorer) stuck() (n int) {
	before := make([][]int32, len(x.list))
	for _, e := range x.edges {
		before[e[0]] = append(before[e[0]], e[1])
	}
	good := make([]bool, len(x.list))
	var queue []int32
	reach := func(id int32) {
		if !good[id] {
			good[id] = true
			queue = append(queue, id)
		}
	}
	for id := range x.list {
		if x.list[id].state.whole() {
			reach(int32(id))
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		for _, from := range before[queue[0]] {
			reach(from)
		}
	}
	for id := range x.list {
		if x.list[id].state.gen+3 <= x.model.Generations && !good[id] {
			n++
		}
	}
	return n
}

// step is one thing that happens.
type step struct {
	act            act
	member         int
	names          names
	parts          partitions
	given          [Members]partitions
	fatal, dynamic bool
}

type act uint8

const (
	joins act = iota
	yields
	fails
	hears
	resumes
	completes
	expires
	plans
	receives
	bounces
	crashes
	buries
	restarts
	expels
	loses
	failsOver
)

func (s step) String() string {
	who := fmt.Sprintf("member %d", s.member)
	switch s.act {
	case joins:
		return fmt.Sprintf("%s joins with %s, owning %s", who, s.names, s.parts)
	case resumes:
		return fmt.Sprintf("%s, restarted, takes its place without a round, with %s", who, s.names)
	case completes:
		return fmt.Sprintf("all have joined: %s, led by %s", s.names, who)
	case expires:
		return fmt.Sprintf("the round ends without some: %s, led by %s", s.names, who)
	case plans:
		return fmt.Sprintf("%s, the leader, gives %v", who, s.given)
	case receives:
		return fmt.Sprintf("%s gets %s", who, s.parts)
	case failsOver:
		return "the coordinator fails over"
	}
	return who + map[act]string{
		yields:   " is refused with its narrowed list, and gives up all it owns",
		fails:    " is refused and ends",
		hears:    " asks again for the answer that was lost",
		bounces:  " is bounced",
		crashes:  " crashes",
		buries:   "'s session ends",
		restarts: " is restarted",
		expels:   " is expelled, alive",
		loses:    " does not get the answer to its JoinGroup",
	}[s.act]
}

func (n names) String() string {
	return map[names]string{0: "[]", rangeName: "[range]", cooperativeName: "[cooperative-sticky]", rangeName | cooperativeName: "[both]"}[n]
}

func (p partitions) String() string {
	return map[partitions]string{0: "nothing", 1: "partition 0", 2: "partition 1", everyPartition: "both partitions"}[p]
}

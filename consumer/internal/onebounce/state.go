package onebounce

// Members and Partitions are the size of the group. Every wrong rule is found out by groups of this size.
const (
	Members    = 3
	Partitions = 2
)

// Kind is what code a member runs, and the assignors it is configured with.
type Kind uint8

const (
	Old             Kind = iota // [range], always EAGER; its leader knows nothing of owned partitions
	Dynamic                     // [cooperative-sticky, range]; its protocol follows the assignor that was selected
	Both                        // [cooperative-sticky, range] as Kafka ships it: EAGER, since range is
	RangeFirst                  // [range, cooperative-sticky], Kafka's default since 3.0: EAGER
	CooperativeOnly             // [cooperative-sticky]: COOPERATIVE
)

// names is a set of assignors.
type names uint8

const (
	rangeName names = 1 << iota
	cooperativeName
)

// partitions is a set of partitions.
type partitions uint8

const everyPartition partitions = 1<<Partitions - 1

// phase is where a process is in the protocol.
type phase uint8

const (
	outside phase = iota // not a member, with no member id
	stable               // consuming
	joining              // waits for the answer to its JoinGroup
	unsure               // that answer was lost
	joined               // has it, waits for its assignment
	planned              // the leader, which has sent its plan and waits for its assignment
)

// round is where the group is.
type round uint8

const (
	empty round = iota
	preparing
	completing
	settled
)

// entry is what the coordinator knows of a member.
type entry struct {
	in, joined bool       // joined: in the round that is being prepared
	first      names      // what it would have, if it may choose
	offers     names      // what it offered last
	admits     names      // with what it withheld (R-C15)
	claim      partitions // what it said that it owned, in its last JoinGroup
	given      partitions // its part of the plan in force
}

// process is what a member knows itself.
type process struct {
	kind        Kind
	phase       phase
	cooperative bool // keeps what it owns when it joins
	alive       bool
	again       bool // gave something up and has to join once more (R-B7)
	owned       partitions
	gen         uint8
}

// Faults says how often what may go wrong does.
type Faults struct {
	Bounces   uint8 // clean restarts with other code
	Crashes   uint8 // of processes
	Failovers uint8 // of the coordinator, while the group is settled
	Expelled  uint8 // live members whose session or rebalance timeout ended
	Lost      uint8 // answers to JoinGroup
}

// state is the whole group at one moment. It is comparable: what was seen is a key.
type state struct {
	entries [Members]entry
	procs   [Members]process
	round   round
	gen     uint8
	chosen  names
	leader  int8 // -1: none
	left    Faults
}

func (s *state) size() int {
	n := 0
	for i := range s.entries {
		if s.entries[i].in {
			n++
		}
	}
	return n
}

// common is what every member offers, commonAdmitted what every member offers or withholds.
func (s *state) common() names { return s.inEvery(func(e *entry) names { return e.offers }) }

func (s *state) commonAdmitted() names { return s.inEvery(func(e *entry) names { return e.admits }) }

func (s *state) inEvery(list func(*entry) names) names {
	all := rangeName | cooperativeName
	for i := range s.entries {
		if e := &s.entries[i]; e.in {
			all &= list(e)
		}
	}
	return all
}

// prepare begins a round; self, if it is a member, has joined it.
func (s *state) prepare(self int) {
	s.round = preparing
	for i := range s.entries {
		if i != self {
			s.entries[i].joined, s.entries[i].given = false, 0
		}
	}
}

// remove takes a member out of the group.
func (s *state) remove(i int) {
	s.entries[i] = entry{}
	if s.leader == int8(i) {
		s.leader = -1
	}
	switch {
	case s.size() == 0:
		s.round, s.leader = empty, -1
	case s.round == settled || s.round == completing:
		s.prepare(-1)
	}
}

// forgotten says that the group has gone on without a member that does not know it yet: its session is over, or a
// generation was made while it was away. It may go on consuming for a moment, as in Kafka; all its commits are refused.
func (s *state) forgotten(i int) bool {
	p := &s.procs[i]
	if p.phase == outside {
		return false
	}
	if !s.entries[i].in {
		return true
	}
	return p.gen != s.gen && (p.phase == stable || p.phase == joined || p.phase == planned)
}

// overlap says that two members own a partition; of those who are forgotten only if they count.
func (s *state) overlap(forgottenCount bool) bool {
	var seen partitions
	for i := range s.procs {
		if !s.procs[i].alive || !forgottenCount && s.forgotten(i) {
			continue
		}
		if seen&s.procs[i].owned != 0 {
			return true
		}
		seen |= s.procs[i].owned
	}
	return false
}

// overwrites says that a member may now commit what the plan in force gives to another.
func (s *state) overwrites(rule Rule) bool {
	if s.round != settled {
		return false // no plan is in force, or none takes commits (R-B6)
	}
	for i := range s.procs {
		if !s.mayCommit(i, rule) {
			continue
		}
		for j := range s.entries {
			if j != i && s.entries[j].in && s.entries[j].given&s.procs[i].owned != 0 {
				return true
			}
		}
	}
	return false
}

// mayCommit says that the coordinator takes commits of this process, and that it would send some.
func (s *state) mayCommit(i int, rule Rule) bool {
	p := &s.procs[i]
	if !p.alive || p.gen != s.gen || !s.entries[i].in {
		return false
	}
	switch p.phase {
	case stable:
		return true
	case joined, planned: // commits while it gives up what the plan takes from it
		return rule != ShortCircuit || s.chosen != rangeName
	}
	return false
}

// whole is the state that a group should come to: all in it, settled, every partition owned.
func (s *state) whole() bool {
	var owned partitions
	for i := range s.procs {
		p := &s.procs[i]
		if !p.alive || p.phase != stable || p.again || p.gen != s.gen || !s.entries[i].in {
			return false
		}
		owned |= p.owned
	}
	return s.round == settled && owned == everyPartition
}

// climbed says that all are in the group and COOPERATIVE.
func (s *state) climbed() bool {
	for i := range s.procs {
		p := &s.procs[i]
		if !p.alive || p.phase != stable || !p.cooperative || !s.entries[i].in {
			return false
		}
	}
	return s.round == settled
}

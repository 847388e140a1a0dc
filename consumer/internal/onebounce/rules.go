package onebounce

// Rule is how a [Dynamic] member, and the broker, go about the two protocols.
type Rule uint8

const (
	// Naive follows the assignor that was selected and no more: pull request 10345 of Kafka, without its exception.
	Naive Rule = iota
	// ShortCircuit is what KAFKA-12477 describes: who is COOPERATIVE and sees an EAGER assignor selected counts what it owns as
	// lost, and commits nothing.
	ShortCircuit
	// LeaderCheck is Naive with leaders that give nobody what another claims, if they run the new code.
	LeaderCheck
	// Withhold offers only COOPERATIVE assignors while it owns anything (R-C12).
	Withhold
	// Union is Withhold, and a broker that admits by what members withhold, too (R-C15).
	Union
)

func (r Rule) withholds() bool { return r == Withhold || r == Union }

// Model is a group and what happens to it.
type Model struct {
	Rule   Rule
	Kinds  [Members]Kind
	Static [Members]bool // with a group.instance.id (KIP-345)
	// Bounce is the kind that one becomes when it is bounced.
	Bounce map[Kind]Kind
	// Forgets says that the coordinator keeps only the selected assignor over a failover, as Kafka does (R-C3).
	Forgets     bool
	Generations uint8
	Faults      Faults
}

// offer is the list that a process sends with JoinGroup.
func (m *Model) offer(p *process) names {
	switch p.kind {
	case Old:
		return rangeName
	case CooperativeOnly:
		return cooperativeName
	case Dynamic:
		if m.Rule.withholds() && p.owned != 0 {
			return cooperativeName
		}
	}
	return rangeName | cooperativeName
}

// admitted is its list with what it withholds.
func (m *Model) admitted(p *process) names {
	if p.kind == Dynamic && m.Rule == Union {
		return rangeName | cooperativeName
	}
	return m.offer(p)
}

func first(p *process, offer names) names {
	if offer&cooperativeName != 0 && p.kind != RangeFirst {
		return cooperativeName
	}
	if offer&rangeName != 0 {
		return rangeName
	}
	return offer
}

// admits is the coordinator's test of a JoinGroup (R-C2).
func (m *Model) admits(s *state, offer names) bool {
	if s.size() == 0 {
		return true
	}
	if m.Rule == Union {
		return offer&s.commonAdmitted() != 0
	}
	return offer&s.common() != 0
}

// elected are the assignors that may win the vote of those in the group; a tie is decided by nothing one may rely on.
func elected(s *state) names {
	candidates := s.common()
	var votes [cooperativeName + 1]int
	for i := range s.entries {
		e := &s.entries[i]
		if !e.in {
			continue
		}
		if choice := e.offers & candidates; e.first&candidates != 0 {
			votes[e.first]++
		} else if choice != 0 {
			votes[choice]++
		}
	}
	switch {
	case candidates == 0:
		return 0
	case votes[rangeName] > votes[cooperativeName]:
		return rangeName
	case votes[rangeName] < votes[cooperativeName]:
		return cooperativeName
	}
	return candidates
}

// careful says that the plan of leader keeps what members claim with them or with nobody for this round (R-A19).
func (m *Model) careful(s *state, leader int) bool {
	return s.chosen == cooperativeName || m.Rule == LeaderCheck && s.procs[leader].kind == Dynamic
}

// cooperative is the protocol of a process after a round (R-C11).
func (m *Model) cooperative(kind Kind, chosen names) bool {
	switch kind {
	case Dynamic:
		return chosen == cooperativeName
	case CooperativeOnly:
		return true
	}
	return false
}

package onebounce

// complete ends a round that all have joined.
func (m *Model) complete(s state, emit emitter) {
	if s.round != preparing || s.size() == 0 || s.gen == m.Generations || len(s.missing()) > 0 {
		return
	}
	m.begin(s, completes, emit)
}

// missing are those who are in the group and have not joined the round.
func (s *state) missing() (list []int) {
	for i := range s.entries {
		if s.entries[i].in && !s.entries[i].joined {
			list = append(list, i)
		}
	}
	return list
}

// expire ends a round that some have missed: static members stay, with what they said last (R-D8).
func (m *Model) expire(s state, emit emitter) {
	missing := s.missing()
	if s.round != preparing || s.left.Expelled == 0 || s.gen == m.Generations || len(missing) == 0 || len(missing) == s.size() {
		return
	}
	s.left.Expelled--
	for _, i := range missing {
		if m.Static[i] {
			continue
		}
		s.remove(i)
	}
	m.begin(s, expires, emit)
}

// begin makes a generation, with each assignor that may have won and each leader that there may be.
func (m *Model) begin(s state, why act, emit emitter) {
	won := elected(&s)
	for _, name := range []names{rangeName, cooperativeName} {
		if won&name == 0 {
			continue
		}
		for i := range s.entries {
			if s.mayLead(i) {
				t := s
				t.generation(name, i)
				emit(t, step{act: why, member: i, names: name})
			}
		}
	}
}

// mayLead: the leader stays, if it has joined.
func (s *state) mayLead(i int) bool {
	if !s.entries[i].in || !s.entries[i].joined {
		return false
	}
	return s.leader < 0 || !s.entries[s.leader].joined || int(s.leader) == i
}

func (s *state) generation(name names, leader int) {
	s.gen++
	s.chosen, s.leader, s.round = name, int8(leader), completing
	for i := range s.entries {
		s.entries[i].given = 0
		if s.entries[i].in && s.entries[i].joined {
			s.procs[i].phase, s.procs[i].gen = joined, s.gen
		}
	}
}

// plan is the leader's SyncGroup, with every plan that its assignor might make.
func (m *Model) plan(s state, i int, emit emitter) {
	if s.round != completing || s.leader != int8(i) || s.procs[i].phase != joined || s.procs[i].gen != s.gen {
		return
	}
	s.round, s.procs[i].phase = settled, planned
	m.place(s, m.careful(&s, i), 0, func(t state) { emit(t, step{act: plans, member: i, given: t.plan()}) })
}

// place gives the partitions from number p on to members in every way there is.
func (m *Model) place(s state, careful bool, p int, done func(state)) {
	if p == Partitions {
		done(s)
		return
	}
	one := partitions(1) << p
	owner := s.claimant(one)
	for j := range s.entries {
		if s.entries[j].in && (!careful || owner < 0 || owner == j) {
			t := s
			t.entries[j].given |= one
			m.place(t, careful, p+1, done)
		}
	}
	if careful && owner >= 0 {
		m.place(s, careful, p+1, done) // to nobody, for this round
	}
}

// claimant is the member that said it owned a partition, -1 when none did.
func (s *state) claimant(one partitions) int {
	for j := range s.entries {
		if s.entries[j].in && s.entries[j].claim&one != 0 {
			return j
		}
	}
	return -1
}

// unplaced are the partitions that the plan in force gives to nobody.
func (s *state) unplaced() partitions {
	rest := everyPartition
	for i := range s.entries {
		rest &^= s.entries[i].given
	}
	return rest
}

func (s *state) plan() (given [Members]partitions) {
	for i := range s.entries {
		given[i] = s.entries[i].given
	}
	return given
}

// receive is the answer to a SyncGroup.
func (m *Model) receive(s state, i int, emit emitter) {
	p, e := &s.procs[i], &s.entries[i]
	if s.round != settled || !e.in || p.gen != s.gen || p.phase != planned && (p.phase != joined || s.leader == int8(i)) {
		return
	}
	revoked := p.owned &^ e.given
	p.owned, p.phase, p.again = e.given, stable, p.again || revoked != 0
	p.cooperative = m.cooperative(p.kind, s.chosen)
	emit(s, step{act: receives, member: i, parts: e.given})
}

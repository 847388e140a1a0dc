package onebounce

// mustJoin says that a process has a reason to send JoinGroup.
func (m *Model) mustJoin(s *state, i int) bool {
	p, e := &s.procs[i], &s.entries[i]
	switch p.phase {
	case outside, unsure:
		return true
	case stable:
		return p.again || s.forgotten(i) || s.round == preparing && !e.joined || m.followsUp(s, i)
	case joined, planned:
		return s.forgotten(i) || s.round == preparing
	}
	return s.forgotten(i)
}

// followsUp says that a leader of ours, which held partitions back until their owner gives them up, asks for the next round
// itself. As a rule the owner does, since it has given up something; but one that is static may be restarted in between, takes
// its place without a round and knows nothing of it. Nobody would ever get these partitions.
func (m *Model) followsUp(s *state, i int) bool {
	p := &s.procs[i]
	return p.kind == Dynamic && m.Rule.withholds() && s.round == settled && s.leader == int8(i) && s.unplaced() != 0
}

// join is a JoinGroup and what comes of it.
func (m *Model) join(s state, i int, emit emitter) {
	if s.gen == m.Generations || !m.mustJoin(&s, i) {
		return
	}
	if m.resume(s, i, emit) {
		return
	}
	p := &s.procs[i]
	if s.forgotten(i) {
		p.owned, p.cooperative = 0, false // lost (R-B12)
	}
	if !p.cooperative {
		p.owned = 0 // revoked, with commits that are still accepted (R-B3)
	}
	offer := m.offer(p)
	if !m.admits(&s, offer) {
		m.refuse(s, i, emit)
		return
	}
	if m.returns(s, i, offer, emit) {
		return
	}
	m.enter(&s, i, offer)
	emit(s, step{act: joins, member: i, names: offer, parts: p.owned})
}

// enter puts a member into the round that is prepared, or begins one.
func (m *Model) enter(s *state, i int, offer names) {
	p, e := &s.procs[i], &s.entries[i]
	*e = entry{in: true, joined: true, first: first(p, offer), offers: offer, admits: m.admitted(p)}
	if p.kind != Old {
		e.claim = p.owned
	}
	p.phase, p.again = joining, false
	if s.round != preparing {
		s.prepare(i)
	}
	if m.Rule == Union {
		s.sendBack(i)
	}
}

// sendBack answers those who joined this round with a list that can no longer be common (R-C15): they give up what they
// own in peace and come again with their whole list.
func (s *state) sendBack(newcomer int) {
	common := s.commonAdmitted()
	for j := range s.entries {
		if e := &s.entries[j]; j != newcomer && e.in && e.joined && e.offers&common == 0 {
			e.joined = false
			s.procs[j].phase = stable
		}
	}
}

// refuse is INCONSISTENT_GROUP_PROTOCOL (R-C10, R-C12).
func (m *Model) refuse(s state, i int, emit emitter) {
	p := &s.procs[i]
	if p.kind == Dynamic && m.Rule.withholds() && p.owned != 0 {
		p.owned, p.cooperative = 0, false
		emit(s, step{act: yields, member: i})
		return
	}
	fatal := step{act: fails, member: i, fatal: true, dynamic: p.kind == Dynamic}
	*p = process{kind: p.kind}
	emit(s, fatal)
}

// resume is the JoinGroup of one that lost the answer to its last, and changed nothing since (R-D4): the
// coordinator answers anew without a round, unless it is the leader of a group that is settled.
func (m *Model) resume(s state, i int, emit emitter) bool {
	p, e := &s.procs[i], &s.entries[i]
	if p.phase != unsure || !e.in || s.round == preparing || s.round == settled && s.leader == int8(i) {
		return false
	}
	p.phase, p.gen = joined, s.gen
	emit(s, step{act: hears, member: i})
	return true
}

// returns is the JoinGroup of a static member that was restarted while the group is settled: it takes the place of the one
// before and gets its assignment without a round, unless another assignor would win now (R-D6).
func (m *Model) returns(s state, i int, offer names, emit emitter) bool {
	p, e := &s.procs[i], &s.entries[i]
	if !m.Static[i] || p.phase != outside || !e.in || s.round != settled {
		return false
	}
	e.first, e.offers, e.admits, e.claim = first(p, offer), offer, m.admitted(p), 0
	won := elected(&s)
	if won&s.chosen == 0 {
		return false
	}
	p.phase, p.gen = joined, s.gen
	if s.leader == int8(i) {
		p.phase = planned // it is told to make no plan (KIP-814), and knows nothing of the one in force
		p.again = p.kind == Dynamic && m.Rule.withholds() && s.chosen == cooperativeName
	}
	emit(s, step{act: resumes, member: i, names: offer})
	return won == s.chosen
}

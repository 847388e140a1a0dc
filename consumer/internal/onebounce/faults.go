package onebounce

// bounce is a clean restart with other code. A static member does not leave.
func (m *Model) bounce(s state, i int, emit emitter) {
	p := &s.procs[i]
	kind, ok := m.Bounce[p.kind]
	if !ok || s.left.Bounces == 0 || p.phase != stable && p.phase != outside {
		return
	}
	s.left.Bounces--
	*p = process{kind: kind, alive: true}
	if s.entries[i].in && !m.Static[i] {
		s.remove(i)
	}
	emit(s, step{act: bounces, member: i})
}

// crash ends a process that consumes; the coordinator learns it from the end of its session.
func (m *Model) crash(s state, i int, emit emitter) {
	if s.left.Crashes == 0 || s.procs[i].phase != stable {
		return
	}
	s.left.Crashes--
	s.procs[i] = process{kind: s.procs[i].kind}
	emit(s, step{act: crashes, member: i})
}

// bury ends the session of a process that is dead.
func (m *Model) bury(s state, i int, emit emitter) {
	if s.entries[i].in {
		s.remove(i)
		emit(s, step{act: buries, member: i})
	}
}

// restart brings a dead process back. A dynamic member comes back as a new one; that it might do so before the session of the
// old one ends is a fourth member, and not in the model.
func (m *Model) restart(s state, i int, emit emitter) {
	if s.entries[i].in && !m.Static[i] {
		return
	}
	s.procs[i] = process{kind: s.procs[i].kind, alive: true}
	emit(s, step{act: restarts, member: i})
}

// expel ends the session of a process that lives: it was paused, or cut off.
func (m *Model) expel(s state, i int, emit emitter) {
	if s.left.Expelled == 0 || !s.entries[i].in {
		return
	}
	s.left.Expelled--
	s.remove(i)
	emit(s, step{act: expels, member: i})
}

// lose takes away the answer to a JoinGroup.
func (m *Model) lose(s state, i int, emit emitter) {
	if s.left.Lost == 0 || s.procs[i].phase != joined || s.forgotten(i) {
		return
	}
	s.left.Lost--
	s.procs[i].phase = unsure
	emit(s, step{act: loses, member: i})
}

// failOver is a new coordinator, which knows what was persisted when the group settled.
func (m *Model) failOver(s state, emit emitter) {
	if s.round != settled || s.left.Failovers == 0 {
		return
	}
	s.left.Failovers--
	for i := range s.entries {
		e := &s.entries[i]
		if !e.in || !m.Forgets {
			continue
		}
		e.first, e.offers, e.admits = s.chosen, s.chosen, s.chosen
	}
	emit(s, step{act: failsOver})
}

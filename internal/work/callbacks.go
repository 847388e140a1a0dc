package work

import "time"

func (m *Machine) assigned(in Assigned) {
	m.generation = in.Generation
	for _, tp := range in.Partitions {
		m.partitions[tp] = new(partition)
	}
	m.callback = &callback{gives: set(nil)}
}

// revoked partitions are committed before they go, and with them all that is in the transaction. One that has nothing of them is not touched.
func (m *Machine) revoked(in Revoked) {
	m.generation = in.Generation
	m.pass(in.Passed)
	m.callback = &callback{gives: set(in.Partitions), until: in.Until}
}

// gone partitions may be another's: a transaction that has progress of them is aborted, whatever else is in it.
func (m *Machine) gone(now time.Time, in Gone) {
	m.callback = &callback{gives: set(in.Partitions), until: in.Until, lost: true}
	if m.aborting == nil && len(m.progress(m.callback.gives)) > 0 {
		m.giveUp(Lost, nil)
	}
}

func set(list []Partition) map[Partition]bool {
	all := make(map[Partition]bool, len(list))
	for _, tp := range list {
		all[tp] = true
	}
	return all
}

// inCallback is what is left to be done before a callback may return. Nothing waits in it.
func (m *Machine) inCallback(now time.Time) Output {
	switch {
	case m.aborting != nil:
		return m.abort(now)
	case len(m.back) > 0:
		return Output{Act: Rewind, Back: sorted(m.back)}
	case !m.callback.lost && !m.stale && len(m.progress(m.callback.gives)) > 0:
		return m.commit(now)
	}
	return m.release()
}

// release gives partitions up. None of them has progress that could be committed later, in the name of a generation in which it is another's.
func (m *Machine) release() Output {
	for tp := range m.callback.gives {
		p := m.partitions[tp]
		if p == nil {
			continue
		}
		m.pending -= p.pending
		delete(m.partitions, tp)
	}
	for at := range m.marks {
		if m.callback.gives[at.Partition] {
			delete(m.marks, at)
		}
	}
	m.callback = nil
	return Output{Act: Release}
}

package work

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

func (m *Machine) polled(now time.Time, in Polled) {
	m.generation = in.Generation
	for _, b := range in.Batches {
		p := m.partitions[b.Partition]
		if p == nil {
			panic(fmt.Sprintf("records of %s were polled, which is not owned", b.Partition))
		}
		p.pending += b.Records
		m.pending += b.Records
	}
	m.pass(in.Passed)
	if in.Err != nil {
		m.why = cmp.Or(m.why, in.Err)
		if !m.quitting {
			m.quitting, m.quit = true, now.Add(m.cfg.Timeout)
		}
	}
}

// pass takes progress without records. What is being committed is not added to: it may be there already. A partition that has yet to go back is
// past records which are not done.
func (m *Machine) pass(list []Reached) {
	if m.moved != nil || m.txn.retries > 0 || m.stale || m.aborting != nil {
		return
	}
	for _, r := range list {
		if p := m.partitions[r.Partition]; p != nil && p.pending == 0 && !m.back[r.Partition] {
			p.reached = &r.Offset
		}
	}
}

func (m *Machine) processed(now time.Time, in Processed) {
	switch in.Outcome {
	case Done:
		m.reached(in)
	case Poison:
		m.poisoned(now, in)
	case Late:
		m.late(now, in.Err)
	case BrokenOff:
		reason := Lost
		if m.quitting {
			reason = Halted
		}
		m.giveUp(reason, in.Err)
	default:
		m.refused(now, in.Outcome, in.Err)
	}
}

func (m *Machine) reached(in Processed) {
	for _, r := range in.Reached {
		m.partitions[r.Partition].reached = &r.Offset
	}
	for _, c := range in.Records {
		m.partitions[c.Partition].pending -= c.Records
		m.pending -= c.Records
		m.txn.records += c.Records
	}
}

// late has smaller transactions tried, until there is nothing to make smaller: one record that is late again and again.
func (m *Machine) late(now time.Time, err error) {
	records := m.txn.records + m.last.Records
	m.giveUp(TooLong, err)
	m.limit = max(records/2, 1)
	if m.lates++; records > 1 {
		m.lates = 0
	}
	if m.lates == latesMax {
		m.end = cmp.Or(err, errLate)
	}
}

// latesMax is how often in a row one record may be too late: whatever holds it up may pass.
const latesMax = 3

var errLate = errors.New("processing one record takes longer than a transaction may")

// refused is what a producer has not done.
func (m *Machine) refused(now time.Time, how Outcome, err error) {
	if m.txn.begun && !now.Before(m.txn.since.Add(m.cfg.Timeout)) && m.txn.records > 0 {
		m.limit = max(m.txn.records/2, 1)
	}
	switch how {
	case Hopeless:
		m.end = cmp.Or(err, errHopeless)
		m.giveUp(Failed, err)
		return
	case Fatal:
		m.replace(now, IsAborted, err)
	case Unknown:
		m.replace(now, IsUnknown, err)
	default:
		m.giveUp(Refused, err)
	}
	m.fails++
	if m.fails > 1 {
		m.pause = now.Add(m.cfg.backoff(m.fails - 1))
	}
}

var errHopeless = errors.New("the loop cannot go on")

func (m *Machine) committed(now time.Time, in Committed) {
	m.generation = in.Generation
	m.txn.undecided = in.Outcome == Again || in.Outcome == NotOwned && m.txn.undecided
	switch in.Outcome {
	case Done:
		m.settled(now)
	case GroupMoved:
		m.hasMoved(now, in)
	case NotOwned:
		m.giveUp(Lost, in.Err)
	case Again:
		if m.exhausted(now) {
			m.refused(now, Unknown, in.Err)
		}
	default:
		m.refused(now, in.Outcome, in.Err)
	}
}

// hasMoved: in a callback nothing can be waited for, and the generation is that of now.
func (m *Machine) hasMoved(now time.Time, in Committed) {
	if m.callback != nil {
		m.giveUp(Moved, in.Err)
		return
	}
	until := now.Add(m.cfg.Timeout)
	if m.moved != nil {
		until = m.moved.until
	} else if m.txn.begun {
		until = m.txn.since.Add(m.cfg.Timeout)
	}
	m.moved = &moved{tried: in.Used, until: until, err: in.Err}
}

// exhausted says that an act has been tried for long enough. What a callback has to do is not tried for ever, whatever its end.
func (m *Machine) exhausted(now time.Time) bool {
	t := &m.txn
	t.retries++
	if t.retries == 1 {
		t.until = now.Add(m.cfg.Timeout)
	}
	if m.callback != nil {
		return t.retries > 2 || !now.Before(m.callback.until)
	}
	t.retry = now.Add(m.cfg.backoff(t.retries))
	return !now.Before(t.until)
}

// settled: the group has it.
func (m *Machine) settled(now time.Time) {
	m.ended = &Ended{End: IsCommitted, Records: m.txn.records, Since: m.txn.since, Offsets: m.txn.offsets}
	for _, r := range m.txn.offsets {
		m.partitions[r.Partition].reached = nil
		for at := range m.marks {
			if at.Partition == r.Partition && at.At < r.At {
				delete(m.marks, at)
			}
		}
	}
	if m.limit > 0 && now.Sub(m.txn.since) < m.cfg.Timeout/4 {
		m.limit *= 2
	}
	if m.limit > 1<<16 {
		m.limit = 0
	}
	m.txn, m.moved, m.fails, m.lates = transaction{}, nil, 0, 0
}

func (m *Machine) aborted(now time.Time, in Aborted) {
	switch in.Outcome {
	case Done:
		end := IsAborted
		if in.Partly {
			end = IsUnknown
		}
		m.undo(end)
	case Again:
		if m.exhausted(now) {
			m.replace(now, IsAborted, in.Err)
		}
	case Hopeless:
		m.end = cmp.Or(m.end, in.Err, errHopeless)
		m.replace(now, IsAborted, in.Err)
	default:
		m.replace(now, IsAborted, in.Err)
	}
}

func (m *Machine) renewed(now time.Time, in Renewed) {
	switch in.Outcome {
	case Done:
		m.stale, m.renewals = false, 0
	case Hopeless:
		m.end = cmp.Or(in.Err, errHopeless)
	default:
		m.renewals++
		m.pause = now.Add(m.cfg.backoff(m.renewals))
	}
}

// giveUp has the transaction aborted, if it is begun.
func (m *Machine) giveUp(why Reason, err error) {
	m.aborting = &Ended{Reason: why, Err: err}
	m.moved = nil
	m.txn.retries, m.txn.retry, m.txn.until = 0, time.Time{}, time.Time{}
}

// replace ends the transaction without a word to the broker: the next producer of the same transactional id does that.
func (m *Machine) replace(now time.Time, end End, err error) {
	if m.aborting == nil {
		m.giveUp(Refused, err)
	}
	m.stale = true
	m.undo(end)
}

// undo forgets all that was handed out and is not committed, and has it handed out again.
func (m *Machine) undo(end End) {
	if m.txn.begun {
		m.aborting.End, m.aborting.Records, m.aborting.Since = end, m.txn.records, m.txn.since
		m.aborting.Offsets = m.progress(nil)
		m.ended = m.aborting
	}
	for tp, p := range m.partitions {
		if p.pending == 0 && p.reached == nil {
			continue
		}
		p.pending, p.reached = 0, nil
		if m.callback == nil || !m.callback.gives[tp] {
			m.back[tp] = true
		}
	}
	m.pending, m.txn, m.aborting = 0, transaction{}, nil
}

// hurry ends what is waited for when the time to quit is over.
func (m *Machine) hurry(now time.Time) {
	if !m.quitting || now.Before(m.quit) || !m.dirty() {
		return
	}
	switch {
	case m.aborting != nil && m.txn.retries > 0:
		m.replace(now, IsAborted, nil)
	case m.aborting != nil:
	case m.txn.retries > 0:
		m.giveUp(Halted, nil)
		m.replace(now, IsUnknown, nil)
	default:
		m.giveUp(Halted, nil)
	}
}

// poisoned counts what a record has cost. One that is skipped already and comes again was never in the batch.
func (m *Machine) poisoned(now time.Time, in Processed) {
	m.giveUp(Poisoned, in.Err)
	tries := 0
	for _, at := range in.Marks {
		k := m.marks[at]
		if k == nil {
			k = new(mark)
			m.marks[at] = k
		}
		k.tries++
		switch {
		case m.cfg.Retries < 0 || k.tries <= m.cfg.Retries:
			tries = max(tries, k.tries)
		case m.cfg.Skip && !k.skip:
			k.skip = true
		default:
			m.end = cmp.Or(in.Err, errHopeless)
		}
	}
	if tries > 0 {
		m.pause = now.Add(m.cfg.backoff(tries))
	}
}

func (m *Machine) skips() (list []Mark) {
	for at, k := range m.marks {
		if k.skip {
			list = append(list, at)
		}
	}
	slices.SortFunc(list, func(a, b Mark) int { return cmp.Or(a.Partition.Compare(b.Partition), cmp.Compare(a.At, b.At)) })
	return list
}

package work

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// Machine is the loop's state. It belongs to one goroutine.
type Machine struct {
	cfg        Config
	partitions map[Partition]*partition
	generation int32
	pending    int // records that were polled and not processed
	limit      int // of the records of a transaction, after one that took too long; 0 is none
	txn        transaction
	marks      map[Mark]*mark
	fails      int       // transactions in a row that were not committed for a reason that may come again
	lates      int       // transactions of one record in a row that took too long
	pause      time.Time // nothing is processed before that
	last       Output    // the act that is under way

	callback *callback
	aborting *Ended // the transaction is to be aborted
	stale    bool   // the producer is to be replaced
	renewals int    // that failed in a row
	back     map[Partition]bool
	moved    *moved

	quitting bool // no record is processed any more: what there is is committed
	quit     time.Time
	why      error  // of a quit that nobody has asked for
	end      error  // the loop ends without committing anything
	ended    *Ended // to be told with the next output
}

// partition is one that is owned.
type partition struct {
	pending int
	reached *Offset // progress that is not committed
}

// transaction is what is not committed yet. It is begun when the producer has begun one; progress without records needs none.
type transaction struct {
	begun   bool
	since   time.Time
	records int
	retries int       // of the same act
	retry   time.Time // not before that
	until   time.Time // nor after that
	offsets []Reached // that were sent last
	// tried is that a commit was asked for, and undecided that it has ended without saying whether it was carried out: what the producer
	// has open then may be committed already, and it takes no Abort.
	tried, undecided bool
}

type mark struct {
	tries int
	skip  bool
}

// callback is one that waits for Release.
type callback struct {
	gives map[Partition]bool // the partitions that are gone when it returns
	until time.Time
	lost  bool
}

// moved is that the group has another generation than the one that was tried.
type moved struct {
	tried int32
	until time.Time
	err   error
}

// New is a machine that owns nothing yet, and has no producer: the first act is to make one.
func New(cfg Config) *Machine {
	return &Machine{
		cfg: cfg.withDefaults(), generation: -1, stale: true,
		partitions: map[Partition]*partition{}, marks: map[Mark]*mark{}, back: map[Partition]bool{},
	}
}

// Step takes what has happened and returns what is to be done. An answer that nobody has asked for is a broken invariant.
func (m *Machine) Step(now time.Time, in Input) Output {
	switch in := in.(type) {
	case Quit:
		m.quitting, m.quit = true, in.Until
		return Output{}
	case Begun:
	case Assigned:
		m.assigned(in)
	case Revoked:
		m.revoked(in)
	case Gone:
		m.gone(now, in)
	default:
		m.answered(now, in)
	}
	out := m.next(now)
	out.Ended, m.ended = m.ended, nil
	m.last = out
	return out
}

func (m *Machine) answered(now time.Time, in Input) {
	switch in := in.(type) {
	case Polled:
		m.isAnswer(in, Poll, Release)
		m.polled(now, in)
	case Processed:
		m.isAnswer(in, Process)
		m.processed(now, in)
	case Committed:
		m.isAnswer(in, Commit)
		m.committed(now, in)
	case Aborted:
		m.isAnswer(in, Abort)
		m.aborted(now, in)
	case Rewound:
		m.isAnswer(in, Rewind)
		clear(m.back)
	case Renewed:
		m.isAnswer(in, Renew)
		m.renewed(now, in)
	}
}

func (m *Machine) isAnswer(in Input, acts ...Act) {
	if !slices.Contains(acts, m.last.Act) {
		panic(fmt.Sprintf("%s was asked for, and %T answered", m.last.Act, in))
	}
}

// next is the first thing that is to be done, in this order.
func (m *Machine) next(now time.Time) Output {
	if m.callback != nil {
		return m.inCallback(now)
	}
	m.hurry(now)
	switch {
	case now.Before(m.txn.retry):
		return m.hold(now)
	case m.aborting != nil:
		return m.abort(now)
	case m.end != nil:
		return Output{Act: Stop, Err: m.end}
	case m.quitting && !m.dirty():
		return Output{Act: Stop, Err: m.why}
	case m.stale && now.Before(m.pause):
		return m.hold(now)
	case m.stale:
		return Output{Act: Renew, Until: now.Add(m.cfg.Renew)}
	case len(m.back) > 0:
		return Output{Act: Rewind, Back: sorted(m.back)}
	case m.waits(now):
		return m.hold(now)
	case m.due(now):
		return m.commit(now)
	case now.Before(m.pause):
		return m.hold(now)
	case m.pending > 0:
		return m.process(now)
	}
	return m.poll(now)
}

// dirty says that there is something to commit.
func (m *Machine) dirty() bool {
	if m.txn.begun {
		return true
	}
	for _, p := range m.partitions {
		if p.reached != nil {
			return true
		}
	}
	return false
}

// due says that the transaction is to be committed now: in the other cases more records may come into it.
func (m *Machine) due(now time.Time) bool {
	switch {
	case !m.dirty():
		return false
	case m.quitting, m.moved != nil, m.txn.retries > 0:
		return true
	case !m.txn.begun:
		return m.pending == 0 && !now.Before(m.pause)
	}
	return m.cfg.Interval < 0 || !now.Before(m.txn.since.Add(m.cfg.Interval)) || m.room() == 0
}

// room is how many more records the transaction takes.
func (m *Machine) room() int {
	room := m.pending + 1
	for _, bound := range []int{m.cfg.Records, m.limit} {
		if bound > 0 {
			room = min(room, max(bound-m.txn.records, 0))
		}
	}
	return room
}

// waits for the end of the rebalance which has taken the generation that was tried.
func (m *Machine) waits(now time.Time) bool {
	return m.moved != nil && m.generation == m.moved.tried && now.Before(m.moved.until)
}

func (m *Machine) process(now time.Time) Output {
	out := Output{Act: Process, Begin: !m.txn.begun, Records: min(m.pending, m.room()), Skip: m.skips()}
	if out.Begin {
		m.txn = transaction{begun: true, since: now}
	}
	out.Until = m.txn.since.Add(m.cfg.Timeout)
	return out
}

func (m *Machine) commit(now time.Time) Output {
	if m.moved != nil && m.generation == m.moved.tried && m.callback == nil {
		m.giveUp(Moved, m.moved.err)
		return m.next(now)
	}
	m.txn.offsets, m.txn.tried = m.progress(nil), true
	return Output{Act: Commit, Offsets: m.txn.offsets, Until: m.patience(now)}
}

func (m *Machine) abort(now time.Time) Output {
	switch {
	case m.txn.undecided:
		m.replace(now, IsUnknown, m.aborting.Err)
		return m.next(now)
	case !m.txn.begun && !m.txn.tried:
		m.undo(IsAborted)
		return m.next(now)
	}
	return Output{Act: Abort, Until: m.patience(now)}
}

// patience is until when an act may take.
func (m *Machine) patience(now time.Time) time.Time {
	until := now.Add(m.cfg.Timeout)
	if m.callback != nil && !m.callback.until.IsZero() && m.callback.until.Before(until) {
		until = m.callback.until
	}
	if m.quitting && m.quit.Before(until) {
		until = m.quit
	}
	return until
}

// hold waits without records.
func (m *Machine) hold(now time.Time) Output {
	until := time.Time{}
	ends := []time.Time{m.txn.retry, m.pause}
	if m.moved != nil {
		ends = append(ends, m.moved.until)
	}
	for _, at := range ends {
		if at.After(now) && (until.IsZero() || at.Before(until)) {
			until = at
		}
	}
	if m.quitting && m.quit.Before(until) {
		until = m.quit
	}
	return Output{Act: Poll, Hold: true, Until: until}
}

// poll waits for records until something is due.
func (m *Machine) poll(now time.Time) Output {
	if m.txn.begun {
		return Output{Act: Poll, Until: m.txn.since.Add(m.cfg.Interval)}
	}
	return Output{Act: Poll, Until: now.Add(m.cfg.Look)}
}

// progress is what is not committed, of the partitions in only, or of all, in order.
func (m *Machine) progress(only map[Partition]bool) (list []Reached) {
	for tp, p := range m.partitions {
		if p.reached != nil && (only == nil || only[tp]) {
			list = append(list, Reached{tp, *p.reached})
		}
	}
	slices.SortFunc(list, func(a, b Reached) int { return a.Partition.Compare(b.Partition) })
	return list
}

func sorted(set map[Partition]bool) []Partition {
	return slices.SortedFunc(maps.Keys(set), Partition.Compare)
}

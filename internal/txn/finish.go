package txn

import (
	"log/slog"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Decided transactions that miss markers are tried again after these times, the second twice as long as the first.
const (
	retryFirst = 100 * time.Millisecond
	retryMost  = 10 * time.Second
)

// due is called when a time of t has come: its transaction is out of time, nobody has answered an ask, or, most often, it
// ended long ago.
func (m *Machine) due(t *transaction) {
	if t.state == kmsg.TransactionStateOngoing || t.decided() {
		m.ask(t, t.value, 0)
	}
}

// ask wants v, an open transaction that is out of time or a decided one, to be finished.
func (m *Machine) ask(t *transaction, v value, after time.Duration) {
	m.out.Asks = append(m.out.Asks, Ask{
		TransactionalID: t.id, ProducerID: v.ProducerID, Epoch: v.Epoch, Partitions: v.partitions,
		Abort: v.state == kmsg.TransactionStateOngoing, After: after,
	})
	m.timers.Set(&t.timer, m.now.Add(after+max(m.settings.AbortCheck, time.Second)))
}

// askAgain is ask, later each time.
func (m *Machine) askAgain(t *transaction, v value) {
	m.ask(t, v, min(retryFirst<<min(t.asks, 10), retryMost))
	t.asks++
}

// finishTransaction takes the answer to an ask. It may be late, or come twice: what it names may be over.
func (m *Machine) finishTransaction(in *Finish) any {
	t := m.transactions[in.TransactionalID]
	switch {
	case !t.born() || t.identity != identity{in.ProducerID, in.Epoch}:
	case t.decided():
		m.goOn(t, &in.Ends)
	case t.state == kmsg.TransactionStateOngoing && !m.now.Before(t.deadline()):
		if t.exhausted() && in.NewProducerID < 0 {
			return NeedProducerID{}
		}
		m.timeOut(t, &in.Ends)
	}
	return nil
}

// goOn writes markers that are missing (R-E8).
func (m *Machine) goOn(t *transaction, e *Ends) {
	v := t.changed(m.now)
	missing := m.mark(t, &v, e)
	switch {
	case len(missing) == 0:
		m.complete(t, &t.value)
	case len(missing) == len(t.partitions):
		m.askAgain(t, t.value)
	default:
		v.partitions = missing
		m.decide(t, v)
		m.askAgain(t, v)
	}
}

// timeOut aborts a transaction whose time is up. Its owner may still abort it and go on, with the epoch that the markers
// have (R-K25).
func (m *Machine) timeOut(t *transaction, e *Ends) {
	m.note(slog.LevelInfo, "a transaction is aborted, since it is out of time", slog.String("transactional id", t.id),
		slog.Int64("producer id", t.ProducerID), slog.Int("epoch", int(t.Epoch)), slog.Duration("timeout", t.timeout))
	m.conclude(t, outcome{raise: true, last: t.Epoch, version: m.version(), timedOut: true, next: e.NewProducerID}, e)
}

// reach answers Reach.
func (m *Machine) reach(id string) Reached {
	t := m.transactions[id]
	if !t.born() {
		return Reached{ProducerID: noProducerID, Epoch: noEpoch}
	}
	return t.reach()
}

func (t *transaction) reach() Reached {
	return Reached{ProducerID: t.ProducerID, Epoch: t.Epoch, Partitions: t.partitions}
}

// unended answers Unended.
func (m *Machine) unended() (all []Reached) {
	for _, t := range m.sorted() {
		if t.state == kmsg.TransactionStateOngoing || t.decided() {
			all = append(all, t.reach())
		}
	}
	return all
}

// expire forgets ids that nobody has used for long (R-E10, FR-H12).
func (m *Machine) expire() {
	before := m.now.Add(-m.settings.Expiration).UnixMilli()
	var ids []string
	for id, t := range m.transactions {
		if t.born() && t.state != kmsg.TransactionStateOngoing && !t.decided() && t.updated <= before {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		m.out.Records = append(m.out.Records, tombstone(id))
	}
	m.totals.Expired += int64(len(ids))
	m.timers.Set(&m.check, m.now.Add(max(m.settings.ExpiryCheck, time.Millisecond)))
}

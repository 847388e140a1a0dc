package txn

import (
	"log/slog"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/machine"
)

// endRaises is the first version of EndTxn after which the producer has another epoch (KIP-890).
const endRaises = 5

// Raises says whether the producer has another epoch after the end, and markers that one.
func (in *End) Raises() bool { return in.Version >= endRaises }

// end answers EndTxn (R-E7).
func (m *Machine) end(in *End) any {
	t, p := m.transactions[in.TransactionalID], identity{in.ProducerID, in.Epoch}
	switch {
	case in.TransactionalID == "":
		return endRefused(kerr.InvalidRequest.Code)
	case !t.born():
		return endRefused(kerr.InvalidProducerIDMapping.Code)
	case in.Raises():
		return m.endRaising(t, in, p)
	}
	return m.endPlain(t, in, p)
}

// endPlain is EndTxn up to version 4. A retry cannot be told from the end of the next transaction, but by the connection.
func (m *Machine) endPlain(t *transaction, in *End, p identity) any {
	same := in.Commit == t.commits()
	switch {
	case p.ProducerID != t.ProducerID:
		return endRefused(kerr.InvalidProducerIDMapping.Code)
	case p.Epoch != t.Epoch:
		return endRefused(fenced(in.Version, endFenced))
	case m.late(t, in.Caller, control):
		return Ended{Code: kerr.InvalidTxnState.Code, Late: true, ProducerID: noProducerID, Epoch: noEpoch}
	case t.state == kmsg.TransactionStateOngoing:
		v := m.conclude(t, outcome{commit: in.Commit, last: noEpoch, next: noProducerID}, &in.Ends)
		return Ended{ProducerID: v.ProducerID, Epoch: v.Epoch}
	case t.decided() && same:
		return endRefused(kerr.ConcurrentTransactions.Code)
	case t.ended() && same:
		return Ended{ProducerID: t.ProducerID, Epoch: t.Epoch}
	}
	return endRefused(kerr.InvalidTxnState.Code)
}

// endRaising is EndTxn from version 5 on. The current epoch ends the transaction that is open; where none is, an abort is
// fine and a commit is not (R-K24). The epoch before is a retry, of which the answer may be lost (T35).
func (m *Machine) endRaising(t *transaction, in *End, p identity) any {
	switch {
	case t.decided():
		return t.endAgain(in.Commit, t.retries(p))
	case p == t.identity:
		return m.endNow(t, in)
	case t.ended() && t.retries(p):
		return t.endAgain(in.Commit, true)
	case p.ProducerID != t.ProducerID:
		return endRefused(kerr.InvalidProducerIDMapping.Code)
	}
	return endRefused(kerr.ProducerFenced.Code)
}

// endNow is an end by who the producer is now.
func (m *Machine) endNow(t *transaction, in *End) any {
	switch {
	case in.Commit && t.state != kmsg.TransactionStateOngoing:
		return endRefused(kerr.InvalidTxnState.Code)
	case t.exhausted() && in.NewProducerID < 0:
		return NeedProducerID{}
	}
	v := m.conclude(t, outcome{commit: in.Commit, raise: true, last: t.Epoch, version: 2, next: in.NewProducerID}, &in.Ends)
	p := v.goesOn()
	return Ended{ProducerID: p.ProducerID, Epoch: p.Epoch}
}

// endAgain answers an end of a transaction that has an outcome. retry: it comes from who was the producer then.
func (t *transaction) endAgain(commit, retry bool) Ended {
	switch {
	case retry && commit && t.timedOut:
		// The abort was the coordinator's. INVALID_TXN_STATE would tell the client that it is out of order itself (FR-H15).
		return endRefused(kerr.ProducerFenced.Code)
	case retry && commit != t.commits():
		return endRefused(kerr.InvalidTxnState.Code)
	case t.decided():
		return endRefused(kerr.ConcurrentTransactions.Code)
	}
	return Ended{ProducerID: t.ProducerID, Epoch: t.Epoch}
}

func endRefused(code int16) Ended { return Ended{Code: code, ProducerID: noProducerID, Epoch: noEpoch} }

// conclude gives the transaction of t an outcome and returns its state then: completed, or decided when a partition takes no
// marker now.
func (m *Machine) conclude(t *transaction, o outcome, e *Ends) value {
	m.countEnd(o)
	v := t.prepared(m.now, o)
	missing := m.mark(t, &v, e)
	if len(missing) > 0 {
		v.partitions = missing
		m.decide(t, v)
		t.asks = 0
		m.askAgain(t, v)
		return v
	}
	m.decide(t, v)
	return m.complete(t, &v)
}

// complete ends a decided transaction that needs no more markers.
func (m *Machine) complete(t *transaction, v *value) value {
	after := v.completed(m.now)
	m.decide(t, after)
	return after
}

func (m *Machine) countEnd(o outcome) {
	switch {
	case o.commit:
		m.totals.Committed++
	default:
		m.totals.Aborted++
	}
	if o.timedOut {
		m.totals.TimedOut++
	}
}

// mark writes the markers of a decided v where they can be written, and returns the partitions that still miss one.
func (m *Machine) mark(t *transaction, v *value, e *Ends) (missing []Partition) {
	gone, left := split(v.partitions, e.Gone)
	missing, reached := split(left, e.Unreachable)
	producer := machine.Producer{Transactional: true, ID: v.ProducerID, Epoch: v.Epoch}
	marker := &machine.Marker{Commit: v.commits(), CoordinatorEpoch: max(m.settings.CoordinatorEpoch, e.CoordinatorEpoch)}
	m.out.Group = slices.Grow(m.out.Group, len(reached))
	for _, p := range reached {
		m.out.Group = append(m.out.Group, machine.Write{Topic: p.Topic, Partition: p.Partition, Producer: producer, Marker: marker})
	}
	if len(gone) > 0 {
		m.note(slog.LevelWarn, "a transaction ends without partitions that are gone", slog.String("transactional id", t.id),
			slog.Int64("producer id", v.ProducerID), slog.Any("partitions", gone)) // FR-H28
	}
	return missing
}

package txn

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// addEarly is the last version of AddPartitionsToTxn that clients send; later ones are for brokers, which speak for many
// clients over one connection.
const addEarly = 3

// add answers AddPartitionsToTxn and AddOffsetsToTxn (R-E6). The order of its checks is Kafka's (R-K23). Groups play no part
// in it (R-E14, FR-H18).
func (m *Machine) add(in *Add) Added {
	t := m.transactions[in.TransactionalID]
	if in.VerifyOnly && t.born() {
		return m.verify(t, in)
	}
	switch {
	case in.TransactionalID == "":
		return Added{Code: kerr.InvalidRequest.Code}
	case !t.born():
		return Added{Code: kerr.InvalidProducerIDMapping.Code}
	case t.decided():
		return Added{Code: kerr.ConcurrentTransactions.Code}
	case in.ProducerID != t.ProducerID:
		return Added{Code: kerr.InvalidProducerIDMapping.Code}
	case in.Epoch != t.Epoch:
		return Added{Code: in.stale()}
	case in.early() && m.late(t, in.Caller, control):
		return addedLate()
	}
	m.open(t, in)
	return Added{}
}

// open brings partitions into the transaction of t. One without any is open, too (R-K23).
func (m *Machine) open(t *transaction, in *Add) {
	isOpen := t.state == kmsg.TransactionStateOngoing
	if isOpen && containsAll(t.partitions, in.Partitions) {
		return
	}
	version := int16(0)
	if in.Implicit {
		version = 2
	}
	v := t.adding(m.now, union(t.partitions, in.Partitions), version)
	m.decide(t, v)
	if !isOpen {
		m.timers.Set(&t.timer, v.deadline())
	}
}

// early: the request is a client's own, and of a protocol whose epochs outlive a transaction.
func (in *Add) early() bool {
	return !in.Implicit && (in.Offsets || in.Version <= addEarly)
}

// lane is that of a Produce or TxnOffsetCommit.
func (in *Add) lane() lane {
	if in.Offsets {
		return offsets
	}
	return batches
}

func addedLate() Added { return Added{Code: kerr.InvalidTxnState.Code, Late: true} }

func (in *Add) stale() int16 {
	if in.Implicit {
		return kerr.InvalidProducerEpoch.Code
	}
	return fenced(in.Version, addFenced)
}

// verify says for each partition whether it is in the transaction (R-E12).
func (m *Machine) verify(t *transaction, in *Add) Added {
	switch {
	case in.ProducerID != t.ProducerID:
		return Added{Code: kerr.InvalidProducerIDMapping.Code}
	case in.Epoch != t.Epoch:
		return Added{Code: in.stale()}
	case in.Implicit && m.late(t, in.Caller, in.lane()):
		return addedLate()
	case t.decided():
		return Added{Code: kerr.ConcurrentTransactions.Code}
	}
	codes := make([]int16, len(in.Partitions))
	for i, p := range in.Partitions {
		if !contains(t.partitions, p) {
			codes[i] = kerr.TransactionAbortable.Code
		}
	}
	return Added{Codes: codes}
}

package storage

import (
	"github.com/skeinstream/skein/broker/internal/record"
)

// cleanTxns follows the transactions while a cleaning reads a log from its start,
// batch by batch. It tells which batches belong to aborted transactions, and when
// a marker has no data left that needs it.
type cleanTxns struct {
	aborted []AbortedTxn // still to come, by first offset
	// ongoing are the aborted transactions between their first offset and their
	// marker, by producer; seen says that a batch of theirs is still in the log.
	ongoing map[int64]*abortedSeen
	// committed are the producers with batches of a transaction that is to be
	// committed.
	committed map[int64]bool
}

type abortedSeen struct {
	txn  AbortedTxn
	seen bool
}

// newCleanTxns starts with the aborted transactions that touch the part of the
// log that will be read, by first offset.
func newCleanTxns(aborted []AbortedTxn) *cleanTxns {
	return &cleanTxns{aborted: aborted, ongoing: map[int64]*abortedSeen{}, committed: map[int64]bool{}}
}

// begin takes in the aborted transactions that have begun at offset or before.
func (t *cleanTxns) begin(offset int64) {
	for len(t.aborted) > 0 && t.aborted[0].FirstOffset <= offset {
		txn := t.aborted[0]
		t.ongoing[txn.ProducerID] = &abortedSeen{txn: txn}
		t.aborted = t.aborted[1:]
	}
}

// data takes in a data batch and reports whether its transaction was aborted.
func (t *cleanTxns) data(h record.Header) (aborted bool) {
	t.begin(h.LastOffset())
	if !h.Transactional() {
		return false
	}
	if ongoing := t.ongoing[h.ProducerID]; ongoing != nil {
		ongoing.seen = true
		return true
	}
	t.committed[h.ProducerID] = true
	return false
}

// marker takes in a control batch. It reports whether nothing needs the batch any
// more: it is empty already, or no batch of its transaction was met. abort is the
// transaction that the marker aborts, which readers still have to be told of as
// long as there is a batch of it.
func (t *cleanTxns) marker(b record.Batch, h record.Header) (idle bool, abort *AbortedTxn) {
	t.begin(h.LastOffset())
	if h.Count == 0 {
		return true, nil
	}
	kind, _, ok := record.ParseMarker(b)
	switch {
	case !ok:
		return false, nil // of a kind that we do not know
	case kind == record.Abort:
		ongoing := t.ongoing[h.ProducerID]
		delete(t.ongoing, h.ProducerID)
		if ongoing == nil || !ongoing.seen {
			return true, nil
		}
		return false, &ongoing.txn
	default:
		met := t.committed[h.ProducerID]
		delete(t.committed, h.ProducerID)
		return !met, nil
	}
}

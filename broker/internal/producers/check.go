package producers

import (
	"fmt"

	"github.com/skeinstream/skein/broker/internal/record"
	"github.com/twmb/franz-go/pkg/kerr"
)

// Verdict says what a batch is that may be answered without an error.
type Verdict struct {
	// Duplicate: the batch is already in the log, or on its way there. It is not
	// appended again; the answer carries the offset and timestamp of Original, and
	// only after that is durable.
	Duplicate bool
	Original  Batch
}

// Check decides on a data batch of a client. The error is a *record.Refusal with
// the code of the Produce response: INVALID_PRODUCER_EPOCH, never PRODUCER_FENCED
// (T16), OUT_OF_ORDER_SEQUENCE_NUMBER or INVALID_TXN_STATE.
func (e Entry) Check(h record.Header) (Verdict, error) {
	if b, ok := e.duplicate(h); ok {
		return Verdict{Duplicate: true, Original: b}, nil
	}
	if err := e.CheckEpoch(h.ProducerEpoch); err != nil {
		return Verdict{}, err
	}
	if err := e.checkSequence(h); err != nil {
		return Verdict{}, err
	}
	if e.InTransaction() && !h.Transactional() {
		return Verdict{}, refuse(kerr.InvalidTxnState, "producer %d has an open transaction, the batch is not transactional", e.ProducerID)
	}
	return Verdict{}, nil
}

// duplicate finds the batch with exactly h's epoch and sequences.
func (e *Entry) duplicate(h record.Header) (Batch, bool) {
	if h.ProducerEpoch != e.Epoch {
		return Batch{}, false
	}
	for _, b := range e.batches[:e.count] {
		if b.LastSequence == h.LastSequence() && b.FirstSequence() == h.BaseSequence {
			return b, true
		}
	}
	return Batch{}, false
}

// CheckEpoch decides on the epoch alone, as for batches of the coordinators,
// which have no sequences.
func (e Entry) CheckEpoch(epoch int16) error {
	if epoch < e.Epoch {
		return refuse(kerr.InvalidProducerEpoch, "epoch %d of producer %d is older than %d", epoch, e.ProducerID, e.Epoch)
	}
	return nil
}

// checkSequence wants the sequence after the last one, 0 in a new epoch, and
// takes any from a producer that is not known: its records may have been deleted.
func (e *Entry) checkSequence(h record.Header) error {
	if !e.Known() {
		return nil
	}
	want := int32(0)
	if h.ProducerEpoch == e.Epoch {
		want = record.AddSequence(e.LastSequence(), 1)
	}
	if h.BaseSequence != want {
		return refuse(kerr.OutOfOrderSequenceNumber, "sequence %d of producer %d at epoch %d, expected %d",
			h.BaseSequence, e.ProducerID, h.ProducerEpoch, want)
	}
	return nil
}

// CheckMarker decides on a transaction marker that a coordinator wants written.
// The error is a *record.Refusal: INVALID_PRODUCER_EPOCH or
// TRANSACTION_COORDINATOR_FENCED.
func (e Entry) CheckMarker(m Marker) error {
	if err := e.CheckEpoch(m.Epoch); err != nil {
		return err
	}
	if m.CoordinatorEpoch < e.CoordinatorEpoch {
		return refuse(kerr.TransactionCoordinatorFenced, "coordinator epoch %d of producer %d is older than %d",
			m.CoordinatorEpoch, e.ProducerID, e.CoordinatorEpoch)
	}
	return nil
}

// CheckRaised is CheckMarker for the end of a transaction of version 2, which has an
// epoch of its own: one that is not above the entry's cannot be of a transaction that is open
// (R-K28). Where none is it may come again, for its answer may have been lost.
func (e Entry) CheckRaised(m Marker) error {
	if m.Epoch <= e.Epoch && e.InTransaction() {
		return refuse(kerr.InvalidProducerEpoch, "epoch %d of producer %d is not above %d", m.Epoch, e.ProducerID, e.Epoch)
	}
	return e.CheckMarker(m)
}

func refuse(code *kerr.Error, format string, args ...any) error {
	return &record.Refusal{Code: code.Code, Message: fmt.Sprintf(format, args...)}
}

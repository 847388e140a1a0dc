package partition

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/skeinstream/skein/broker/internal/record"
)

// awaited is the first batches of producers that the log does not know, which could not be written. A producer has several
// batches in flight, and any sequence is taken from one that is not known: without this the second batch would be taken
// for its first, and the first, sent again, be refused for ever or stand behind it. From a producer that is known the
// log's table asks for the next sequence anyway.
type awaited map[int64]awaitedBatch

type awaitedBatch struct {
	epoch    int16
	sequence int32
}

// awaitedMax bounds the memory for producers that never come again.
const awaitedMax = 4096

// failed notes a batch that could not be written. Of several, in the order of the log, the first counts.
func (w *awaited) failed(h record.Header) {
	if !h.HasProducer() || !h.HasSequence() { // coordinators number nothing
		return
	}
	if *w == nil || len(*w) >= awaitedMax {
		*w = awaited{}
	}
	if known, ok := (*w)[h.ProducerID]; !ok || known.epoch != h.ProducerEpoch {
		(*w)[h.ProducerID] = awaitedBatch{h.ProducerEpoch, h.BaseSequence}
	}
}

// check decides on a batch of a producer that the log does not know. The error is a *record.Refusal.
func (w awaited) check(h record.Header) error {
	first, ok := w[h.ProducerID]
	if !ok || first.epoch != h.ProducerEpoch || first.sequence == h.BaseSequence {
		return nil
	}
	return &record.Refusal{
		Code: kerr.OutOfOrderSequenceNumber.Code,
		Message: fmt.Sprintf("sequence %d of producer %d at epoch %d, but %d could not be written before and comes first",
			h.BaseSequence, h.ProducerID, h.ProducerEpoch, first.sequence),
	}
}

// came forgets the producer: the log is about to know it.
func (w awaited) came(producerID int64) { delete(w, producerID) }

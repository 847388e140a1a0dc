package storage

import (
	"fmt"
	"math/rand/v2"

	"github.com/skeinstream/skein/broker/internal/producers"
	"github.com/skeinstream/skein/broker/internal/record"
)

// workload makes batches as a partition would let them through.
type workload struct {
	*rand.Rand
	clock int64
	epoch int32
	salt  int // makes batches at the same offset differ
}

func newWorkload(seed uint64) *workload {
	return &workload{Rand: rand.New(rand.NewPCG(seed, 1)), clock: 1000}
}

// next is a batch for a log that ends at end and knows these producers.
func (w *workload) next(end int64, table *producers.Table) record.Batch {
	w.salt++
	w.clock += w.Int64N(20)
	if w.IntN(12) == 0 {
		w.epoch++
	}
	if first, ok := table.FirstUnstable(); ok && w.IntN(3) == 0 {
		return w.marker(end, table, first)
	}
	b := record.NewBuilder(end)
	b.LeaderEpoch = w.epoch
	if w.IntN(8) == 0 {
		b.Codec = record.LZ4
	}
	if w.IntN(3) > 0 {
		w.number(b, table.Lookup(w.Int64N(4)))
	}
	for i := range 1 + w.IntN(4) {
		time := w.clock + w.Int64N(40) - 30
		b.Append(time, fmt.Appendf(nil, "key %d", w.IntN(5)), fmt.Appendf(nil, "%d.%d%*s", w.salt, i, w.IntN(60), ""))
	}
	return b.Bytes()
}

// number makes the batch the next of a producer.
func (w *workload) number(b *record.Builder, e producers.Entry) {
	b.ProducerID, b.ProducerEpoch = e.ProducerID, max(0, e.Epoch)
	b.BaseSequence = e.LastSequence() + 1
	if w.IntN(20) == 0 {
		b.ProducerEpoch, b.BaseSequence = b.ProducerEpoch+1, 0
	}
	b.Transactional = e.InTransaction() || w.IntN(2) == 0
}

func (w *workload) marker(end int64, table *producers.Table, first int64) record.Batch {
	for _, e := range table.All() {
		if e.TxnFirstOffset == first || e.InTransaction() && w.IntN(2) == 0 {
			b := record.ControlMarker(record.Marker(w.IntN(2)), e.ProducerID, e.Epoch, 1, w.clock)
			record.PatchOffset(b, end, w.epoch)
			return b
		}
	}
	return nil
}

package storage

import (
	"fmt"

	"github.com/skeinstream/skein/broker/internal/record"
)

// sieve decides what a cleaning keeps of each batch, in the order of the log. It
// is the second pass; the first has filled the offset map. The rules are Kafka's:
//
//   - a record stays when it is the last of its key, or lies behind what the map
//     covers; records without a key and those of aborted transactions go
//   - a tombstone stays until delete.retention.ms after a cleaning has first met
//     it; that time, the delete horizon, is kept in its batch
//   - a marker stays as long as a batch of its transaction does, and then until
//     its own delete horizon
//   - the last data batch of every producer stays, empty if need be, so that its
//     sequence survives; for a producer without data, its last epoch's marker
//   - the last batch that was looked at stays, so that the log's offsets do
type sieve struct {
	latest *offsetMap
	txns   *cleanTxns
	last   map[int64]lastOfProducer
	end    int64 // the cleaning ends below it
	now    int64
	retain int64 // delete.retention.ms

	inflate *record.Decompressors
	build   *record.Builder
	keep    []bool // of the records of a batch
}

// lastOfProducer is what must stay of a producer.
type lastOfProducer struct {
	offset int64 // of its last data batch, none without one
	epoch  int16
}

// sifted is what remains of a batch.
type sifted struct {
	batch   record.Batch // nil: nothing; the batch itself: all
	aborted *AbortedTxn  // the transaction that a marker which stays has aborted
	records int          // that stay
}

// sift decides on the batch b, whose header is h.
func (v *sieve) sift(b record.Batch, h record.Header) (sifted, error) {
	if h.Control() {
		return v.marker(b, h), nil
	}
	if v.txns.data(h) {
		return sifted{batch: v.rest(h)}, nil
	}
	kept, tombstones, err := v.choose(b, h)
	if err != nil {
		return sifted{}, err
	}
	horizon := tombstones && !h.HasDeleteHorizon()
	switch {
	case kept == 0:
		return sifted{batch: v.rest(h)}, nil
	case kept == int(h.Count) && !horizon:
		return sifted{batch: b, records: kept}, nil
	}
	out, err := v.rebuild(b, h, horizon)
	return sifted{batch: out, records: kept}, err
}

// marker decides on a control batch.
func (v *sieve) marker(b record.Batch, h record.Header) sifted {
	idle, aborted := v.txns.marker(b, h)
	switch {
	case !idle:
		return sifted{batch: b, aborted: aborted, records: int(h.Count)}
	case h.Count == 0, h.HasDeleteHorizon() && h.BaseTimestamp <= v.now:
		return sifted{batch: v.rest(h)}
	case h.HasDeleteHorizon():
		return sifted{batch: b, records: int(h.Count)}
	}
	for i := range h.Count {
		v.mark(int(i), true)
	}
	out, err := v.rebuild(b, h, true)
	if err != nil { // a record that is no marker: leave it alone
		return sifted{batch: b, records: int(h.Count)}
	}
	return sifted{batch: out, records: int(h.Count)}
}

// rest is what stays of a batch without records: nothing, or the empty batch.
func (v *sieve) rest(h record.Header) record.Batch {
	if v.isLast(h) || h.LastOffset()+1 == v.end {
		return record.EmptyBatch(h)
	}
	return nil
}

func (v *sieve) isLast(h record.Header) bool {
	last, known := v.last[h.ProducerID]
	if !known || !h.HasProducer() {
		return false
	}
	if last.offset == none {
		return h.Control() && h.ProducerEpoch == last.epoch
	}
	return h.LastOffset() == last.offset
}

// choose marks the records of a data batch that stay in v.keep.
func (v *sieve) choose(b record.Batch, h record.Header) (kept int, tombstones bool, err error) {
	expired := h.HasDeleteHorizon() && h.BaseTimestamp <= v.now
	i := 0
	err = record.Walk(b, v.inflate, func(r record.Record) bool {
		stays := v.stays(r, h.BaseOffset+int64(r.OffsetDelta), expired)
		v.mark(i, stays)
		i++
		if stays {
			kept++
			tombstones = tombstones || r.Value == nil
		}
		return true
	})
	return kept, tombstones, err
}

// stays decides on one record. expired: tombstones of its batch may go.
func (v *sieve) stays(r record.Record, offset int64, expired bool) bool {
	if offset > v.latest.latest {
		return true
	}
	if r.Key == nil {
		return false
	}
	return offset >= v.latest.last(r.Key) && (r.Value != nil || !expired)
}

func (v *sieve) mark(i int, stays bool) {
	if i == len(v.keep) {
		v.keep = append(v.keep, stays)
	}
	v.keep[i] = stays
}

// rebuild makes a batch of the records marked in v.keep, with the offsets, codec
// and producer of the old one. horizon sets its delete horizon.
func (v *sieve) rebuild(b record.Batch, h record.Header, horizon bool) (record.Batch, error) {
	v.build.Like(h)
	if horizon {
		v.build.DeleteHorizon = later(v.now, v.retain)
	}
	i := 0
	err := record.Walk(b, v.inflate, func(r record.Record) bool {
		if v.keep[i] {
			v.build.AppendRecord(r)
		}
		i++
		return true
	})
	if err != nil {
		return nil, fmt.Errorf("rebuilding: %w", err)
	}
	return v.build.Bytes(), nil
}

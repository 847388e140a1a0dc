package partition

import (
	"context"
	"errors"
	"fmt"

	"github.com/skeinstream/skein/broker/internal/producers"
	"github.com/skeinstream/skein/broker/internal/record"
	"github.com/skeinstream/skein/broker/internal/storage"
)

// piece is how much of a log is read at a time. A batch that is larger is read whole.
const piece = 1 << 20

// Stored is one record of a log, or a marker, with what its batch says.
type Stored struct {
	record.Record
	// Batch is the header of the batch.
	Batch record.Header
	// Marker is set for one: Key and Value are none of anybody's.
	Marker *producers.Marker
}

// Records yields every record and every marker that stands in the log, in order, from its start up to its high watermark,
// which it returns. What belongs to transactions that are open or aborted is yielded, too: who reads keeps it until its
// marker comes. It ends with the error of yield. What it yields is valid during the call only. It holds one piece of the log
// in memory at a time.
func (p *Partition) Records(ctx context.Context, yield func(Stored) error) (end int64, err error) {
	if code := p.Refusal(); code != 0 {
		return 0, fmt.Errorf("reading the records of %s: %w", p.name(), failureError(failure(code)))
	}
	r := &recordReader{partition: p, yield: yield, end: p.HighWatermark()}
	for at := p.log.StartOffset(); at < r.end; {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		if at, err = r.read(at); err != nil {
			return 0, fmt.Errorf("reading the records of %s: %w", p.name(), err)
		}
	}
	return r.end, nil
}

// recordReader is one walk over the records of a partition.
type recordReader struct {
	partition *Partition
	yield     func(Stored) error
	end       int64
	buffer    []byte
	inflate   record.Decompressors
}

// read yields the records of the piece that begins at an offset, and returns where the next begins.
func (r *recordReader) read(at int64) (next int64, err error) {
	s, err := r.partition.log.Read(at, r.end, piece, true)
	if start := r.partition.log.StartOffset(); errors.Is(err, storage.ErrOffsetOutOfRange) && start > at {
		return start, nil // what was there has been deleted meanwhile
	}
	if err != nil {
		return 0, err
	}
	defer s.Release()
	if s.Len == 0 {
		return r.end, nil
	}
	if cap(r.buffer) < s.Len {
		r.buffer = make([]byte, s.Len)
	}
	b := r.buffer[:s.Len]
	if _, err := s.ReadAt(b, 0); err != nil {
		return 0, err
	}
	for batch, err := range record.Batches(b) {
		if err == nil {
			err = r.batch(batch)
		}
		if err != nil {
			return 0, err
		}
	}
	return s.End, nil
}

// batch yields the records of a batch, or the marker that it is. Other control batches mean nothing to us.
func (r *recordReader) batch(b record.Batch) error {
	h := b.Header()
	if err := b.Verify(); err != nil {
		return fmt.Errorf("batch at offset %d: %w", h.BaseOffset, err)
	}
	if h.Control() {
		if m, ok := markerOf(b, h); ok {
			return r.yield(Stored{Batch: h, Marker: &m})
		}
		return nil
	}
	var failed error
	err := record.Walk(b, &r.inflate, func(rec record.Record) bool {
		failed = r.yield(Stored{Record: rec, Batch: h})
		return failed == nil
	})
	return errors.Join(failed, err)
}

// markerOf reads a control batch; ok is false when it is no marker, or when compaction has left nothing of it.
func markerOf(b record.Batch, h record.Header) (m producers.Marker, ok bool) {
	if h.Count == 0 {
		return m, false
	}
	kind, epoch, ok := record.ParseMarker(b)
	return producers.Marker{
		Offset: h.BaseOffset, Timestamp: h.MaxTimestamp, CoordinatorEpoch: epoch, Epoch: h.ProducerEpoch, Abort: kind == record.Abort,
	}, ok
}

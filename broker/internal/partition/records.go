package partition

import (
	"context"
	"errors"
	"fmt"

	"github.com/skeinstream/skein/broker/internal/record"
	"github.com/skeinstream/skein/broker/internal/storage"
)

// piece is how much of a log is read at a time. A batch that is larger is read whole.
const piece = 1 << 20

// Records yields every committed record, in order, from the log's start up to its high watermark, which it returns: markers
// are left out, and so is what belongs to transactions that are aborted or open. It ends with the error of yield. What it
// yields is valid during the call only. It holds one piece of the log in memory at a time.
func (p *Partition) Records(ctx context.Context, yield func(record.Record) error) (end int64, err error) {
	if code := p.Refusal(); code != 0 {
		return 0, fmt.Errorf("reading the records of %s: %w", p.name(), failureError(failure(code)))
	}
	r := &recordReader{partition: p, yield: yield, end: p.HighWatermark()}
	r.readOpen()
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
	yield     func(record.Record) error
	end       int64
	open      map[int64]int64 // first offset of the open transactions, by producer
	aborted   []storage.AbortedTxn
	looked    bool // aborted is that of the piece
	buffer    []byte
	inflate   record.Decompressors
}

func (r *recordReader) readOpen() {
	if _, unstable := r.partition.log.FirstUnstable(); !unstable {
		return
	}
	r.open = map[int64]int64{}
	for _, e := range r.partition.log.Producers() {
		if e.InTransaction() {
			r.open[e.ProducerID] = e.TxnFirstOffset
		}
	}
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
	r.looked = false
	for batch, err := range record.Batches(b) {
		if err == nil {
			err = r.batch(batch, s)
		}
		if err != nil {
			return 0, err
		}
	}
	return s.End, nil
}

// batch yields the records of a batch that counts.
func (r *recordReader) batch(b record.Batch, s storage.Slice) error {
	h := b.Header()
	if err := b.Verify(); err != nil {
		return fmt.Errorf("batch at offset %d: %w", h.BaseOffset, err)
	}
	if h.Control() {
		return nil
	}
	if h.Transactional() {
		counts, err := r.committed(h, s)
		if err != nil || !counts {
			return err
		}
	}
	var failed error
	err := record.Walk(b, &r.inflate, func(rec record.Record) bool {
		failed = r.yield(rec)
		return failed == nil
	})
	return errors.Join(failed, err)
}

// committed reports whether a transactional batch is of a transaction that was committed.
func (r *recordReader) committed(h record.Header, s storage.Slice) (_ bool, err error) {
	if first, open := r.open[h.ProducerID]; open && first <= h.BaseOffset {
		return false, nil
	}
	if !r.looked {
		if r.aborted, err = r.partition.log.AbortedTransactions(s.Base, s.End); err != nil {
			return false, err
		}
		r.looked = true
	}
	for _, t := range r.aborted {
		if t.ProducerID == h.ProducerID && t.FirstOffset <= h.BaseOffset && h.BaseOffset <= t.LastOffset {
			return false, nil
		}
	}
	return true, nil
}

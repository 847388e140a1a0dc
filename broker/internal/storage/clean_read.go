package storage

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/skeinstream/skein/broker/internal/record"
)

// errFull ends the first pass when the offset map is full.
var errFull = errors.New("offset map is full")

// mapKeys is the first pass: it notes the last offset of each key from b.From to
// b.To, or to where the map is full. Records of aborted transactions count for
// nothing.
func (r *cleaning) mapKeys(ctx context.Context, parts []part, sealed []*segment, b Backlog) (*offsetMap, error) {
	aborted, err := r.log.AbortedTransactions(b.From, b.To)
	if err != nil {
		return nil, err
	}
	m := newOffsetMap(r.cfg.MapBytes, r.cfg.MapFill, b.To-b.From)
	txns := newCleanTxns(aborted)
	for i, s := range sealed {
		if parts[i].next <= b.From {
			continue
		}
		err := r.each(ctx, s, func(batch record.Batch, h record.Header) error {
			if h.LastOffset() < b.From {
				return nil
			}
			return r.mapBatch(m, txns, batch, h, b.From)
		})
		if errors.Is(err, errFull) {
			r.report.MapFull = true
			return m, nil
		}
		if err != nil {
			return nil, err
		}
		m.latest = max(m.latest, parts[i].next-1) // there may be a gap behind the last batch
	}
	return m, nil
}

func (r *cleaning) mapBatch(m *offsetMap, txns *cleanTxns, b record.Batch, h record.Header, from int64) error {
	if h.Control() {
		txns.marker(b, h)
	} else if !txns.data(h) {
		full := false
		err := record.Walk(b, &r.inflate, func(rec record.Record) bool {
			offset := h.BaseOffset + int64(rec.OffsetDelta)
			if rec.Key != nil && offset >= from {
				full = !m.put(rec.Key, offset)
			}
			if !full {
				m.latest = offset
			}
			return !full
		})
		if err != nil {
			return err
		}
		if full {
			return errFull
		}
	}
	m.latest = h.LastOffset()
	return nil
}

// each calls fn for every batch of a segment. The batch is valid until fn
// returns. Checksums are verified, or a cleaning would give damage a good one.
func (r *cleaning) each(ctx context.Context, s *segment, fn func(record.Batch, record.Header) error) error {
	h, err := s.log.acquire()
	if err != nil {
		return fmt.Errorf("opening segment %d: %w", s.base, err)
	}
	defer h.release()
	size := s.size.Load()
	if r.buf == nil {
		r.buf = make([]byte, r.cfg.BufferBytes)
	}
	r.next = s.base
	for pos := int64(0); pos < size; {
		if err := r.mayGoOn(ctx); err != nil {
			return err
		}
		n := int(min(int64(len(r.buf)), size-pos))
		if got, err := h.file.ReadAt(r.buf[:n], pos); got < n {
			return fmt.Errorf("reading segment %d at byte %d: %w", s.base, pos, noEOF(err))
		}
		if err := r.cfg.Pace(ctx, n); err != nil {
			return err
		}
		used, err := r.batches(r.buf[:n], fn)
		if err == nil && used == 0 {
			err = r.grow(n, size-pos)
		}
		if err != nil {
			return r.place(s, pos+int64(used), err)
		}
		pos += int64(used)
	}
	return nil
}

// noEOF makes the end of a file an error that says so.
func noEOF(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (r *cleaning) mayGoOn(ctx context.Context) error {
	if r.log.closed.Load() {
		return ErrClosed
	}
	return ctx.Err()
}

// batches calls fn for the whole batches at the start of b and returns how many
// bytes they have.
func (r *cleaning) batches(b []byte, fn func(record.Batch, record.Header) error) (used int, err error) {
	for used < len(b) {
		batch, h, err := record.First(b[used:])
		if errors.Is(err, record.ErrTruncated) {
			return used, nil
		}
		if err == nil {
			err = batch.Verify()
		}
		if err == nil {
			err = fn(batch, h)
		}
		if err != nil {
			return used, err
		}
		used, r.next = used+len(batch), h.LastOffset()+1
	}
	return used, nil
}

// grow makes the buffer hold the batch of which it holds n bytes; left is what
// the segment has from there on.
func (r *cleaning) grow(n int, left int64) error {
	size := 2 * n
	if h, err := record.ParseHeader(r.buf[:n]); err == nil {
		size = h.Size()
	}
	if int64(n) >= left || int64(size) > left {
		return fmt.Errorf("batch of %d bytes with %d left: %w", size, left, record.ErrTruncated)
	}
	r.buf = make([]byte, size)
	return nil
}

// place says where in a segment damage was met.
func (r *cleaning) place(s *segment, pos int64, err error) error {
	if !isDamage(err) {
		return err
	}
	return &DamageError{File: s.log.name, Position: pos, Offset: r.next, Reason: err.Error(), cause: err}
}

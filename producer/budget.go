package producer

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"golang.org/x/sync/semaphore"
)

// budget bounds the records that have no answer yet. It is ours, not franz-go's, since there the context by which a caller stops waiting for
// room would also give up the record, later, on its way.
type budget struct {
	records, bytes       *semaphore.Weighted
	maxRecords, maxBytes int64
	// full is called by whoever has to wait.
	full func()
}

func newBudget(maxRecords, maxBytes int, full func()) *budget {
	r, b := int64(maxRecords), int64(maxBytes)
	return &budget{records: semaphore.NewWeighted(r), bytes: semaphore.NewWeighted(b), maxRecords: r, maxBytes: b, full: full}
}

// tryTake takes room for one record if there is some.
func (b *budget) tryTake(size int64) bool {
	if !b.records.TryAcquire(1) {
		return false
	}
	if !b.bytes.TryAcquire(size) {
		b.records.Release(1)
		return false
	}
	return true
}

// take waits for room for one record, until ctx ends.
func (b *budget) take(ctx context.Context, size int64) error {
	if size > b.maxBytes {
		return fmt.Errorf("a record of %d bytes does not fit into MaxBufferedBytes, %d: %w", size, b.maxBytes, kerr.MessageTooLarge)
	}
	if err := b.wait(ctx, b.records, 1); err != nil {
		return fmt.Errorf("waiting for one of %d records (MaxBufferedRecords) to be answered: %w", b.maxRecords, err)
	}
	if err := b.wait(ctx, b.bytes, size); err != nil {
		b.records.Release(1)
		return fmt.Errorf("waiting for %d of %d bytes (MaxBufferedBytes) to be answered: %w", size, b.maxBytes, err)
	}
	return nil
}

func (b *budget) wait(ctx context.Context, s *semaphore.Weighted, n int64) error {
	if s.TryAcquire(n) {
		return nil
	}
	b.full()
	if err := s.Acquire(ctx, n); err != nil {
		return context.Cause(ctx)
	}
	return nil
}

// give returns what take took.
func (b *budget) give(size int64) {
	b.bytes.Release(size)
	b.records.Release(1)
}

// empty waits until every record has its answer.
func (b *budget) empty(ctx context.Context) error {
	if err := b.records.Acquire(ctx, b.maxRecords); err != nil {
		return err
	}
	b.records.Release(b.maxRecords)
	return nil
}

// sizeOf is what a record counts for: what the user has put into it.
func sizeOf(r *Record) int64 {
	n := len(r.Key) + len(r.Value)
	for _, h := range r.Headers {
		n += len(h.Key) + len(h.Value)
	}
	return int64(n)
}

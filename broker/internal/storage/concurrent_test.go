package storage

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/skeinstream/skein/broker/internal/record"
)

// Readers, a writer, syncs, retention and queries at once: every batch that is
// read is one that was written, whole and in order.
func TestEverythingAtOnce(t *testing.T) {
	cfg := small()
	cfg.RetentionBytes = 8000
	l, _ := fresh(t, cfg)
	var done atomic.Bool
	var wg sync.WaitGroup
	run := func(fn func() error) {
		wg.Go(func() {
			for !done.Load() {
				if err := fn(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 2 {
		from := int64(0)
		run(func() error { return readOn(l, &from) })
	}
	run(l.Sync)
	run(func() error {
		_, err := l.DeleteOldSegments(0, l.EndOffset())
		return errors.Join(err, l.Reap(1<<40))
	})
	run(func() error { return queries(l) })
	w, all := newWorkload(9), oracle{}
	for range 600 {
		table, _ := all.producers()
		b := w.next(l.EndOffset(), table)
		if all = append(all, b); len(all) > 50 {
			all = all[len(all)-50:]
		}
		must(t, l.Write(b, 0))
	}
	done.Store(true)
	wg.Wait()
	must(t, l.Close())
}

// readOn reads once, as a consumer that follows the log.
func readOn(l *Log, from *int64) error {
	s, err := l.Read(*from, l.EndOffset(), 700, true)
	if errors.Is(err, ErrOffsetOutOfRange) {
		*from = l.StartOffset()
		return nil
	}
	if err != nil {
		return err
	}
	defer s.Release()
	b := make([]byte, s.Len)
	if n, err := s.ReadAt(b, 0); n < len(b) {
		return err
	}
	for batch, err := range record.Batches(b) {
		if err = errors.Join(err, batch.Verify()); err != nil {
			return err
		}
		if h := batch.Header(); h.LastOffset() < *from {
			return errors.New("a batch of the past")
		}
		*from = batch.Header().LastOffset() + 1
	}
	*from = max(*from, s.End)
	return nil
}

func queries(l *Log) error {
	_, _, err := l.OffsetForTime(1500, l.EndOffset())
	_, _, maxErr := l.MaxTimestamp(l.EndOffset())
	_, abortErr := l.AbortedTransactions(l.StartOffset(), l.EndOffset())
	l.Producer(1)
	l.FirstUnstable()
	l.EpochAt(l.StartOffset())
	l.EndOffsetForEpoch(1, 2)
	l.Size()
	return errors.Join(err, maxErr, abortErr)
}

package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"

	"github.com/skeinstream/skein/broker/internal/producers"
	"github.com/skeinstream/skein/broker/internal/record"
	"github.com/skeinstream/skein/internal/vfs"
)

// recoverProducers brings the producers up to the log's end: from the newest
// snapshot that is good, by the batches behind it. On the way the transaction
// indexes of the segments that may not be durable get the entries they lack.
func (r *opening) recoverProducers(ctx context.Context) error {
	l := r.log
	if err := r.dropSnapshots(); err != nil {
		return err
	}
	limit, err := r.loadAborted()
	if err != nil {
		return err
	}
	list := *l.segments.Load()
	table, from, ok, err := l.readSnapshot(min(limit, r.trusted(), r.next))
	if err != nil {
		return err
	}
	if !ok {
		table, from = new(producers.Table), list[0].base
	}
	l.producers = *table
	if err := r.keepAborted(from); err != nil {
		return err
	}
	for i := floor(list, from); i < len(list) && from < r.next; i++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := r.snapshotAt(list[i].base, from); err != nil {
			return err
		}
		if err := r.replay(list[i], from, i >= r.first && !r.Clean); err != nil {
			return err
		}
	}
	return r.settleAborted()
}

// settleAborted makes the entries durable that the replay has made: those below
// the recovery point are relied upon.
func (r *opening) settleAborted() error {
	named := false
	for _, s := range r.uncertain() {
		named = named || s.aborted.dirty.Load()
		if err := s.aborted.sync(); err != nil {
			return err
		}
	}
	if !named {
		return nil
	}
	return r.log.fs.SyncDir(r.log.dir)
}

// snapshotAt makes sure of the snapshot that belongs to the segment at base, once
// the replay gets there: without it, deleting the segments before would lose what
// is known. One that is there was not durable and may be torn.
func (r *opening) snapshotAt(base, from int64) error {
	if base <= from {
		return nil
	}
	content := r.log.producers.Snapshot()
	was, err := vfs.ReadFile(r.log.fs, fileName(r.log.dir, base, snapshotSuffix))
	if err == nil && bytes.Equal(was, content) {
		return nil
	}
	return r.log.writeSnapshot(base, content)
}

// dropSnapshots removes the snapshots beyond the end, durably: they are of batches
// that are gone, and others may be written at their offsets.
func (r *opening) dropSnapshots() error {
	l := r.log
	n := len(l.snapshots)
	for n > 0 && l.snapshots[n-1] > r.next {
		n--
		if err := removeFile(l.fs, fileName(l.dir, l.snapshots[n], snapshotSuffix)); err != nil {
			return err
		}
	}
	if n == len(l.snapshots) {
		return nil
	}
	l.snapshots = l.snapshots[:n]
	return l.fs.SyncDir(l.dir)
}

// uncertain is the segments whose transaction index may lack entries, or have
// entries of batches that are gone.
func (r *opening) uncertain() []*segment {
	list := *r.log.segments.Load()
	if r.Clean || r.first >= len(list) {
		return nil
	}
	return list[r.first:]
}

// loadAborted reads the transaction indexes that are uncertain. When one is
// damaged, limit is where the producers must be replayed from.
func (r *opening) loadAborted() (limit int64, err error) {
	limit = math.MaxInt64
	for _, s := range r.uncertain() {
		b, err := vfs.ReadFile(r.log.fs, s.aborted.file.name)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return 0, fmt.Errorf("reading transaction index: %w", err)
		}
		list, err := parseAborted(b)
		if err != nil {
			limit = min(limit, s.base)
			r.report.Rebuilt = append(r.report.Rebuilt, s.aborted.file.name)
		}
		s.aborted.reset(list)
	}
	return limit, nil
}

// keepAborted leaves the entries in the uncertain transaction indexes that the
// replay from an offset will not make again.
func (r *opening) keepAborted(from int64) error {
	for _, s := range r.uncertain() {
		list := *s.aborted.list.Load()
		n := 0
		for n < len(list) && list[n].LastOffset < from {
			n++
		}
		s.aborted.reset(list[:n:n])
		if !r.found.files[parsedKey{s.base, abortedSuffix}] {
			continue
		}
		s.aborted.dirty.Store(true)
		if err := s.aborted.sync(); err != nil {
			return err
		}
	}
	return nil
}

// replay applies the batches of a segment from an offset on. With index, aborted
// transactions that end there go into the transaction index.
func (r *opening) replay(s *segment, from int64, index bool) error {
	if s.size.Load() == 0 {
		return nil
	}
	err := s.scan(func(scan *scanner) error {
		pos, err := s.lookup(scan, from)
		if err != nil {
			return err
		}
		return scan.each(pos, from, func(h record.Header, pos int64) (bool, error) {
			return true, r.apply(s, scan, h, pos, index)
		})
	})
	if err != nil {
		return fmt.Errorf("replaying producers of segment %d: %w", s.base, err)
	}
	return nil
}

func (r *opening) apply(s *segment, scan *scanner, h record.Header, pos int64, index bool) error {
	l := r.log
	if !h.HasProducer() {
		return nil
	}
	if !h.Control() {
		l.producers.Apply(h)
		return nil
	}
	b, err := scan.batch(h, pos, &r.buf)
	if err != nil {
		return err
	}
	m, ok := parseMarked(b, h)
	if !ok {
		return nil
	}
	if txn, ok := l.aborted(h.ProducerID, m.marker); ok && index && m.marker.Abort {
		if err := s.aborted.prepare(txn); err != nil {
			return err
		}
		s.aborted.publish(txn)
	}
	l.producers.ApplyMarker(h.ProducerID, m.marker)
	return nil
}

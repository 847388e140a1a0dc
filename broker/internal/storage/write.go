package storage

import (
	"fmt"

	"github.com/skeinstream/skein/broker/internal/producers"
	"github.com/skeinstream/skein/broker/internal/record"
)

// Write appends one or more whole, valid batches whose offsets are assigned, the
// first at EndOffset, to the page cache. It keeps nothing of b. now is ms since
// the epoch. After an error nothing was written, or of several batches those
// below EndOffset; the call may be repeated with the rest.
func (l *Log) Write(b []byte, now int64) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	if l.closed.Load() {
		return ErrClosed
	}
	if err := l.dead(); err != nil {
		return err
	}
	for len(b) > 0 {
		batch, h, err := record.First(b)
		if err == nil {
			err = l.write(batch, h, now)
		}
		if err != nil {
			return l.wrap("writing to log", err)
		}
		b = b[len(batch):]
	}
	return nil
}

func (l *Log) write(b record.Batch, h record.Header, now int64) error {
	if end := l.end.Load(); h.BaseOffset != end || h.LastOffsetDelta < 0 {
		return fmt.Errorf("batch has offsets %d to %d, the log ends at %d", h.BaseOffset, h.LastOffset(), end)
	}
	cfg := l.cfg.Load()
	s, err := l.room(cfg, h, now)
	if err != nil {
		return err
	}
	m, err := l.marker(s, b, h)
	if err != nil {
		return err
	}
	if err := s.append(b, h, cfg.IndexInterval); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.note(s, h, m)
	l.since += int64(len(b))
	l.end.Store(h.LastOffset() + 1)
	return nil
}

// room returns the active segment, a new one if the batch does not belong into
// the old one any more.
func (l *Log) room(cfg *Config, h record.Header, now int64) (*segment, error) {
	s := l.active()
	if s.rollDue(cfg, h.Size(), h.MaxTimestamp, now) || !s.fits(h.Size(), h.LastOffset()) {
		return l.roll(h.BaseOffset, now)
	}
	return s, l.openActive(s, now)
}

// openActive makes the active segment ready for appends. Its file may be new.
func (l *Log) openActive(s *segment, now int64) error {
	if s.file != nil {
		return nil
	}
	l.mu.Lock()
	l.changed.dir = true
	l.mu.Unlock()
	return s.open(now)
}

// roll ends the active segment and begins one at base. The old one stays open
// until Sync has made it durable. The caller holds writing.
func (l *Log) roll(base, now int64) (*segment, error) {
	old := l.active()
	if err := old.seal(); err != nil {
		return nil, err
	}
	l.mu.Lock()
	snapshot := l.producers.Snapshot()
	l.mu.Unlock()
	if err := l.writeSnapshot(base, snapshot); err != nil {
		return nil, err
	}
	next := newSegment(l.files, l.dir, base, "")
	if err := next.open(now); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	old.next = base
	if old.file != nil {
		l.unsynced = append(l.unsynced, old)
	}
	l.changed.dir = true
	l.since = 0
	list := append(*l.segments.Load(), next) // readers hold shorter slices of the same array
	l.segments.Store(&list)
	return next, nil
}

// marked is what a control batch does to the producers.
type marked struct {
	marker producers.Marker
	ends   bool // a transaction's end; other control batches are none of ours
	abort  AbortedTxn
	aborts bool // an entry of the transaction index was prepared
}

// marker reads a control batch and prepares the entry of the transaction index
// that it needs, before the batch itself is written: then what can fail has not
// failed half-way.
func (l *Log) marker(s *segment, b record.Batch, h record.Header) (marked, error) {
	m, ok := parseMarked(b, h)
	if !ok || !m.marker.Abort {
		return m, nil
	}
	l.mu.Lock()
	m.abort, m.aborts = l.aborted(h.ProducerID, m.marker)
	l.changed.dir = l.changed.dir || m.aborts // the index may be a new file
	l.mu.Unlock()
	if !m.aborts {
		return m, nil
	}
	return m, s.aborted.prepare(m.abort)
}

func parseMarked(b record.Batch, h record.Header) (m marked, ok bool) {
	if !h.Control() || !h.HasProducer() {
		return m, false
	}
	kind, coordinatorEpoch, ok := record.ParseMarker(b)
	if !ok {
		return m, false
	}
	m.ends = true
	m.marker = producers.Marker{
		Offset:           h.BaseOffset,
		Timestamp:        h.MaxTimestamp,
		CoordinatorEpoch: coordinatorEpoch,
		Epoch:            h.ProducerEpoch,
		Abort:            kind == record.Abort,
	}
	return m, true
}

// aborted is the entry of the transaction index for an abort marker; ok is false
// when the marker ends no transaction. The caller holds mu.
func (l *Log) aborted(producerID int64, m producers.Marker) (txn AbortedTxn, ok bool) {
	ended, lastStable, ok := l.producers.Ends(producerID, m)
	return AbortedTxn{ended.ProducerID, ended.FirstOffset, ended.LastOffset, lastStable}, ok
}

// note takes a batch that stands in the segment s into what is known of producers
// and epochs. The caller holds mu.
func (l *Log) note(s *segment, h record.Header, m marked) {
	if m.aborts {
		s.aborted.publish(m.abort)
	}
	if m.ends {
		l.producers.ApplyMarker(h.ProducerID, m.marker)
	} else {
		l.producers.Apply(h)
	}
	l.noteEpoch(h)
}

// noteEpoch takes a batch into the leader epochs. They need not be durable before
// the batch is: Sync writes them before the recovery point passes it, and above
// that recovery reads them from the batches.
func (l *Log) noteEpoch(h record.Header) {
	list := *l.epochs.Load()
	if h.LeaderEpoch < 0 || len(list) > 0 && h.LeaderEpoch <= list[len(list)-1].epoch {
		return
	}
	longer := assignEpoch(list, epoch{h.LeaderEpoch, h.BaseOffset})
	l.epochs.Store(&longer)
	l.changed.epochs = true
}

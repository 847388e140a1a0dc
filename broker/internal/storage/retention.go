package storage

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// SetStartOffset moves the log's start up, as DeleteRecords does. It does nothing
// when the start is there already, and is ErrOffsetOutOfRange beyond the end.
// Segments wholly below it go with the next DeleteOldSegments. Storage does not
// persist the start: the caller does, before it answers, and passes it to Open.
func (l *Log) SetStartOffset(offset int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if offset > l.end.Load() {
		return fmt.Errorf("start offset %d, the log ends at %d: %w", offset, l.end.Load(), ErrOffsetOutOfRange)
	}
	l.raiseStart(offset)
	return nil
}

// raiseStart moves the start up. The caller holds mu.
func (l *Log) raiseStart(offset int64) {
	if offset <= l.start.Load() {
		return
	}
	l.start.Store(offset)
	list := trimEpochs(*l.epochs.Load(), offset)
	l.epochs.Store(&list)
	l.changed.epochs = true
}

// DeleteOldSegments deletes the segments that the log's start, retention.bytes or
// retention.ms have expired, oldest first and never one that holds offsets at or
// above highWatermark. When every segment has expired, the active one is rolled
// first. It returns how many went. The new start is persisted, the files are renamed
// to .deleted and removed by Reap.
func (l *Log) DeleteOldSegments(now, highWatermark int64) (int, error) {
	l.upkeep.take()
	defer l.upkeep.give()
	if l.closed.Load() {
		return 0, ErrClosed
	}
	if err := l.mend(); err != nil {
		return 0, l.wrap("mending indexes of log", err)
	}
	old, end, err := l.expired(now, highWatermark)
	if err == nil {
		old, err = l.replaceActive(old, end, now)
	}
	if err == nil && len(old) > 0 {
		err = l.noteStart((*l.segments.Load())[len(old)].base)
	}
	if err != nil || len(old) == 0 {
		return 0, l.wrap("deleting old segments of log", err)
	}
	l.detach(old)
	l.let(old)
	for _, s := range old {
		err = errors.Join(err, l.discard(s.base, later(now, l.cfg.Load().FileDeleteDelayMs), true))
	}
	return len(old), l.wrap("deleting old segments of log", err)
}

// mend makes the indexes anew that readers have caught lying.
func (l *Log) mend() error {
	list := *l.segments.Load()
	for _, s := range list[:len(list)-1] {
		if s.wrong.Load() {
			if err := s.rebuild(l.cfg.Load().IndexInterval); err != nil {
				return err
			}
		}
	}
	return nil
}

// expired is the segments, oldest first, that are to be deleted, in a log that
// ends at end.
func (l *Log) expired(now, highWatermark int64) (old []*segment, end int64, err error) {
	cfg := l.cfg.Load()
	end = l.end.Load() // before the list: what is written meanwhile is not in this end
	list := *l.segments.Load()
	excess := l.Size() - cfg.RetentionBytes
	for i, s := range list {
		active := i == len(list)-1
		if active && s.size.Load() == 0 { // it may not even have a file yet
			return list[:i], end, nil
		}
		next := end
		if !active {
			next = list[i+1].base
		}
		due := !active && next <= l.start.Load()
		if !due && cfg.Delete {
			size := s.size.Load()
			if due, err = s.tooOld(cfg, now); err != nil {
				return nil, end, err
			}
			due = due || cfg.RetentionBytes >= 0 && excess >= size
			excess -= size
		}
		if !due || next > highWatermark {
			return list[:i], end, nil
		}
	}
	return list, end, nil
}

// tooOld reports whether the newest record of the segment is past retention.ms.
// Without timestamps the file's own time counts, as in Kafka.
func (s *segment) tooOld(cfg *Config, now int64) (bool, error) {
	if cfg.RetentionMs < 0 {
		return false, nil
	}
	newest, err := s.newestStamp()
	if err != nil {
		return false, err
	}
	if newest.time < 0 {
		info, err := s.log.files.fs.Stat(s.log.name)
		if err != nil {
			return false, fmt.Errorf("age of segment %d: %w", s.base, err)
		}
		newest.time = info.ModTime
	}
	return now-newest.time > cfg.RetentionMs, nil
}

// replaceActive rolls the active segment when it is among the old ones, so that
// one is left. When something has been written since the log ended at end, it is
// not old any more and stays.
func (l *Log) replaceActive(old []*segment, end, now int64) ([]*segment, error) {
	l.writing.Lock()
	defer l.writing.Unlock()
	if len(old) == 0 {
		return nil, nil
	}
	next := l.end.Load()
	if list := *l.segments.Load(); len(old) < len(list) {
		next = list[len(old)].base
	}
	if next > end {
		return old[:len(old)-1], nil
	}
	if old[len(old)-1] != l.active() {
		return old, nil
	}
	_, err := l.roll(end, now)
	return old, err
}

// noteStart makes sure that the log begins at next after a crash too: the segment
// there has a name that lasts, since the log's end must not be forgotten, and the
// producers are known without those before it.
func (l *Log) noteStart(next int64) error {
	if err := syncDir(l.fs, l.dir); err != nil {
		return err
	}
	if err := l.syncSnapshot(next); err != nil {
		return err
	}
	return raiseBounds(l.fs, l.dir, bounds{start: next, durable: next})
}

// detach takes the oldest segments out of the log, which begins behind them
// afterwards.
func (l *Log) detach(old []*segment) {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	list := (*l.segments.Load())[len(old):]
	l.raiseStart(list[0].base)
	l.segments.Store(&list)
	l.unsynced = slices.DeleteFunc(l.unsynced, func(s *segment) bool { return slices.Contains(old, s) })
}

// let lets go of the files of segments that have left the log, when no Sync is at
// them any more.
func (l *Log) let(old []*segment) {
	l.syncing.take()
	defer l.syncing.give()
	for _, s := range old {
		s.close()
	}
}

// deletion is a file that waits for its end.
type deletion struct {
	name string
	due  int64 // ms
}

// discard renames the files of a segment that has left the log, with or without
// the producer snapshot at its base.
func (l *Log) discard(base, due int64, snapshot bool) error {
	for _, suffix := range segmentSuffixes {
		if err := l.bury(fileName(l.dir, base, suffix), due); err != nil {
			return err
		}
	}
	if !snapshot {
		return nil
	}
	l.mu.Lock()
	l.snapshots = slices.DeleteFunc(l.snapshots, func(offset int64) bool { return offset == base })
	l.mu.Unlock()
	return l.bury(fileName(l.dir, base, snapshotSuffix), due)
}

// bury renames a file to .deleted, if it is there.
func (l *Log) bury(name string, due int64) error {
	err := l.fs.Rename(name, name+deletedSuffix)
	if isNotExist(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("marking %s as deleted: %w", name, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.deleted = append(l.deleted, deletion{name + deletedSuffix, due})
	return nil
}

// Reap removes the .deleted files whose delay has passed.
func (l *Log) Reap(now int64) error {
	return l.wrap("removing deleted files of log", l.reap(func(d deletion) bool { return d.due <= now }))
}

func (l *Log) reap(due func(deletion) bool) error {
	l.mu.Lock()
	var gone []deletion
	l.deleted = slices.DeleteFunc(l.deleted, func(d deletion) bool {
		if due(d) {
			gone = append(gone, d)
		}
		return due(d)
	})
	l.mu.Unlock()
	var errs []error
	for _, d := range gone {
		errs = append(errs, removeFile(l.fs, d.name))
	}
	return errors.Join(errs...)
}

// later is the time of so many ms after now; what is too far away to be reckoned with never comes.
func later(now, ms int64) int64 {
	if ms > math.MaxInt64-now {
		return math.MaxInt64
	}
	return now + ms
}

package storage

import (
	"errors"
	"fmt"
	"slices"

	"github.com/skeinstream/skein/broker/internal/producers"
	"github.com/skeinstream/skein/internal/vfs"
)

// Producer snapshots are written at every roll, as the name of the new segment
// says, on Close, and by Sync after snapshotBytes without one, so that recovery
// has little to read. Those of rolls become durable with the segment that was
// rolled; for the others the checksum tells a torn one from a good one, and an
// older one serves as well.
//
// A snapshot lives as long as the segment that begins at its offset, as in Kafka:
// recovery needs one at or below the recovery point, which may lie far back. Of
// the others the two newest are kept.
const (
	snapshotBytes = 64 << 20
	snapshotsKept = 2
)

func (l *Log) writeSnapshot(offset int64, content []byte) error {
	f, err := l.fs.Create(fileName(l.dir, offset, snapshotSuffix))
	if err == nil {
		_, err = f.WriteAt(content, 0)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("writing producer snapshot %d: %w", offset, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if at, there := slices.BinarySearch(l.snapshots, offset); !there {
		l.snapshots = slices.Insert(l.snapshots, at, offset)
	}
	return nil
}

// syncSnapshot makes the snapshot at an offset durable, if there is one.
func (l *Log) syncSnapshot(offset int64) error {
	l.mu.Lock()
	_, there := slices.BinarySearch(l.snapshots, offset)
	l.mu.Unlock()
	if !there {
		return nil
	}
	f, err := l.fs.OpenFile(fileName(l.dir, offset, snapshotSuffix))
	if err == nil {
		err = errors.Join(syncFile(f), f.Close())
	}
	if err != nil {
		return fmt.Errorf("producer snapshot %d: %w", offset, err)
	}
	return nil
}

// pruneSnapshots removes the snapshots that no segment begins with, but for the
// newest. What a crash brings back of them does no harm.
func (l *Log) pruneSnapshots() error {
	bases := map[int64]bool{}
	for _, s := range *l.segments.Load() {
		bases[s.base] = true
	}
	l.mu.Lock()
	var stray []int64
	for i, offset := range l.snapshots {
		if !bases[offset] && i < len(l.snapshots)-snapshotsKept {
			stray = append(stray, offset)
		}
	}
	l.snapshots = slices.DeleteFunc(l.snapshots, func(o int64) bool { return slices.Contains(stray, o) })
	l.mu.Unlock()
	var errs []error
	for _, offset := range stray {
		errs = append(errs, removeFile(l.fs, fileName(l.dir, offset, snapshotSuffix)))
	}
	return errors.Join(errs...)
}

// readSnapshot returns the newest table that is good and not above limit, and its
// offset; ok is false when there is none. Newer ones that are damaged are removed.
func (l *Log) readSnapshot(limit int64) (table *producers.Table, offset int64, ok bool, err error) {
	for i := len(l.snapshots) - 1; i >= 0; i-- {
		offset := l.snapshots[i]
		if offset > limit {
			continue
		}
		name := fileName(l.dir, offset, snapshotSuffix)
		b, err := vfs.ReadFile(l.fs, name)
		if err != nil && !isNotExist(err) {
			return nil, 0, false, fmt.Errorf("reading producer snapshot: %w", err)
		}
		if table, err := producers.Restore(b); err == nil {
			return table, offset, true, nil
		}
		if err := removeFile(l.fs, name); err != nil {
			return nil, 0, false, err
		}
		l.snapshots = slices.Delete(l.snapshots, i, i+1)
	}
	return nil, 0, false, nil
}

// removeFile removes a file that may be gone already.
func removeFile(fs vfs.FS, name string) error {
	if err := fs.Remove(name); err != nil && !isNotExist(err) {
		return fmt.Errorf("removing %s: %w", name, err)
	}
	return nil
}

package storage

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/skeinstream/skein/broker/internal/producers"
	"github.com/skeinstream/skein/internal/vfs"
)

// Producer snapshots are written at every roll, as the name of the new segment
// says, on Close, and by Sync after snapshotBytes without one, so that recovery
// has little to read. They are not synced: the checksum tells a torn one from a
// good one, and an older one serves as well.
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
// offset; ok is false when there is none.
func (l *Log) readSnapshot(limit int64) (table *producers.Table, offset int64, ok bool, err error) {
	for _, offset := range slices.Backward(l.snapshots) {
		if offset > limit {
			continue
		}
		b, err := vfs.ReadFile(l.fs, fileName(l.dir, offset, snapshotSuffix))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, 0, false, fmt.Errorf("reading producer snapshot: %w", err)
		}
		if table, err := producers.Restore(b); err == nil {
			return table, offset, true, nil
		}
	}
	return nil, 0, false, nil
}

// removeFile removes a file that may be gone already.
func removeFile(fs vfs.FS, name string) error {
	if err := fs.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("removing %s: %w", name, err)
	}
	return nil
}

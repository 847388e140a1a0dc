package storage

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/skeinstream/skein/internal/vfs"
)

// Sync makes everything durable that was written before the call. Rolled segments
// come first, with their indexes, then the active one, then new names and the
// leader epochs; only then does the recovery point move. So recovery finds, below
// the recovery point, every file whole. An error is final: nothing written since
// the last success may be called durable any more, by this call or another.
func (l *Log) Sync() error {
	l.syncing.take()
	defer l.syncing.give()
	if l.closed.Load() {
		return ErrClosed
	}
	return l.wrap("syncing log", l.sync())
}

// dead is the error that was final, or nil.
func (l *Log) dead() error {
	if err := l.broken.Load(); err != nil {
		return *err
	}
	return nil
}

// final remembers an error that wraps ErrSync: the system reports a failed sync
// once, and would call the next one of the same file a success.
func (l *Log) final(err error) error {
	if errors.Is(err, ErrSync) {
		l.broken.CompareAndSwap(nil, &err)
	}
	return err
}

// dirt is what one Sync makes durable.
type dirt struct {
	end      int64
	sealed   []*segment
	active   *segment // nil when it has nothing new
	changed  changes
	epochs   []epoch
	snapshot []byte // to be written afterwards, at offset end
}

func (l *Log) dirt() dirt {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := dirt{end: l.end.Load(), sealed: slices.Clone(l.unsynced), changed: l.changed, epochs: *l.epochs.Load()}
	if active := l.active(); active.file != nil && max(l.point.Load(), active.base) < d.end {
		d.active = active
	}
	if l.since >= snapshotBytes {
		d.snapshot, l.since = l.producers.Snapshot(), 0
	}
	l.changed = changes{}
	return d
}

func (l *Log) sync() error {
	if err := l.dead(); err != nil {
		return err
	}
	return l.final(l.syncAll())
}

func (l *Log) syncAll() error {
	d := l.dirt()
	if err := d.syncBytes(); err != nil {
		return err
	}
	late := l.syncDerived(&d)
	if err := l.syncNames(d.changed); err != nil {
		return err
	}
	if late != nil {
		return l.owe(&d, late)
	}
	l.trouble.Store(nil)
	l.point.Store(max(l.point.Load(), d.end))
	if d.snapshot == nil {
		return nil
	}
	if err := errors.Join(l.writeSnapshot(d.end, d.snapshot), l.pruneSnapshots()); err != nil {
		l.trouble.Store(&err) // an older one serves as well
	}
	return nil
}

// syncBytes makes the batches durable.
func (d *dirt) syncBytes() error {
	all := d.sealed
	if d.active != nil {
		all = append(slices.Clip(all), d.active)
	}
	for _, s := range all {
		if err := syncFile(s.file.file); err != nil {
			return fmt.Errorf("segment %d: %w", s.base, err)
		}
	}
	return nil
}

// syncDerived makes durable what recovery takes as it is below the recovery point.
func (l *Log) syncDerived(d *dirt) error {
	for _, s := range d.sealed {
		if err := errors.Join(s.finish(), l.syncSnapshot(s.next)); err != nil {
			return err
		}
		l.synced(s)
	}
	if d.active != nil {
		if err := d.active.aborted.sync(); err != nil {
			return err
		}
	}
	if d.changed.epochs {
		return ReplaceFile(l.fs, l.dir, epochsName, formatEpochs(d.epochs))
	}
	return nil
}

// owe remembers that derived files could not be written, for want of space most
// likely. The batches are durable all the same, so the recovery point stays and the
// next Sync tries again. Only a failed sync is final.
func (l *Log) owe(d *dirt, late error) error {
	if errors.Is(late, ErrSync) {
		return late
	}
	l.trouble.Store(&late)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changed.epochs = l.changed.epochs || d.changed.epochs
	return nil
}

// Trouble is why the recovery point could not follow the last Sync, most likely
// for want of disk space, or nil.
func (l *Log) Trouble() error {
	if err := l.trouble.Load(); err != nil {
		return *err
	}
	return nil
}

// synced gives the file of a segment back that is durable.
func (l *Log) synced(s *segment) {
	l.mu.Lock()
	at := slices.Index(l.unsynced, s)
	if at >= 0 {
		l.unsynced = slices.Delete(l.unsynced, at, at+1)
	}
	l.mu.Unlock()
	if at >= 0 {
		s.release()
	}
}

func (l *Log) syncNames(c changes) error {
	if c.parent {
		if err := syncDir(l.fs, filepath.Dir(l.dir)); err != nil {
			return err
		}
	}
	if c.parent || c.dir {
		return syncDir(l.fs, l.dir)
	}
	return nil
}

// Close makes everything durable, derived files included, so that the next Open
// may be told Recovery.Clean. Slices stay readable. Closing twice does nothing.
func (l *Log) Close() error {
	l.upkeep.take()
	defer l.upkeep.give()
	l.syncing.take()
	defer l.syncing.give()
	l.writing.Lock()
	already := l.closed.Swap(true)
	l.writing.Unlock()
	if already {
		return nil
	}
	err := l.settle()
	for _, s := range *l.segments.Load() {
		s.close()
	}
	return l.wrap("closing log", errors.Join(err, l.reap(func(deletion) bool { return true })))
}

// settle leaves nothing for recovery to do.
func (l *Log) settle() error {
	if err := l.dead(); err != nil {
		return err
	}
	active, end := l.active(), l.end.Load()
	if active.file == nil && len(l.unsynced) == 0 && !l.changed.epochs { // opened and left alone
		if end == active.base || slices.Contains(l.snapshots, end) {
			return l.syncNames(l.changed)
		}
	}
	err := l.openActive(active, 0)
	if err == nil {
		err = active.seal()
	}
	if err == nil {
		err = l.sync()
	}
	if err == nil {
		err = l.Trouble()
	}
	if err == nil {
		err = active.finish()
	}
	if err == nil {
		err = vfs.WriteFile(l.fs, fileName(l.dir, end, snapshotSuffix), l.producers.Snapshot())
	}
	if err != nil {
		return err
	}
	return errors.Join(l.pruneSnapshots(), syncDir(l.fs, l.dir))
}

// Delete closes the log without a sync and removes its directory. A crash may
// leave any part of it: the caller knows which directories are nobody's.
func (l *Log) Delete() error {
	l.upkeep.take()
	defer l.upkeep.give()
	l.syncing.take()
	defer l.syncing.give()
	l.writing.Lock()
	l.closed.Store(true)
	l.writing.Unlock()
	for _, s := range *l.segments.Load() {
		s.close()
	}
	if err := l.fs.RemoveAll(l.dir); err != nil {
		return fmt.Errorf("deleting log %s: %w", l.dir, err)
	}
	return nil
}

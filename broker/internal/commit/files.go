package commit

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// The set of files. Numbers grow, and so a directory listing is the order of the log: full files, the current one, spares.
// A file of the log is filled with zeros before it is used, since a sync that need not change the size or the blocks of a
// file costs half. Files that a checkpoint has freed are renamed to become spares. Which of the files are in use is said by
// their headers: a spare has none, or one with another number.

const (
	fileSuffix   = ".wal"
	temporary    = "preparing.tmp"
	zerosPiece   = 256 * kib
	fillFree     = 4       // as many files must have room before one is filled with zeros
	zerosPerSync = 4 * mib // keeps the syncs of rounds from waiting for a whole file of zeros
)

func fileName(number uint64) string { return fmt.Sprintf("%016d%s", number, fileSuffix) }

func (w *wal) path(number uint64) string { return filepath.Join(w.dir, fileName(number)) }

func parseFileName(name string) (number uint64, ok bool) {
	digits, ok := strings.CutSuffix(name, fileSuffix)
	if !ok || len(digits) != 16 {
		return 0, false
	}
	number, err := strconv.ParseUint(digits, 10, 64)
	return number, err == nil
}

// addBare makes an empty file the next spare. It costs no more than a sync of the directory, but grows as it is written.
// The caller has the turn.
func (w *wal) addBare() error {
	file, err := w.fs.Create(w.path(w.next))
	if err != nil {
		return fmt.Errorf("creating a file of the log: %w", err)
	}
	if err := file.Close(); err != nil {
		return fmt.Errorf("creating a file of the log: %w", err)
	}
	return w.addSpare(0)
}

// addSpare makes the file that has the next number a spare. The caller has the turn.
func (w *wal) addSpare(size int64) error {
	if err := w.fs.SyncDir(w.dir); err != nil {
		return fatalError("syncing the directory of the log", err)
	}
	w.spares = append(w.spares, walFile{number: w.next, size: size})
	w.next++
	w.ready.Add(1)
	return nil
}

// takeSpare takes the first spare, which must be there. The caller has the turn.
func (w *wal) takeSpare() walFile {
	first := w.spares[0]
	w.spares = append(w.spares[:0], w.spares[1:]...)
	w.ready.Add(-1)
	return first
}

// ensureSpare sees to it that roll will find a file.
func (w *wal) ensureSpare() error {
	w.turn <- struct{}{}
	defer func() { <-w.turn }()
	if len(w.spares) > 0 {
		return nil
	}
	return w.addBare()
}

// prepare makes a spare of full size. It takes a while, so it is done in the background under another name. Without the
// room for one a bare one must do.
func (w *wal) prepare(ctx context.Context) error {
	if space, err := w.fs.Space(w.dir); err == nil && space.Free < fillFree*w.cfg.FileBytes {
		return w.ensureSpare()
	}
	temp := filepath.Join(w.dir, temporary)
	if err := w.fill(ctx, temp); err != nil {
		_ = w.fs.Remove(temp)
		if ctx.Err() != nil {
			return err
		}
		return w.ensureSpare()
	}
	w.turn <- struct{}{}
	defer func() { <-w.turn }()
	return w.adopt(temp, w.cfg.FileBytes)
}

// adopt renames a file to become the next spare. The caller has the turn.
func (w *wal) adopt(name string, size int64) error {
	if err := w.fs.Rename(name, w.path(w.next)); err != nil {
		return fmt.Errorf("renaming a file of the log: %w", err)
	}
	return w.addSpare(size)
}

// fill makes a file of zeros.
func (w *wal) fill(ctx context.Context, name string) (err error) {
	file, err := w.fs.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	zeros := make([]byte, min(zerosPiece, w.cfg.FileBytes))
	for at, synced := int64(0), int64(0); at < w.cfg.FileBytes; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		n, err := file.WriteAt(zeros[:min(int64(len(zeros)), w.cfg.FileBytes-at)], at)
		if err != nil {
			return err
		}
		at += int64(n)
		if at-synced >= zerosPerSync || at == w.cfg.FileBytes {
			if err := file.Sync(); err != nil {
				return err // not fatal: nothing but zeros is in it, and it is thrown away
			}
			synced = at
		}
	}
	return nil
}

// recycle frees the full files with numbers below upTo, and returns how many there were. The oldest go first, each durably
// before the next, so that what a crash leaves has no hole.
func (w *wal) recycle(upTo uint64) (int, error) {
	for n := 0; ; n++ {
		more, err := w.recycleOldest(upTo)
		if !more || err != nil {
			return n, err
		}
	}
}

func (w *wal) recycleOldest(upTo uint64) (bool, error) {
	w.turn <- struct{}{}
	defer func() { <-w.turn }()
	if len(w.used) == 0 || w.used[0].number >= upTo {
		return false, nil
	}
	oldest := w.used[0]
	if err := w.free(oldest); err != nil {
		return false, err
	}
	w.used = append(w.used[:0], w.used[1:]...)
	return true, nil
}

func (w *wal) free(f walFile) error {
	keep := int64(len(w.spares)) < max(1, w.cfg.CheckpointBytes/w.cfg.FileBytes)
	if keep && f.size >= w.cfg.FileBytes && f.size <= 2*w.cfg.FileBytes {
		return w.adopt(w.path(f.number), f.size)
	}
	if err := w.fs.Remove(w.path(f.number)); err != nil {
		return fmt.Errorf("removing a file of the log: %w", err)
	}
	if err := w.fs.SyncDir(w.dir); err != nil {
		return fatalError("syncing the directory of the log", err)
	}
	return nil
}

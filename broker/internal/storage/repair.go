package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skeinstream/skein/internal/vfs"
)

// damagedSuffix marks the original of a segment that Repair has written anew.
// Nothing reads it.
const damagedSuffix = ".damaged"

// Repair makes a damaged log one that opens, and loses nothing that can be read:
// every segment with damage is written anew without the bad bytes, which leaves a
// gap in the offsets as compaction does, and its original is kept beside it as
// .log.damaged. Derived files that do not fit are removed; Open makes them anew.
// A log that ends below durableTo, the recovery point that was last persisted,
// goes on there, so that no offset is given twice. It returns what was found, as
// Verify does. Nobody may have the log open.
//
// It may be repeated after a crash or an error. docs/decision says why the log is
// not cut at the damage instead.
func Repair(ctx context.Context, fs vfs.FS, dir string, durableTo int64) (Findings, error) {
	findings, err := repair(ctx, fs, dir, durableTo)
	if err != nil {
		return findings, fmt.Errorf("repairing log %s: %w", dir, err)
	}
	return findings, nil
}

func repair(ctx context.Context, fs vfs.FS, dir string, durableTo int64) (Findings, error) {
	if _, _, err := tidy(fs, dir); err != nil {
		return Findings{}, err
	}
	found, err := Verify(ctx, fs, dir)
	if err != nil {
		return found, err
	}
	known, err := readBounds(fs, dir)
	if err != nil {
		return found, err
	}
	if err := removeDerived(fs, dir, &found); err != nil {
		return found, err
	}
	// Recovery accepts gaps below this only.
	end := max(found.End, durableTo, known.durable)
	if err := raiseBounds(fs, dir, bounds{start: known.start, durable: end}); err != nil {
		return found, err
	}
	damaged := map[string][]Damage{}
	var files []string
	for _, d := range found.Damage {
		if damaged[d.File] == nil {
			files = append(files, d.File)
		}
		damaged[d.File] = append(damaged[d.File], d)
	}
	for _, file := range files {
		if err := ctx.Err(); err != nil {
			return found, err
		}
		if err := rewrite(fs, dir, file, damaged[file]); err != nil {
			return found, err
		}
	}
	for _, name := range found.Derived {
		if p, ok := parseName(filepath.Base(name)); ok && p.kind == abortedSuffix {
			if err := remakeAborted(fs, dir, p.base); err != nil {
				return found, err
			}
		}
	}
	return found, goOnAt(fs, dir, found.End, end)
}

// remakeAborted makes the transaction index of a segment anew, by way of all
// producers' batches since the newest snapshot before it.
func remakeAborted(fs vfs.FS, dir string, base int64) error {
	found, err := list(fs, dir)
	if err != nil {
		return err
	}
	r := &opening{log: newLog(NewFiles(fs, 0), dir, DefaultConfig()), found: found}
	defer r.log.files.Close()
	r.log.snapshots = found.snapshots
	if err := r.loadSegments(); err != nil {
		return err
	}
	table, from, ok, err := r.log.readSnapshot(base)
	if err != nil {
		return err
	}
	if ok {
		r.log.producers = *table
	}
	for _, s := range *r.log.segments.Load() {
		if s.base > base {
			break
		}
		if s.base == base {
			s.aborted.reset(nil)
			s.aborted.dirty.Store(true)
		}
		if err := r.replay(s, from, s.base == base); err != nil {
			return err
		}
		if s.base == base {
			return errors.Join(s.aborted.sync(), fs.SyncDir(dir))
		}
	}
	return nil
}

// removeDerived removes the derived files that do not fit, and the indexes of the
// segments that are about to change.
func removeDerived(fs vfs.FS, dir string, found *Findings) error {
	names := slices.Clone(found.Derived)
	for _, d := range found.Damage {
		for _, suffix := range []string{indexSuffix, timeSuffix} {
			names = append(names, d.File[:len(d.File)-len(logSuffix)]+suffix)
		}
	}
	for _, name := range names {
		if strings.HasSuffix(name, abortedSuffix) {
			continue // Open could not tell that it is missing
		}
		if err := removeFile(fs, name); err != nil {
			return err
		}
	}
	return fs.SyncDir(dir)
}

// rewrite replaces a segment by one without the damage, by way of a .swap file as
// cleaning does: a crash leaves the old one or the new one.
func rewrite(fs vfs.FS, dir, file string, damage []Damage) error {
	if err := copyWithout(fs, file, file+cleanedSuffix, damage); err != nil {
		return errors.Join(err, removeFile(fs, file+cleanedSuffix))
	}
	for _, step := range [][2]string{{cleanedSuffix, swapSuffix}, {"", damagedSuffix}, {swapSuffix, ""}} {
		if err := fs.Rename(file+step[0], file+step[1]); err != nil {
			return err
		}
		if err := fs.SyncDir(dir); err != nil {
			return err
		}
	}
	return nil
}

// copyWithout copies a file, durably, without the damage.
func copyWithout(fs vfs.FS, from, to string, damage []Damage) error {
	in, err := fs.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	size, err := in.Size()
	if err != nil {
		return err
	}
	out, err := fs.Create(to)
	if err != nil {
		return err
	}
	pos := int64(0)
	target := io.NewOffsetWriter(out, 0)
	for _, d := range append(damage, Damage{Position: size}) {
		if err == nil {
			_, err = io.Copy(target, io.NewSectionReader(in, pos, d.Position-pos))
		}
		pos = d.Position + d.Bytes
	}
	if err == nil {
		err = syncFile(out)
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("copying %s: %w", from, err)
	}
	return nil
}

// goOnAt adds an empty segment where the log is to go on, if it ends earlier.
func goOnAt(fs vfs.FS, dir string, end, at int64) error {
	if at <= end {
		return nil
	}
	f, err := fs.OpenFile(fileName(dir, at, logSuffix))
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	return fs.SyncDir(dir)
}

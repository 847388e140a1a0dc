package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skeinstream/skein/broker/internal/record"
	"github.com/skeinstream/skein/internal/vfs"
)

// damagedSuffix marks the original of a segment that Repair has written anew.
// Nothing reads it.
const damagedSuffix = ".damaged"

// Spare is batches of a log that are kept elsewhere, in a write-ahead log for
// instance. The zero Spare has none.
type Spare struct {
	Ranges []Range // what offsets there are
	// Batches yields, in order, those that lie within the offsets from up to, not
	// including, to.
	Batches func(from, to int64, yield func(record.Batch) error) error
}

// has reports whether there may be something between two offsets.
func (s *Spare) has(from, to int64) bool {
	return slices.ContainsFunc(s.Ranges, func(r Range) bool { return r.From < to && from < r.To })
}

// Repair makes a damaged log one that opens, and loses nothing that can be read:
// every segment with damage is written anew, with what spare has in the place of
// the bad bytes, or else without them, which leaves a gap in the offsets as
// compaction does. Its original is kept beside it as .log.damaged. Derived files that do not fit are removed; Open makes them anew.
// Bad bytes from promised on are left to Open: everything below was durable once,
// in the segments or in spare. A log that ends below it goes on where spare does,
// or at promised, so that no offset is given twice. It returns what was found, as
// Verify does. Nobody may have the log open.
//
// It may be repeated after a crash or an error. docs/decision says why the log is
// not cut at the damage instead.
func Repair(ctx context.Context, fs vfs.FS, dir string, promised int64, spare Spare) (Findings, error) {
	findings, err := repair(ctx, fs, dir, promised, spare)
	if err != nil {
		return findings, fmt.Errorf("repairing log %s: %w", dir, err)
	}
	return findings, nil
}

func repair(ctx context.Context, fs vfs.FS, dir string, promised int64, spare Spare) (Findings, error) {
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
	promised = max(promised, known.durable)
	holes, stretches, end, at := found.plan(promised, spare)
	if err := removeDerived(fs, dir, found.Derived, holes); err != nil {
		return found, err
	}
	if err := SyncSegments(fs, dir); err != nil {
		return found, err
	}
	for file, inFile := range holes {
		if err := ctx.Err(); err != nil {
			return found, err
		}
		if err := rewrite(fs, dir, file, inFile, spare); err != nil {
			return found, err
		}
	}
	if err := writeStretches(fs, dir, stretches, spare); err != nil {
		return found, err
	}
	// Recovery accepts gaps below this only, and takes what is there as durable: not
	// before it is.
	if err := raiseBounds(fs, dir, bounds{start: known.start, durable: at}); err != nil {
		return found, err
	}
	for _, name := range found.Derived {
		if p, ok := parseName(filepath.Base(name)); ok && p.kind == abortedSuffix {
			if err := remakeAborted(fs, dir, p.base); err != nil {
				return found, err
			}
		}
	}
	return found, goOnAt(fs, dir, end, at)
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
func removeDerived(fs vfs.FS, dir string, derived []string, holes map[string][]Damage) error {
	names := slices.Clone(derived)
	for file := range holes {
		for _, suffix := range []string{indexSuffix, timeSuffix} {
			names = append(names, strings.TrimSuffix(file, logSuffix)+suffix)
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

// SyncSegments makes the segments of a log durable that nobody has open: who wrote
// last may have been killed.
func SyncSegments(fs vfs.FS, dir string) error {
	found, err := list(fs, dir)
	if err != nil {
		return err
	}
	for _, base := range found.segments {
		f, err := fs.OpenFile(fileName(dir, base, logSuffix))
		if err != nil {
			return err
		}
		if err := errors.Join(syncFile(f), f.Close()); err != nil {
			return err
		}
	}
	return fs.SyncDir(dir)
}

// rewrite replaces a segment by one without the damage, by way of a .swap file as
// cleaning does: a crash leaves the old one or the new one.
func rewrite(fs vfs.FS, dir, file string, damage []Damage, spare Spare) error {
	if err := copyWithout(fs, file, file+cleanedSuffix, damage, spare); err != nil {
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

// copyWithout copies a file, durably, with what spare has in the place of the
// damage.
func copyWithout(fs vfs.FS, from, to string, damage []Damage, spare Spare) error {
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
		if err == nil && d.From < d.To && spare.has(d.From, d.To) {
			err = spare.Batches(d.From, d.To, func(b record.Batch) error {
				_, err := target.Write(b)
				return err
			})
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

package storage

import (
	"cmp"
	"errors"
	"io"
	"slices"

	"github.com/skeinstream/skein/broker/internal/record"
	"github.com/skeinstream/skein/internal/vfs"
)

// holes is what is to be done, by file: the damage below promised, and the gaps
// that spare has something for. end is where the log ends after that.
func (f *Findings) holes(promised int64, spare Spare) (holes map[string][]Damage, end int64) {
	holes, end = map[string][]Damage{}, f.End
	all := slices.Clone(f.Damage)
	for _, gap := range f.gaps {
		if spare.has(gap.From, gap.To) {
			all = append(all, gap)
		}
	}
	slices.SortStableFunc(all, func(a, b Damage) int { return cmp.Compare(a.From, b.From) })
	for _, d := range all {
		if d.From >= promised {
			return holes, d.From
		}
		holes[d.File] = append(holes[d.File], d)
	}
	return holes, end
}

// plan is what is to be done: to the segments, by file, and behind them. Where spare
// goes on without a hole its owner writes it; stretches are what it has before its
// last hole, which must be in the log to go on behind that, and at is where the log
// goes on: behind everything that was durable, so that no offset is given twice. end
// is where the log ends before at.
func (f *Findings) plan(promised int64, spare Spare) (holes map[string][]Damage, stretches []Range, end, at int64) {
	for upTo := promised; ; upTo = at { // nothing torn may stay where more comes behind it
		holes, end = f.holes(upTo, spare)
		if stretches, at = goOn(end, promised, spare.Ranges); at == end || at <= upTo {
			break
		}
	}
	if n := len(stretches); n > 0 {
		end = stretches[n-1].To
	}
	return holes, stretches, end, at
}

// goOn is where a repaired log that ends at end goes on, and what spare has before.
func goOn(end, promised int64, spare []Range) (stretches []Range, at int64) {
	at = end
	reached := end
	pass := func(to int64) {
		if reached > at {
			stretches = append(stretches, Range{at, reached})
		}
		at, reached = to, to
	}
	for _, r := range slices.SortedFunc(slices.Values(spare), func(a, b Range) int { return cmp.Compare(a.From, b.From) }) {
		if r.To > reached && r.From > reached {
			pass(r.From)
		}
		reached = max(reached, r.To)
	}
	if promised > reached {
		pass(promised)
	}
	return stretches, at
}

// writeStretches writes what spare has of each stretch into a segment of its own.
func writeStretches(fs vfs.FS, dir string, stretches []Range, spare Spare) error {
	for _, r := range stretches {
		if err := writeStretch(fs, fileName(dir, r.From, logSuffix), r, spare); err != nil {
			return err
		}
	}
	if len(stretches) == 0 {
		return nil
	}
	return fs.SyncDir(dir)
}

func writeStretch(fs vfs.FS, name string, r Range, spare Spare) error {
	f, err := fs.Create(name) // one that is there has nothing valid in it: the log ends where it begins
	if err != nil {
		return err
	}
	to := io.NewOffsetWriter(f, 0)
	err = spare.Batches(r.From, r.To, func(b record.Batch) error {
		_, err := to.Write(b)
		return err
	})
	if err == nil {
		err = syncFile(f)
	}
	return errors.Join(err, f.Close())
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

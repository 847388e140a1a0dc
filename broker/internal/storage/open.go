package storage

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/skeinstream/skein/internal/vfs"
)

// Open opens the log in dir, which is made when it is missing, and recovers it.
//
// After a clean close it trusts what it finds and looks at the last index interval
// alone. Else it reads the batches from the recovery point on and keeps those that
// are valid and follow each other without a gap. What comes behind them was never
// durable, whatever it looks like, and is cut, durably, before anything else can be
// written there. Bad bytes below the recovery point are a *DamageError, and the
// log is left as it is, unless the caller will supply them again.
//
// Indexes, the transaction index, the leader epochs and the producers are brought
// up to the end that was found.
func Open(ctx context.Context, files *Files, dir string, cfg Config, rec Recovery) (*Log, Report, error) {
	r := &opening{Recovery: rec, log: newLog(files, dir, cfg)}
	err := r.run(ctx)
	if errors.Is(err, errNotClean) { // then as after a crash
		r = &opening{Recovery: rec, log: newLog(files, dir, cfg)}
		r.Clean = false
		err = r.run(ctx)
	}
	if err != nil {
		for _, s := range *r.log.segments.Load() {
			s.close()
		}
		return nil, r.report, fmt.Errorf("opening log %s: %w", dir, err)
	}
	r.report.Segments = r.log.Segments()
	return r.log, r.report, nil
}

// errNotClean says that a log which is said to be closed cleanly is not.
var errNotClean = errors.New("log was not closed cleanly")

// opening is one Open under way.
type opening struct {
	Recovery
	log    *Log
	found  listing
	report Report
	first  int    // index of the first segment that is not taken as it is
	next   int64  // offset that follows the batches found valid so far
	buf    []byte // for batches
}

func (r *opening) run(ctx context.Context) error {
	if err := r.load(); err != nil {
		return err
	}
	if err := r.loadEpochs(); err != nil {
		return err
	}
	if err := r.scanSegments(ctx); err != nil {
		return err
	}
	l := r.log
	l.end.Store(r.next)
	l.point.Store(min(r.trusted(), r.next))
	if err := r.recoverProducers(ctx); err != nil {
		return err
	}
	if err := r.settleStart(); err != nil {
		return err
	}
	return r.keepEpochs()
}

// load finds the segments.
func (r *opening) load() error {
	l := r.log
	there, err := exists(l.fs, l.dir)
	if err != nil {
		return err
	}
	if !there {
		if err := l.fs.MkdirAll(l.dir); err != nil {
			return err
		}
		l.changed.parent = true
	}
	if r.found, r.report.Swapped, err = tidy(l.fs, l.dir); err != nil {
		return err
	}
	known, err := readBounds(l.fs, l.dir)
	if err != nil {
		return err
	}
	r.DurableTo, r.StartOffset = max(r.DurableTo, known.durable), max(r.StartOffset, known.start)
	r.Promised = max(r.Promised, r.DurableTo)
	if err := r.dropDeleted(known.start); err != nil {
		return err
	}
	l.snapshots = r.found.snapshots
	return r.loadSegments()
}

func (r *opening) loadSegments() error {
	l := r.log
	var list []*segment
	for _, base := range r.found.segments {
		s := newSegment(l.files, l.dir, base, "")
		info, err := l.fs.Stat(s.log.name)
		if err != nil {
			return err
		}
		s.size.Store(info.Size)
		s.created = info.ModTime
		if !r.found.files[parsedKey{base, abortedSuffix}] {
			s.aborted.reset(nil)
		}
		list = append(list, s)
	}
	if len(list) == 0 {
		list = append(list, r.empty(r.beginning()))
	}
	l.segments.Store(&list)
	r.first = floor(list, r.trusted()-1)
	r.next = list[r.first].base
	if r.next > max(r.trusted(), r.StartOffset) { // what came before it is gone
		r.next = r.beginning()
	}
	return nil
}

// beginning is where a log begins of which nothing is left: at its start, or earlier, where what is written again begins.
// The start may lie in the middle of a batch.
func (r *opening) beginning() int64 {
	for _, span := range r.Resupply {
		if span.From <= r.StartOffset && r.StartOffset < span.To {
			return span.From
		}
	}
	return r.StartOffset
}

// dropDeleted removes the segments that were being deleted when the log began to
// start behind them. A crash may have brought any of them back, in any condition.
func (r *opening) dropDeleted(start int64) error {
	for len(r.found.segments) > 1 && r.found.segments[1] <= start {
		if err := removeSegment(r.log.fs, r.log.dir, r.found.segments[0]); err != nil {
			return err
		}
		r.found.segments = r.found.segments[1:]
	}
	return nil
}

// removeSegment removes the files of a segment.
func removeSegment(fs vfs.FS, dir string, base int64) error {
	for _, suffix := range segmentSuffixes {
		if err := removeFile(fs, fileName(dir, base, suffix)); err != nil {
			return err
		}
	}
	return nil
}

// empty is a segment whose file is made by the first write.
func (r *opening) empty(base int64) *segment {
	s := newSegment(r.log.files, r.log.dir, base, "")
	s.empty()
	return s
}

// loadEpochs reads the leader epochs. When they are missing or damaged, they are
// read from the batches.
func (r *opening) loadEpochs() error {
	l := r.log
	if r.found.epochs {
		b, err := vfs.ReadFile(l.fs, filepath.Join(l.dir, epochsName))
		if err != nil {
			return err
		}
		list, err := parseEpochs(b)
		if err == nil {
			l.epochs.Store(&list)
			return nil
		}
		r.report.Rebuilt = append(r.report.Rebuilt, epochsName)
	}
	list := *l.segments.Load()
	l.changed.epochs = list[0].size.Load() > 0
	for _, s := range list[:r.first+1] {
		if err := r.readEpochs(s); err != nil {
			return err
		}
	}
	return nil
}

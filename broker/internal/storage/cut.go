package storage

import (
	"errors"
	"fmt"

	"github.com/skeinstream/skein/broker/internal/record"
)

// bad decides about bytes of segment i from pos on that are no part of the log:
// below the recovery point they are damage, unless they will come again, else the
// torn tail of a crash, which is cut.
func (r *opening) bad(i int, pos int64, reason string) (cut bool, err error) {
	if r.Clean {
		return false, fmt.Errorf("%w: %s", errNotClean, reason)
	}
	if r.next < r.Promised && !r.resupplied(r.next, r.Promised) {
		s := (*r.log.segments.Load())[i]
		return false, &DamageError{File: s.log.name, Position: pos, Offset: r.next, Reason: reason}
	}
	r.report.CutFrom, r.report.CutReason = r.next, reason
	return true, r.cut(i, pos)
}

// cut ends the log at pos in segment i, durably: the later segments go before the
// bytes in this one do, so that a crash in between finds the same end again.
func (r *opening) cut(i int, pos int64) error {
	l := r.log
	list := *l.segments.Load()
	s := list[i]
	r.report.Cut += s.size.Load() - pos
	r.countCut(s, pos)
	kept := list[:i+1]
	if s.base != r.next && pos == 0 {
		kept = list[:i:i]
	}
	for _, gone := range list[i+1:] {
		r.report.Cut += gone.size.Load()
		r.countCut(gone, 0)
	}
	if err := r.remove(list[len(kept):]); err != nil {
		return err
	}
	if len(kept) == 0 {
		kept = append(kept, r.empty(r.next))
	}
	l.segments.Store(&kept)
	last := kept[len(kept)-1]
	if n := len(l.unsynced); n > 0 && l.unsynced[n-1] == last {
		l.unsynced = l.unsynced[:n-1] // it is the active one again
	}
	if last != s {
		return nil
	}
	if err := r.shorten(s, pos); err != nil {
		return err
	}
	return r.keep(i, s)
}

func (r *opening) remove(gone []*segment) error {
	l := r.log
	if len(gone) == 0 {
		return nil
	}
	for _, s := range gone {
		s.close()
		if err := removeSegment(l.fs, l.dir, s.base); err != nil {
			return err
		}
	}
	return l.fs.SyncDir(l.dir)
}

func (r *opening) shorten(s *segment, pos int64) error {
	if s.size.Load() == pos {
		return nil
	}
	f, err := r.log.fs.OpenFile(s.log.name)
	if err != nil {
		return err
	}
	err = f.Truncate(pos)
	if err == nil {
		err = syncFile(f)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("cutting segment %d: %w", s.base, err)
	}
	s.size.Store(pos)
	return nil
}

// countCut counts the whole and valid batches among what is cut, for the report.
func (r *opening) countCut(s *segment, pos int64) {
	_ = s.scan(func(scan *scanner) error {
		for pos < scan.size {
			h, err := scan.header(pos)
			if err != nil {
				return err
			}
			b, err := scan.batch(h, pos, &r.buf)
			if err != nil {
				return err
			}
			if b.Verify() == nil {
				r.report.CutBatches++
			}
			pos += int64(h.Size())
		}
		return nil
	})
}

// readEpochs takes the leader epochs from the batches of a segment, as far as they
// can be read: what cannot is for the scan to judge.
func (r *opening) readEpochs(s *segment) error {
	if s.size.Load() == 0 {
		return nil
	}
	err := s.scan(func(scan *scanner) error {
		return scan.each(0, s.base, func(h record.Header, _ int64) (bool, error) {
			r.log.noteEpoch(h)
			return true, nil
		})
	})
	if isDamage(err) {
		return nil
	}
	return err
}

// keepEpochs leaves the epochs that fit the log.
func (r *opening) keepEpochs() error {
	l := r.log
	list := cutEpochs(*l.epochs.Load(), l.end.Load())
	if start := l.start.Load(); start > 0 {
		list = trimEpochs(list, start)
	}
	l.changed.epochs = l.changed.epochs || len(list) != len(*l.epochs.Load())
	l.epochs.Store(&list)
	return nil
}

// settleStart sets the log's start.
func (r *opening) settleStart() error {
	l := r.log
	list := *l.segments.Load()
	l.start.Store(max(r.StartOffset, list[0].base))
	if r.StartOffset <= r.next || r.resupplied(r.next, r.StartOffset) {
		return nil
	}
	// Everything that is left lies below the start, and offsets never come twice.
	if err := r.remove(list); err != nil {
		return err
	}
	s := newSegment(l.files, l.dir, r.StartOffset, "")
	if err := s.open(s.created); err != nil {
		return err
	}
	l.unsynced = nil
	l.segments.Store(&[]*segment{s})
	l.end.Store(r.StartOffset)
	l.point.Store(r.StartOffset)
	return l.fs.SyncDir(l.dir)
}

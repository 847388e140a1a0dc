package storage

import (
	"context"
	"errors"
	"fmt"

	"github.com/skeinstream/skein/broker/internal/record"
)

// scanSegments brings the segments from the first one that is not taken as it is
// up to the end of what is valid, and makes the indexes that the others lack.
func (r *opening) scanSegments(ctx context.Context) error {
	for i, s := range *r.log.segments.Load() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if i < r.first {
			if err := r.indexes(s); err != nil {
				return err
			}
			continue
		}
		if cut, err := r.scanSegment(i, s); cut || err != nil {
			return err
		}
	}
	if list := *r.log.segments.Load(); r.next < r.Promised {
		s := list[len(list)-1]
		_, err := r.bad(len(list)-1, s.size.Load(), fmt.Sprintf("the log ends at offset %d and was durable to %d", r.next, r.Promised))
		return err
	}
	return nil
}

// indexes makes the indexes of a segment below the recovery point when one of
// them is missing; the rest was made durable with the segment.
func (r *opening) indexes(s *segment) error {
	missing := false
	for _, kind := range []string{indexSuffix, timeSuffix} {
		if !r.found.files[parsedKey{s.base, kind}] {
			r.report.Rebuilt = append(r.report.Rebuilt, fileName(r.log.dir, s.base, kind))
			missing = true
		}
	}
	if !missing {
		return nil
	}
	r.log.changed.dir = true
	return s.rebuild(r.log.cfg.Load().IndexInterval)
}

// scanSegment goes through the batches of segment i behind what its indexes
// cover. cut is true when the log was cut there.
func (r *opening) scanSegment(i int, s *segment) (cut bool, err error) {
	if s.base < r.next || s.base > max(r.next, r.trusted()) {
		return r.bad(i, 0, fmt.Sprintf("the segment begins at offset %d where %d is next", s.base, r.next))
	}
	r.next = s.base
	pos, err := r.trustIndexes(s)
	if err == nil && s.size.Load() > 0 {
		err = s.scan(func(scan *scanner) error {
			cut, err = r.scanBatches(i, s, scan, pos)
			return err
		})
	}
	if err != nil || cut {
		return cut, err
	}
	return false, r.keep(i, s)
}

func (r *opening) scanBatches(i int, s *segment, scan *scanner, pos int64) (cut bool, err error) {
	interval := r.log.cfg.Load().IndexInterval
	for pos < scan.size {
		h, err := scan.header(pos)
		if err == nil {
			err = r.check(s, scan, h, pos)
		}
		if isDamage(err) {
			return r.bad(i, pos, err.Error())
		}
		if err != nil {
			return false, err
		}
		if err := errors.Join(s.offsets.reserve(1), s.times.reserve(2)); err != nil {
			return false, err
		}
		s.note(h, pos, interval)
		r.log.noteEpoch(h)
		pos, r.next = pos+int64(h.Size()), h.LastOffset()+1
	}
	return false, nil
}

// check decides whether the batch h at pos may follow what is there. The checksum
// is compared from the recovery point on, and so are the offsets: only below it
// may compaction have left a gap. The error wraps record.ErrCorrupt.
func (r *opening) check(s *segment, scan *scanner, h record.Header, pos int64) error {
	gap := h.BaseOffset > r.next && h.BaseOffset > r.trusted()
	if h.BaseOffset < r.next || gap || h.LastOffsetDelta < 0 || !s.fits(0, h.LastOffset()) {
		return fmt.Errorf("offsets %d to %d where %d is next: %w", h.BaseOffset, h.LastOffset(), r.next, record.ErrCorrupt)
	}
	if h.LastOffset() < r.trusted() {
		return nil
	}
	b, err := scan.batch(h, pos, &r.buf)
	if err != nil {
		return err
	}
	r.report.Scanned += int64(len(b))
	return b.Verify()
}

// keep takes a segment that has been scanned into the log: what may not be durable
// in it waits for Sync.
func (r *opening) keep(i int, s *segment) error {
	l := r.log
	last := i == len(*l.segments.Load())-1
	if r.Clean || s.size.Load() == 0 && last {
		return nil
	}
	if err := s.open(s.created); err != nil {
		return err
	}
	l.changed.dir = true
	if last {
		return nil
	}
	s.next = (*l.segments.Load())[i+1].base
	l.unsynced = append(l.unsynced, s)
	return s.seal()
}

package storage

import (
	"errors"

	"github.com/skeinstream/skein/broker/internal/record"
)

// trustIndexes takes over what can be trusted of the segment's indexes and returns
// the position from which batches must be looked at: of the batch that the last
// entry kept is of, or the start.
func (r *opening) trustIndexes(s *segment) (int64, error) {
	if r.Clean {
		return r.trustClosed(s)
	}
	offsets, err := s.offsets.load()
	if err != nil {
		return 0, err
	}
	times, err := s.times.load()
	if err != nil {
		return 0, err
	}
	n, m := s.agree(offsets[:s.soundOffsets(offsets, r.trusted())*offsetWidth], times[:s.soundTimes(times, r.trusted())*timeWidth])
	pos := int64(0)
	if n > 0 {
		last := offsets[(n-1)*offsetWidth:]
		if pos = entryPos(last); s.resume(pos, s.lastOffset(last)) != nil {
			n, m, pos = 0, 0, 0
		}
	}
	newest := stamp{none, s.base}
	if m > 0 {
		newest = s.timeEntry(times[(m-1)*timeWidth:])
	}
	s.newest.store(newest)
	s.indexedTime = newest.time
	if err := s.offsets.forget(len(offsets), n); err != nil {
		return 0, err
	}
	return pos, s.times.forget(len(times), m)
}

// trustClosed trusts the indexes of a log that was closed, if they fit the file.
func (r *opening) trustClosed(s *segment) (int64, error) {
	if s.size.Load() == 0 {
		s.empty()
		return 0, nil
	}
	if !r.found.files[parsedKey{s.base, indexSuffix}] || !r.found.files[parsedKey{s.base, timeSuffix}] {
		return 0, errNotClean
	}
	newest, err := s.newestStamp()
	if err != nil {
		return 0, err
	}
	s.indexedTime = newest.time
	last := make([]byte, offsetWidth)
	if ok, err := s.offsets.last(last); err != nil || !ok {
		return 0, err
	}
	if s.resume(entryPos(last), s.lastOffset(last)) != nil {
		return 0, errNotClean
	}
	return entryPos(last), nil
}

// resume sets the segment up to go on from the batch at pos, which must end with
// the offset last.
func (s *segment) resume(pos, last int64) error {
	return s.scan(func(scan *scanner) error {
		first, err := scan.header(0)
		if err != nil {
			return err
		}
		h, err := scan.header(pos)
		if err != nil {
			return err
		}
		if h.LastOffset() != last {
			return errNotClean
		}
		s.rollBase = first.MaxTimestamp
		return nil
	})
}

// soundOffsets is how many entries at the start of an offset index ascend, point
// into the file and are of batches below trusted.
func (s *segment) soundOffsets(b []byte, trusted int64) int {
	n, last, pos := 0, s.base-1, int64(0)
	for ; len(b) >= offsetWidth; b = b[offsetWidth:] {
		if s.lastOffset(b) <= last || entryPos(b) <= pos || s.lastOffset(b) >= trusted || entryPos(b) >= s.size.Load() {
			break
		}
		n, last, pos = n+1, s.lastOffset(b), entryPos(b)
	}
	return n
}

// soundTimes is the same for a time index.
func (s *segment) soundTimes(b []byte, trusted int64) int {
	n, last := 0, stamp{none, s.base - 1}
	for ; len(b) >= timeWidth; b = b[timeWidth:] {
		e := s.timeEntry(b)
		if e.time <= last.time || e.offset <= last.offset || e.offset >= trusted {
			break
		}
		n, last = n+1, e
	}
	return n
}

// agree is how many entries of both indexes can be kept together: those that were
// made up to the same batch. Where the time index ends earlier, one cannot know
// whether it lacks entries, so that the offset index must end there too.
func (s *segment) agree(offsets, times []byte) (n, m int) {
	n, m = len(offsets)/offsetWidth, len(times)/timeWidth
	known := s.base - 1
	if m > 0 {
		known = s.timeEntry(times[(m-1)*timeWidth:]).offset
	}
	for n > 0 && s.lastOffset(offsets[(n-1)*offsetWidth:]) > known {
		n--
	}
	known = s.base - 1
	if n > 0 {
		known = s.lastOffset(offsets[(n-1)*offsetWidth:])
	}
	for m > 0 && s.timeEntry(times[(m-1)*timeWidth:]).offset > known {
		m--
	}
	return n, m
}

// rebuild makes the indexes anew from the batches and puts them on the disk. The
// segment must be sealed.
func (s *segment) rebuild(interval int64) error {
	fresh := newSegment(s.log.files, "", s.base, "")
	fresh.offsets.file.name, fresh.times.file.name = s.offsets.file.name, s.times.file.name
	fresh.empty()
	err := s.scan(func(scan *scanner) error {
		most := int(scan.size/max(interval, 1)) + 2
		if err := errors.Join(fresh.offsets.reserve(most), fresh.times.reserve(most+1)); err != nil {
			return err
		}
		return scan.each(0, s.base, func(h record.Header, pos int64) (bool, error) {
			fresh.note(h, pos, interval)
			return true, nil
		})
	})
	if err != nil {
		return err
	}
	fresh.noteTime()
	s.newest.store(fresh.newest.load())
	s.offsets.state.Store(fresh.offsets.state.Load())
	s.times.state.Store(fresh.times.state.Load())
	s.wrong.Store(false)
	return errors.Join(s.offsets.finish(), s.times.finish())
}

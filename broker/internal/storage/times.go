package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"github.com/skeinstream/skein/broker/internal/record"
)

// Place is a record's place in the log.
type Place struct {
	Offset    int64
	Timestamp int64 // ms
	Epoch     int32 // leader epoch of its batch
}

// OffsetForTime finds the first record below upTo whose timestamp is at or after
// time (T27: the record itself, not its batch).
func (l *Log) OffsetForTime(time, upTo int64) (at Place, found bool, err error) {
	err = l.view(func(list []*segment, start int64) error {
		for _, s := range list {
			if s.base >= upTo {
				return nil
			}
			newest, err := s.newestStamp()
			if err != nil {
				return err
			}
			if newest.time < time {
				continue
			}
			if at, found, err = s.firstSince(time, start, upTo); found || err != nil {
				return err
			}
		}
		return nil
	})
	return at, found, l.wrap("looking for a time in log", err)
}

// MaxTimestamp finds the first record below upTo that has the largest timestamp
// of those. Records without timestamps are not found.
func (l *Log) MaxTimestamp(upTo int64) (at Place, found bool, err error) {
	err = l.view(func(list []*segment, start int64) error {
		var in *segment
		best := stamp{time: none}
		for _, s := range list {
			if s.base >= upTo {
				break
			}
			newest, err := s.newestBelow(start, upTo)
			if err != nil {
				return err
			}
			if newest.time > best.time {
				in, best = s, newest
			}
		}
		if in == nil {
			return nil
		}
		at, found, err = in.firstSince(best.time, start, upTo)
		return err
	})
	return at, found, l.wrap("looking for the largest timestamp in log", err)
}

// view calls fn with the segments from the one that the log starts in, and again
// when a segment was taken out of the log meanwhile.
func (l *Log) view(fn func(list []*segment, start int64) error) error {
	for {
		list := l.segments.Load()
		start := l.start.Load() // raised before segments go
		if l.closed.Load() {
			return ErrClosed
		}
		err := fn((*list)[floor(*list, start):], start)
		if !errors.Is(err, os.ErrNotExist) || l.segments.Load() == list {
			return err
		}
	}
}

// newestStamp is the largest timestamp of the segment.
func (s *segment) newestStamp() (stamp, error) {
	if v := s.newest.load(); v.time != unread {
		return v, nil
	}
	v, entry := stamp{none, s.base}, make([]byte, timeWidth)
	ok, err := s.times.last(entry)
	if err != nil {
		return v, err
	}
	if ok {
		v = s.timeEntry(entry)
	}
	s.newest.store(v)
	return v, nil
}

func (s *segment) timeEntry(entry []byte) stamp {
	return stamp{int64(binary.BigEndian.Uint64(entry)), s.base + int64(binary.BigEndian.Uint32(entry[8:]))}
}

// newestBelow is the largest timestamp of the records from start up to upTo,
// which no batch straddles. The offset is that of its batch's end.
func (s *segment) newestBelow(start, upTo int64) (stamp, error) {
	newest, err := s.newestStamp()
	if err != nil || s.base >= start && newest.offset < upTo {
		return newest, err
	}
	best := stamp{time: none}
	err = s.scan(func(scan *scanner) error {
		pos, err := s.lookup(scan, start)
		if err != nil {
			return err
		}
		return scan.each(pos, start, func(h record.Header, pos int64) (bool, error) {
			time, err := scan.newestSince(h, pos, start)
			if h.LastOffset() < upTo && time > best.time {
				best = stamp{time, h.LastOffset()}
			}
			return h.LastOffset() < upTo, err
		})
	})
	return best, err
}

// newestSince is the largest timestamp of the batch h at pos, of the records from
// start on.
func (s *scanner) newestSince(h record.Header, pos, start int64) (int64, error) {
	if h.BaseOffset >= start {
		return h.MaxTimestamp, nil
	}
	b, err := s.batch(h, pos, new([]byte))
	if err != nil {
		return none, err
	}
	most := int64(none)
	err = record.Walk(b, &s.inflate, func(r record.Record) bool {
		if h.BaseOffset+int64(r.OffsetDelta) >= start {
			most = max(most, r.Timestamp)
		}
		return true
	})
	return most, s.damaged(pos, h.BaseOffset, err)
}

// firstSince finds the first record at start or later and below upTo whose
// timestamp is at or after time.
func (s *segment) firstSince(time, start, upTo int64) (at Place, found bool, err error) {
	err = s.scan(func(scan *scanner) error {
		from, err := s.offsetBefore(scan, time)
		if err != nil {
			return err
		}
		pos, err := s.lookup(scan, max(from, start))
		if err != nil {
			return err
		}
		return scan.each(pos, start, func(h record.Header, pos int64) (bool, error) {
			if h.BaseOffset >= upTo || h.MaxTimestamp < time {
				return h.BaseOffset < upTo, nil
			}
			at, found, err = scan.firstRecord(h, pos, time, start)
			if found && at.Offset >= upTo {
				at, found = Place{}, false
				return false, nil
			}
			return !found, err
		})
	})
	return at, found, err
}

// offsetBefore is an offset before which every timestamp is below time.
func (s *segment) offsetBefore(scan *scanner, time int64) (int64, error) {
	entry := scan.entry[:timeWidth]
	n, err := s.times.search(entry, func(entry []byte) bool { return s.timeEntry(entry).time < time })
	if err != nil || n == 0 {
		return s.base, err
	}
	return s.timeEntry(entry).offset, nil
}

// scan opens the segment and lends fn a scanner of all of it.
func (s *segment) scan(fn func(*scanner) error) error {
	h, err := s.log.acquire()
	if err != nil {
		return fmt.Errorf("opening segment %d: %w", s.base, err)
	}
	defer h.release()
	scan := s.scanner(h)
	defer scan.done()
	return fn(scan)
}

// each calls fn for the batches from pos on that end at start or later, until it
// returns false.
func (s *scanner) each(pos, start int64, fn func(h record.Header, pos int64) (bool, error)) error {
	for pos < s.size {
		at, h, err := s.seek(pos, start)
		if err != nil || at == s.size {
			return err
		}
		if more, err := fn(h, at); err != nil || !more {
			return err
		}
		pos = at + int64(h.Size())
	}
	return nil
}

// firstRecord finds the first record of the batch h at pos that is at start or
// later and has a timestamp at or after time.
func (s *scanner) firstRecord(h record.Header, pos, time, start int64) (at Place, found bool, err error) {
	b, err := s.batch(h, pos, new([]byte))
	if err != nil {
		return at, false, err
	}
	err = record.Walk(b, &s.inflate, func(r record.Record) bool {
		offset := h.BaseOffset + int64(r.OffsetDelta)
		if r.Timestamp < time || offset < start {
			return true
		}
		at, found = Place{offset, r.Timestamp, h.LeaderEpoch}, true
		return false
	})
	return at, found, s.damaged(pos, h.BaseOffset, err)
}

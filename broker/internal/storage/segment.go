package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"sync/atomic"

	"github.com/skeinstream/skein/broker/internal/record"
)

const (
	offsetWidth = 8  // relative offset, position
	timeWidth   = 12 // timestamp, relative offset
)

// segment is one .log file with its indexes. Only the active segment, or one
// that the cleaner is writing, is appended to, by one goroutine. Everybody may
// read up to size meanwhile.
type segment struct {
	base    int64
	log     source
	offsets index // last offset and position of a batch, one in each interval
	times   index // largest timestamp so far and the last offset of its batch
	aborted txnIndex

	size   atomic.Int64
	newest sharedStamp
	ends   atomic.Pointer[ends]  // of the last batches; nil before the first append
	wrong  atomic.Bool           // the offset index was caught lying: scan instead
	readOn atomic.Pointer[place] // where the last reader of older batches goes on

	// What the appender alone knows.
	file        *handle // pinned while not everything is durable
	rollBase    int64   // largest timestamp of the first append, none without one
	next        int64   // where the following segment begins, once sealed
	created     int64   // ms; what roll time counts from without timestamps
	sinceIndex  int64   // bytes since the last index entry
	indexedTime int64   // of the last time index entry
	ragged      bool    // a failed append may have left bytes behind size
}

func newSegment(files *Files, dir string, base int64, state string) *segment {
	s := &segment{base: base, rollBase: none, indexedTime: none}
	s.newest.store(stamp{unread, base})
	s.log.files, s.log.name = files, fileName(dir, base, logSuffix+state)
	s.offsets.init(files, fileName(dir, base, indexSuffix+state), offsetWidth)
	s.times.init(files, fileName(dir, base, timeSuffix+state), timeWidth)
	s.aborted.init(files, fileName(dir, base, abortedSuffix+state))
	return s
}

// open makes the segment ready for appends and pins its file, which is made when
// it is missing. What stands behind the end, from an attempt that failed, goes.
func (s *segment) open(now int64) error {
	if s.file != nil {
		return nil
	}
	h, err := s.log.pin()
	if err != nil {
		return fmt.Errorf("opening segment %d: %w", s.base, err)
	}
	if size, err := h.file.Size(); err != nil || size > s.size.Load() {
		s.ragged = true
	}
	if s.size.Load() == 0 {
		s.created = now
		s.empty()
	}
	s.file = h
	return nil
}

// empty says that there is nothing in the segment and nothing beside it.
func (s *segment) empty() {
	s.newest.store(stamp{none, s.base})
	s.offsets.reset(0)
	s.times.reset(0)
	s.aborted.reset(nil)
}

// release lets the cache have the file.
func (s *segment) release() {
	if s.file != nil {
		s.log.unpin(s.file)
		s.file = nil
	}
}

// fits reports whether n bytes that end with offset last can be addressed from
// this segment.
func (s *segment) fits(n int, last int64) bool {
	return last-s.base <= math.MaxInt32 && s.size.Load()+int64(n) <= math.MaxInt32
}

// full reports whether an index has no room for another entry.
func (s *segment) full(maxBytes int64) bool {
	return int64(s.offsets.count()) >= maxBytes/offsetWidth || int64(s.times.count()) >= maxBytes/timeWidth-1
}

// append writes the batch b, whose header is h, at the end. After an error the
// segment is as it was.
func (s *segment) append(b []byte, h record.Header, interval int64) error {
	if err := s.smooth(); err != nil {
		return err
	}
	if err := errors.Join(s.offsets.reserve(1), s.times.reserve(2)); err != nil { // seal may add a time
		return err
	}
	pos := s.size.Load()
	if _, err := s.file.file.WriteAt(b, pos); err != nil {
		s.ragged = true
		return fmt.Errorf("writing segment %d: %w", s.base, errors.Join(err, s.smooth()))
	}
	s.note(h, pos, interval)
	end := pos + int64(len(b))
	s.size.Store(end)
	s.tail().put(h.LastOffset()+1, end)
	return nil
}

// smooth takes back what a failed append may have left behind the end, durably and
// at once: a crash could show those bytes where others are durable by then, in a
// write-ahead log. So a failure of it is final.
func (s *segment) smooth() error {
	if !s.ragged {
		return nil
	}
	err := s.file.file.Truncate(s.size.Load())
	if err == nil {
		err = s.file.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("taking back a failed write to segment %d: %w: %w", s.base, ErrSync, err)
	}
	s.ragged = false
	return nil
}

// note takes the batch h at pos into the indexes. It is the same for a batch
// that has just been written and one that recovery has read.
func (s *segment) note(h record.Header, pos, interval int64) {
	if pos == 0 {
		s.rollBase = h.MaxTimestamp
	}
	if h.MaxTimestamp > s.newest.load().time {
		s.newest.store(stamp{h.MaxTimestamp, h.LastOffset()})
	}
	if s.sinceIndex > interval {
		var entry [offsetWidth]byte
		binary.BigEndian.PutUint32(entry[:], uint32(h.LastOffset()-s.base))
		binary.BigEndian.PutUint32(entry[4:], uint32(pos))
		s.offsets.append(entry[:])
		s.noteTime()
		s.sinceIndex = 0
	}
	s.sinceIndex += int64(h.Size())
}

// noteTime adds the largest timestamp so far to the time index unless it is there.
func (s *segment) noteTime() {
	newest := s.newest.load()
	if newest.time <= s.indexedTime {
		return
	}
	s.indexedTime = newest.time
	var entry [timeWidth]byte
	binary.BigEndian.PutUint64(entry[:], uint64(newest.time))
	binary.BigEndian.PutUint32(entry[8:], uint32(newest.offset-s.base))
	s.times.append(entry[:])
}

// seal writes what the indexes hold in memory, the largest timestamp last, since
// nothing will be appended any more. It may be called again after an error.
func (s *segment) seal() error {
	if err := s.smooth(); err != nil {
		return err
	}
	if err := s.times.reserve(1); err != nil {
		return err
	}
	s.noteTime()
	return errors.Join(s.offsets.flush(), s.times.flush())
}

// finish makes what lies beside the batches durable. The segment must be sealed.
func (s *segment) finish() error {
	return errors.Join(s.offsets.finish(), s.times.finish(), s.aborted.sync())
}

// rollDue reports whether n bytes, whose largest timestamp is time, belong into a
// new segment. Roll time is measured by record timestamps, from the first append
// on, and by the clock only when that had none.
func (s *segment) rollDue(cfg *Config, n int, time, now int64) bool {
	size := s.size.Load()
	if size == 0 {
		return false
	}
	waited := time - s.rollBase
	if s.rollBase < 0 {
		waited = now - s.created
	}
	return size > cfg.SegmentBytes-int64(n) || waited > cfg.rollMs()-s.jitter(cfg) || s.full(cfg.IndexBytes)
}

// jitter spreads the rolls of many segments over segment.jitter.ms. It is drawn
// from the base offset and the path: nothing random, so that a run can be repeated.
func (s *segment) jitter(cfg *Config) int64 {
	most := min(cfg.SegmentJitterMs, cfg.rollMs())
	if most <= 0 {
		return 0
	}
	hash := fnv.New64a()
	hash.Write([]byte(s.log.name))
	return int64(hash.Sum64() % uint64(most))
}

func (s *segment) tail() *ends {
	e := s.ends.Load()
	if e == nil {
		e = newEnds()
		s.ends.Store(e)
	}
	return e
}

// close lets go of every file. Whoever reads from one still may.
func (s *segment) close() {
	s.release()
	s.drop()
}

// drop says that the segment's names are about to change or go.
func (s *segment) drop() {
	s.log.drop()
	s.offsets.file.drop()
	s.times.file.drop()
	s.aborted.file.drop()
}

package storage

import (
	"github.com/skeinstream/skein/broker/internal/record"
	"github.com/skeinstream/skein/internal/vfs"
)

// indexCheck compares the indexes of a segment with its batches, which come in
// order. Indexes may lack entries at their ends: those of an active segment do.
type indexCheck struct {
	offsets, times []byte
	aborted        error
	newest         stamp
	badOffsets     bool
	badTimes       bool
}

func (v *verifier) indexes(s *segment) (*indexCheck, error) {
	x := &indexCheck{newest: stamp{none, s.base}}
	var err error
	if x.offsets, err = s.offsets.load(); err != nil {
		return nil, err
	}
	if x.times, err = s.times.load(); err != nil {
		return nil, err
	}
	b, err := vfs.ReadFile(v.fs, s.aborted.file.name)
	if err != nil && !isNotExist(err) {
		return nil, err
	}
	_, x.aborted = parseAborted(b)
	sealed := s.base != v.listing.segments[len(v.listing.segments)-1]
	x.badOffsets = sealed && !v.listing.files[parsedKey{s.base, indexSuffix}]
	x.badTimes = sealed && !v.listing.files[parsedKey{s.base, timeSuffix}]
	return x, nil
}

// note compares the entries of the batch h at pos.
func (x *indexCheck) note(s *segment, h record.Header, pos int64) {
	if h.MaxTimestamp > x.newest.time {
		x.newest = stamp{h.MaxTimestamp, h.LastOffset()}
	}
	if len(x.offsets) >= offsetWidth && entryPos(x.offsets) <= pos {
		x.badOffsets = x.badOffsets || entryPos(x.offsets) != pos || s.lastOffset(x.offsets) != h.LastOffset()
		x.offsets = x.offsets[offsetWidth:]
	}
	if len(x.times) >= timeWidth && s.timeEntry(x.times).offset <= h.LastOffset() {
		x.badTimes = x.badTimes || s.timeEntry(x.times) != x.newest
		x.times = x.times[timeWidth:]
	}
}

// wrong is the names of the indexes that do not fit.
func (x *indexCheck) wrong(s *segment) (names []string) {
	if x.badOffsets || len(x.offsets) > 0 {
		names = append(names, s.offsets.file.name)
	}
	if x.badTimes || len(x.times) > 0 {
		names = append(names, s.times.file.name)
	}
	if x.aborted != nil {
		names = append(names, s.aborted.file.name)
	}
	return names
}

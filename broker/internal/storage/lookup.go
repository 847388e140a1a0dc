package storage

import (
	"encoding/binary"

	"github.com/skeinstream/skein/broker/internal/record"
)

// lookup returns a position at or before the batch that holds offset.
func (s *segment) lookup(scan *scanner, offset int64) (int64, error) {
	return s.lookupEntry(scan, func(entry []byte) bool { return s.lastOffset(entry) <= offset })
}

// lookupBefore returns the position of the last batch in the index that ends
// below offset and begins at position limit or before it; 0 when none does.
func (s *segment) lookupBefore(scan *scanner, offset, limit int64) (int64, error) {
	return s.lookupEntry(scan, func(entry []byte) bool {
		return s.lastOffset(entry) < offset && entryPos(entry) <= limit
	})
}

// lookupEntry returns the position in the last entry of the offset index for which
// before holds, 0 when there is none. What the index says is compared with the
// batch that it points to: an index that lies is not asked again.
func (s *segment) lookupEntry(scan *scanner, before func(entry []byte) bool) (int64, error) {
	if s.wrong.Load() {
		return 0, nil
	}
	entry := scan.entry[:offsetWidth]
	n, err := s.offsets.search(entry, before)
	if n == 0 || err != nil {
		return 0, err
	}
	pos := entryPos(entry)
	if h, err := scan.header(pos); err != nil || h.LastOffset() != s.lastOffset(entry) {
		s.wrong.Store(true)
		return 0, nil
	}
	return pos, nil
}

func (s *segment) lastOffset(entry []byte) int64 {
	return s.base + int64(binary.BigEndian.Uint32(entry))
}

func entryPos(entry []byte) int64 { return int64(binary.BigEndian.Uint32(entry[4:])) }

// seek goes from batch to batch, from pos on, to the first that ends at offset or
// later. pos is the end of the segment when there is none.
func (s *scanner) seek(pos, offset int64) (int64, record.Header, error) {
	for pos < s.size {
		h, err := s.header(pos)
		if err != nil {
			return pos, h, s.damaged(pos, offset, err)
		}
		if h.LastOffset() >= offset {
			return pos, h, nil
		}
		pos += int64(h.Size())
	}
	return s.size, record.Header{}, nil
}

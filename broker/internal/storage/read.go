package storage

import (
	"errors"
	"fmt"
	"os"
	"sort"
)

// Read returns whole batches from the one that holds from, or the next there is,
// all below upTo and together maxBytes long at most. minOne lets the first batch
// be longer (T21). It is empty, without an error, when from is not below upTo or
// the first batch is too long. The batches are of one segment: there may be more
// even when fewer than maxBytes come. Release what you get.
func (l *Log) Read(from, upTo int64, maxBytes int, minOne bool) (Slice, error) {
	for {
		end := l.end.Load() // before the list, which then holds everything below
		list := l.segments.Load()
		if start := l.start.Load(); from < start || from > end { // after it: raised before segments go
			return Slice{}, fmt.Errorf("reading offset %d of %d to %d: %w", from, start, end, ErrOffsetOutOfRange)
		}
		if l.closed.Load() {
			return Slice{}, ErrClosed
		}
		s, err := read(*list, from, min(upTo, end), int64(maxBytes), minOne)
		if errors.Is(err, os.ErrNotExist) && l.segments.Load() != list {
			continue // a segment was taken out of the log meanwhile
		}
		return s, l.wrap("reading log", err)
	}
}

func read(list []*segment, from, upTo, maxBytes int64, minOne bool) (Slice, error) {
	for i := floor(list, from); from < upTo && i < len(list); i++ {
		from = max(from, list[i].base) // compaction took what is between (T28)
		s, found, err := list[i].read(from, upTo, maxBytes, minOne)
		if err != nil || found {
			return s, err
		}
	}
	return Slice{Base: from, End: from}, nil
}

// floor is the index of the segment that offset belongs into.
func floor(list []*segment, offset int64) int {
	return max(0, sort.Search(len(list), func(i int) bool { return list[i].base > offset })-1)
}

// read is Log.Read within one segment; found is false when it holds no batch that
// ends at from or later.
func (s *segment) read(from, upTo, maxBytes int64, minOne bool) (r Slice, found bool, err error) {
	h, err := s.log.acquire()
	if err != nil {
		return Slice{}, false, fmt.Errorf("opening segment %d: %w", s.base, err)
	}
	r, found, err = s.cut(h, from, upTo, maxBytes, minOne)
	if r.Len == 0 || err != nil {
		h.release()
		return Slice{Base: from, End: from}, found, err
	}
	r.File, r.handle = h.file, h
	return r, true, nil
}

func (s *segment) cut(h *handle, from, upTo, maxBytes int64, minOne bool) (r Slice, found bool, err error) {
	kept := s.ends.Load()
	pos, exact := kept.find(from)
	if exact {
		if end, ok := kept.find(upTo); ok && end-pos <= maxBytes {
			return Slice{Pos: pos, Len: int(end - pos), Base: from, End: upTo}, true, nil
		}
	}
	scan := s.scanner(h)
	defer scan.done()
	if at := s.readOn.Load(); !exact && at != nil && at.offset == from {
		pos, exact = at.pos, true
	}
	if !exact {
		if pos, err = s.lookup(scan, from); err != nil {
			return Slice{}, false, err
		}
	}
	r, found, err = s.span(scan, pos, from, upTo, maxBytes, minOne)
	if err == nil && r.Len > 0 {
		s.readOn.Store(&place{offset: r.End, pos: r.Pos + int64(r.Len)})
	}
	return r, found, err
}

// place is the position behind the batches below offset. A consumer that reads
// on asks for it next, which spares it a search of the index.
type place struct{ offset, pos int64 }

// span finds the first batch at or behind pos that ends at from or later, and how
// far from there a reader may go.
func (s *segment) span(scan *scanner, pos, from, upTo, maxBytes int64, minOne bool) (r Slice, found bool, err error) {
	pos, first, err := scan.seek(pos, from)
	if err != nil || pos == scan.size {
		return Slice{}, false, err
	}
	size := int64(first.Size())
	if first.LastOffset() >= upTo || size > maxBytes && !minOne {
		return Slice{}, true, nil
	}
	r = Slice{Pos: pos, Base: first.BaseOffset}
	limit := min(pos+maxBytes, scan.size)
	at, end := pos+size, first.LastOffset()+1
	if at < limit {
		if at, end, err = s.reach(scan, at, end, upTo, limit); err != nil {
			return Slice{}, true, err
		}
	}
	r.Len, r.End = int(at-pos), end
	return r, true, nil
}

// reach is the last position up to limit at which a batch ends, and the offset
// that a reader goes on with there. Batches end at pos, those before it below end.
func (s *segment) reach(scan *scanner, pos, end, upTo, limit int64) (int64, int64, error) {
	if at, err := s.lookupBefore(scan, upTo, limit); err != nil {
		return pos, end, err
	} else if at > pos {
		pos = at
	}
	for pos < scan.size {
		h, err := scan.header(pos)
		if isDamage(err) {
			return pos, end, nil // what comes before it can be read; who reads on hears of it
		}
		if err != nil {
			return pos, end, fmt.Errorf("segment %d at byte %d: %w", s.base, pos, err)
		}
		if h.LastOffset() >= upTo || pos+int64(h.Size()) > limit {
			return pos, max(end, h.BaseOffset), nil
		}
		pos, end = pos+int64(h.Size()), h.LastOffset()+1
	}
	return pos, end, nil
}

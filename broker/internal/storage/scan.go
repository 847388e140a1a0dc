package storage

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/skeinstream/skein/broker/internal/record"
	"github.com/skeinstream/skein/internal/vfs"
)

// scanBytes is how much of a segment is read at once while headers are looked
// at: two pages hold the small batches of one index interval.
const scanBytes = 8192

// scanner reads batch headers of one segment. It comes from a pool: give it back
// with done.
type scanner struct {
	files *Files
	file  vfs.File
	name  string // of the file
	base  int64  // of the segment
	size  int64  // bytes from here on are not the log's
	last  place  // behind the header that was read last
	at    int64  // of buf in the file
	held  int    // bytes in buf
	entry [timeWidth]byte
	buf   [scanBytes]byte

	inflate record.Decompressors // for records looked at one by one
}

// scanner lends a scanner of the segment's file, which the caller has open.
func (s *segment) scanner(h *handle) *scanner {
	scan := s.log.files.scanner(h.file, s.size.Load())
	scan.name, scan.base = s.log.name, s.base
	return scan
}

func (f *Files) scanner(file vfs.File, size int64) *scanner {
	s, ok := f.buffers.Get().(*scanner)
	if !ok {
		s = new(scanner)
	}
	s.files, s.file, s.size, s.at, s.held = f, file, size, 0, 0
	s.name, s.base, s.last = "", 0, place{}
	return s
}

func (s *scanner) done() {
	s.file = nil
	s.files.buffers.Put(s)
}

// header reads the header at pos. The error wraps record.ErrTruncated when the
// segment ends before the batch does, record.ErrCorrupt when there is none.
func (s *scanner) header(pos int64) (record.Header, error) {
	b, err := s.bytes(pos, record.HeaderSize)
	if err != nil {
		return record.Header{}, err
	}
	h, err := record.ParseHeader(b)
	if err == nil && (h.BaseOffset < 0 || h.BaseOffset > math.MaxInt64-math.MaxInt32) { // else its last offset may overflow
		err = fmt.Errorf("base offset %d: %w", h.BaseOffset, record.ErrCorrupt)
	}
	if err == nil && pos+int64(h.Size()) > s.size {
		err = fmt.Errorf("batch of %d bytes with %d left: %w", h.Size(), s.size-pos, record.ErrTruncated)
	}
	if err == nil {
		s.last = place{offset: h.LastOffset() + 1, pos: pos + int64(h.Size())}
	}
	return h, err
}

// isDamage reports whether an error of reading means that what stands there is no
// valid batch.
func isDamage(err error) bool {
	return errors.Is(err, record.ErrCorrupt) || errors.Is(err, record.ErrTruncated)
}

// damaged makes an error of what stands at pos a *DamageError, if that is no valid
// batch. offset is what the reader is looking for, for want of a better place.
func (s *scanner) damaged(pos, offset int64, err error) error {
	if !isDamage(err) {
		return err
	}
	switch pos {
	case 0:
		offset = s.base
	case s.last.pos:
		offset = s.last.offset
	}
	return &DamageError{File: s.name, Position: pos, Offset: offset, Reason: err.Error(), cause: err}
}

// bytes returns up to n bytes from pos, fewer at the end of the segment; n is
// at most scanBytes. They are valid until the next call.
func (s *scanner) bytes(pos int64, n int) ([]byte, error) {
	n = int(min(int64(n), s.size-pos))
	if n <= 0 {
		return nil, nil
	}
	if pos < s.at || pos+int64(n) > s.at+int64(s.held) {
		want := min(scanBytes, s.size-pos)
		got, err := s.file.ReadAt(s.buf[:want], pos)
		if err != nil && !errors.Is(err, io.EOF) {
			s.held = 0
			return nil, fmt.Errorf("reading segment: %w", err)
		}
		s.at, s.held = pos, got
	}
	from := int(pos - s.at)
	return s.buf[from:min(from+n, s.held)], nil
}

// batch reads the whole batch h at pos into buf, which grows as needed. It is
// valid until buf is used again.
func (s *scanner) batch(h record.Header, pos int64, buf *[]byte) (record.Batch, error) {
	if h.Size() > cap(*buf) {
		*buf = make([]byte, h.Size())
	}
	b := (*buf)[:h.Size()]
	if n, err := s.file.ReadAt(b, pos); n < len(b) {
		return nil, fmt.Errorf("reading batch at byte %d: %w", pos, err)
	}
	return b, nil
}

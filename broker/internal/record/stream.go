package record

import (
	"errors"
	"io"
	"math"
)

// chunkSize is how much of a compressed batch is held inflated at a time.
const chunkSize = 64 << 10

// stream is the records of one batch, inflated as they are asked for: buf[at:]
// is there to be parsed, rd has what follows. Without compression, and where a
// codec inflates a whole batch at once, buf is everything and rd nil.
//
// A record that lies within the chunk is parsed in place. A larger one is either
// skipped through, when only its structure matters, or gathered piece by piece,
// so that memory grows by what is really there and never by a claimed length.
type stream struct {
	buf  []byte
	at   int
	rd   io.Reader
	room []byte // what buf is cut from when rd is set
	left int64  // how much may still be inflated
	size int64  // how much has been
	most int    // the longest record that is let pass
}

// whole makes s a stream of the bytes b.
func (s *stream) whole(b []byte) {
	*s = stream{buf: b, room: s.room, size: int64(len(b)), most: math.MaxInt32}
}

// inflating makes s a stream of what rd inflates, limit bytes at most.
func (s *stream) inflating(rd io.Reader, limit int64) {
	if s.room == nil {
		s.room = make([]byte, chunkSize)
	}
	*s = stream{buf: s.room[:0], rd: rd, room: s.room, left: limit, most: math.MaxInt32}
}

// fill makes at least n ≤ chunkSize bytes available. It returns io.EOF when the
// records end first; what there is can be parsed then.
func (s *stream) fill(n int) error {
	if len(s.buf)-s.at >= n {
		return nil
	}
	if s.rd == nil {
		return io.EOF
	}
	kept := copy(s.room, s.buf[s.at:])
	s.at = 0
	s.buf = s.room[:kept]
	for idle := 0; len(s.buf) < n; {
		got, err := s.rd.Read(s.room[len(s.buf):])
		s.buf = s.room[:len(s.buf)+got]
		s.left -= int64(got)
		s.size += int64(got)
		switch {
		case s.left < 0:
			return errInflatedSize
		case err == io.EOF:
			s.rd = nil
			if len(s.buf) >= n {
				return nil
			}
			return io.EOF
		case err != nil:
			return err
		case got == 0:
			if idle++; idle > 100 {
				return io.ErrNoProgress
			}
		}
	}
	return nil
}

// length reads a record's length.
func (s *stream) length() (int, error) {
	if len(s.buf)-s.at < varintMax {
		if err := s.fill(varintMax); err != nil && err != io.EOF {
			return 0, err
		}
	}
	n, i := varint(s.buf, s.at)
	if i < 0 {
		if s.at == len(s.buf) {
			return 0, errRecordsMissing
		}
		return 0, errVarint
	}
	s.at = i
	if n <= 0 {
		return 0, errRecordLength
	}
	if int(n) > s.most {
		return 0, errRecordSize
	}
	return int(n), nil
}

// scan reads one record and checks it.
func (s *stream) scan(f *fields) error {
	n, err := s.length()
	if err != nil {
		return err
	}
	if n > len(s.buf)-s.at {
		if s.rd == nil {
			return errRecordCut
		}
		if n > chunkSize {
			return s.scanLarge(n, f)
		}
		if err := s.fill(n); err != nil {
			return cutIfEOF(err)
		}
	}
	body := s.buf[s.at : s.at+n]
	s.at += n
	return f.scan(body)
}

// record reads one record's bytes, errLarge if there are more than limit. They are
// valid until the next call; big is memory to gather a large record in, grown as
// needed.
func (s *stream) record(big *[]byte, limit int) ([]byte, error) {
	n, err := s.length()
	if err != nil {
		return nil, err
	}
	if n > limit {
		return nil, errLarge
	}
	if n > len(s.buf)-s.at {
		if s.rd == nil {
			return nil, errRecordCut
		}
		if n > chunkSize {
			return s.gather(n, big)
		}
		if err := s.fill(n); err != nil {
			return nil, cutIfEOF(err)
		}
	}
	body := s.buf[s.at : s.at+n]
	s.at += n
	return body, nil
}

// gather collects the next n bytes.
func (s *stream) gather(n int, big *[]byte) ([]byte, error) {
	b := (*big)[:0]
	for len(b) < n {
		if err := s.fill(1); err != nil {
			return nil, cutIfEOF(err)
		}
		take := min(n-len(b), len(s.buf)-s.at)
		b = append(b, s.buf[s.at:s.at+take]...)
		s.at += take
	}
	*big = b
	return b, nil
}

// end checks that nothing follows, the codec's own trailer included.
func (s *stream) end() error {
	switch err := s.fill(1); {
	case err == io.EOF:
		return nil
	case err != nil:
		return err
	default:
		return errRecordsTooMany
	}
}

func cutIfEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return errRecordCut
	}
	return err
}

// scanLarge checks a record of n bytes that is larger than a chunk, holding none
// of it.
func (s *stream) scanLarge(n int, f *fields) error {
	l := large{s: s, left: n}
	l.skip(1) // attributes
	f.timestampDelta = l.varlong()
	f.offsetDelta = l.varint()
	key := l.varint()
	f.keyless = key < 0
	l.field(key)
	l.field(l.varint())
	headers := l.varint()
	if headers < 0 || int(headers) > l.left/2 {
		l.fail(errHeaderCount)
	}
	for ; headers > 0 && l.err == nil; headers-- {
		size := l.varint()
		if size == -1 {
			l.fail(errHeaderKey)
		}
		l.field(size)
		l.field(l.varint())
	}
	if l.left != 0 {
		l.fail(errRecordLength)
	}
	return l.err
}

// large reads the fields of one record of a stream in turn. After a fault it
// returns zeros and keeps the first error.
type large struct {
	s    *stream
	left int // bytes of the record not yet read
	err  error
}

func (l *large) fail(err error) {
	if l.err == nil {
		l.err = err
	}
}

func (l *large) skip(n int) {
	if n > l.left {
		l.fail(errRecordLength)
	}
	for n > 0 && l.err == nil {
		if err := l.s.fill(1); err != nil {
			l.fail(cutIfEOF(err))
			return
		}
		take := min(n, len(l.s.buf)-l.s.at)
		l.s.at += take
		l.left -= take
		n -= take
	}
}

// field skips a field of n bytes; -1 is null.
func (l *large) field(n int32) {
	if n < -1 {
		l.fail(errLength)
	}
	l.skip(max(int(n), 0))
}

func (l *large) varint() int32 {
	n, i := varint(l.peek(varintMax), 0)
	l.advance(i)
	return n
}

func (l *large) varlong() int64 {
	n, i := varlong(l.peek(varlongMax), 0)
	l.advance(i)
	return n
}

// peek returns up to n of the record's next bytes.
func (l *large) peek(n int) []byte {
	n = min(n, l.left)
	if l.err != nil {
		return nil
	}
	if err := l.s.fill(n); err != nil {
		l.fail(cutIfEOF(err))
		return nil
	}
	return l.s.buf[l.s.at : l.s.at+n]
}

func (l *large) advance(n int) {
	if n < 0 {
		l.fail(errVarint)
		return
	}
	l.s.at += n
	l.left -= n
}

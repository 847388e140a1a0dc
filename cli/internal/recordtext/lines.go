package recordtext

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/twmb/franz-go/pkg/kgo"
)

// LineForm says how a line becomes a record.
type LineForm struct {
	Delimiter    []byte // ends a record; empty means newline
	KeySeparator []byte // splits key from value at its first occurrence; empty means there are no keys
	Null         []byte // a key or value with exactly these bytes is null; nil means nothing is
	MaxBytes     int    // longest line; 0 means 1 GiB
}

const defaultMaxBytes = 1 << 30

// NewLines reads delimited records. An empty line is a record with an empty
// value; the delimiter after the last record may be missing.
func NewLines(r io.Reader, form LineForm) Reader {
	return &lineReader{form: form, in: newSplitter(r, form.Delimiter, form.MaxBytes)}
}

type lineReader struct {
	form LineForm
	in   *splitter
}

func (l *lineReader) Line() int { return l.in.count }

func (l *lineReader) Read() (*kgo.Record, error) {
	line, err := l.in.next()
	if err != nil {
		return nil, err
	}
	if len(l.form.KeySeparator) == 0 {
		return newRecord(nil, l.nullable(line)), nil
	}
	key, value, found := bytes.Cut(line, l.form.KeySeparator)
	if !found {
		return nil, &LineError{l.Line(), fmt.Errorf("there is no key separator %q in it: every line needs one between key and value; --key-separator names another", l.form.KeySeparator)}
	}
	return newRecord(l.nullable(key), l.nullable(value)), nil
}

func (l *lineReader) nullable(b []byte) []byte {
	if l.form.Null != nil && bytes.Equal(b, l.form.Null) {
		return nil
	}
	return b
}

// splitter cuts input at a delimiter.
type splitter struct {
	r     *bufio.Reader
	delim []byte
	max   int
	count int // pieces returned so far
}

func newSplitter(r io.Reader, delim []byte, maxBytes int) *splitter {
	if len(delim) == 0 {
		delim = []byte{'\n'}
	}
	if maxBytes == 0 {
		maxBytes = defaultMaxBytes
	}
	return &splitter{r: bufio.NewReaderSize(r, 256<<10), delim: delim, max: maxBytes}
}

// next returns the next piece, freshly allocated, without its delimiter.
func (s *splitter) next() ([]byte, error) {
	var piece []byte
	last := s.delim[len(s.delim)-1]
	for {
		part, err := s.r.ReadSlice(last)
		piece = append(piece, part...)
		switch {
		case len(piece) > s.max+len(s.delim):
			return nil, &LineError{s.count + 1, fmt.Errorf("it is longer than %d bytes", s.max)}
		case bytes.HasSuffix(piece, s.delim) && err == nil:
			s.count++
			return owned(piece[:len(piece)-len(s.delim)]), nil
		case err == io.EOF && len(piece) > 0:
			s.count++
			return owned(piece), nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// owned makes an empty piece empty rather than nil, which would be a null.
func owned(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

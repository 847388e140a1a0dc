package recordtext

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/twmb/franz-go/pkg/kgo"
)

// NewFramed reads records of lengths and bytes: key and value when keys is
// set, else the value alone. A length is 32 bits, big-endian; -1 is null.
// Fields longer than maxBytes are refused; 0 means 1 GiB.
func NewFramed(r io.Reader, keys bool, maxBytes int) Reader {
	if maxBytes == 0 {
		maxBytes = defaultMaxBytes
	}
	return &framedReader{r: bufio.NewReaderSize(r, 256<<10), keys: keys, max: maxBytes}
}

type framedReader struct {
	r     *bufio.Reader
	keys  bool
	max   int
	count int
}

func (f *framedReader) Line() int { return f.count }

func (f *framedReader) Read() (*kgo.Record, error) {
	if _, err := f.r.Peek(1); err != nil {
		return nil, err
	}
	f.count++
	var key []byte
	if f.keys {
		k, err := f.field("key")
		if err != nil {
			return nil, err
		}
		key = k
	}
	value, err := f.field("value")
	if err != nil {
		return nil, err
	}
	return newRecord(key, value), nil
}

func (f *framedReader) field(name string) ([]byte, error) {
	var prefix [4]byte
	if _, err := io.ReadFull(f.r, prefix[:]); err != nil {
		return nil, f.fail("the length of the %s is cut off: %w", name, eof(err))
	}
	n := int(int32(binary.BigEndian.Uint32(prefix[:])))
	switch {
	case n == -1:
		return nil, nil
	case n < 0 || n > f.max:
		return nil, f.fail("the %s has the impossible length %d", name, n)
	}
	return f.bytes(name, n)
}

// bytes grows as input arrives, so that a wrong length costs no memory.
func (f *framedReader) bytes(name string, n int) ([]byte, error) {
	const step = 1 << 20
	b := make([]byte, 0, min(n, step))
	for len(b) < n {
		from := len(b)
		b = append(b, make([]byte, min(n-from, step))...)
		if _, err := io.ReadFull(f.r, b[from:]); err != nil {
			return nil, f.fail("the %s of %d bytes is cut off: %w", name, n, eof(err))
		}
	}
	return b, nil
}

func (f *framedReader) fail(format string, args ...any) error {
	return &LineError{f.count, fmt.Errorf(format, args...)}
}

// AppendFramed writes what NewFramed with keys reads.
func AppendFramed(dst []byte, r *kgo.Record) []byte {
	return appendField(appendField(dst, r.Key), r.Value)
}

// AppendFramedValue writes what NewFramed without keys reads.
func AppendFramedValue(dst []byte, r *kgo.Record) []byte { return appendField(dst, r.Value) }

func appendField(dst, field []byte) []byte {
	return append(binary.BigEndian.AppendUint32(dst, uint32(size(field))), field...)
}

// size is the length of a field as the wire counts it: -1 for null.
func size(field []byte) int32 {
	if field == nil {
		return -1
	}
	return int32(len(field))
}

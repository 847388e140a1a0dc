package grouptags

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

var errShort = errors.New("the field ends early")

// reader takes Kafka's flexible encoding apart. After an error everything reads as zero.
type reader struct {
	rest []byte
	err  error
}

func (r *reader) take(n int) []byte {
	if r.err == nil && (n < 0 || n > len(r.rest)) {
		r.err = errShort
	}
	if r.err != nil {
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) int8() int8 {
	if b := r.take(1); b != nil {
		return int8(b[0])
	}
	return 0
}

func (r *reader) int32() int32 {
	if b := r.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (r *reader) int64() int64 {
	if b := r.take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

func (r *reader) uvarint() int {
	if r.err != nil {
		return 0
	}
	v, n := binary.Uvarint(r.rest)
	if n <= 0 || v > math.MaxInt32 {
		r.err = errShort
		return 0
	}
	r.rest = r.rest[n:]
	return int(v)
}

// bytes reads compact nullable bytes: nil is null.
func (r *reader) bytes() []byte {
	n := r.uvarint()
	if n == 0 {
		return nil
	}
	return r.take(n - 1)
}

// text reads a compact nullable string, null as "".
func (r *reader) text() string { return string(r.bytes()) }

// length reads the length of a compact array whose elements take at least size bytes.
func (r *reader) length(size int) int {
	n := r.uvarint() - 1
	if r.err == nil && n > len(r.rest)/size {
		r.err = errShort
	}
	if r.err != nil {
		return 0
	}
	return max(n, 0)
}

// tags passes over the tagged fields that end a structure.
func (r *reader) tags() {
	for n := r.uvarint(); n > 0 && r.err == nil; n-- {
		r.uvarint()
		r.take(r.uvarint())
	}
}

// end says what was wrong with a field.
func (r *reader) end(what string) error {
	switch {
	case r.err != nil:
		return fmt.Errorf("reading %s: %w", what, r.err)
	case len(r.rest) > 0:
		return fmt.Errorf("reading %s: %d bytes too many", what, len(r.rest))
	}
	return nil
}

func appendLength(dst []byte, n int) []byte { return binary.AppendUvarint(dst, uint64(n)+1) }

func appendText(dst []byte, s string) []byte { return append(appendLength(dst, len(s)), s...) }

// appendBytes writes compact nullable bytes.
func appendBytes(dst, b []byte) []byte {
	if b == nil {
		return append(dst, 0)
	}
	return append(appendLength(dst, len(b)), b...)
}

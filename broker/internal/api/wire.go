package api

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// errMalformed is what a request that cannot be read fails with; its connection is closed.
var errMalformed = errors.New("malformed request")

// partitionsMax is how many partitions, or other things, a request may name. A few bytes each would otherwise cost the
// broker many times their size in memory.
const partitionsMax = 1 << 16

// wireReader takes the fields of a request off its body, in order, without copying: what it returns shares the body's
// memory. After the first field that is not there every further one is zero; ask err at the end. Produce and Fetch are
// read with it, all other requests with kmsg, and the fuzz tests hold the two to the same answers.
type wireReader struct {
	rest     []byte
	flexible bool // compact lengths and tagged fields
	bad      bool
}

func (r *wireReader) err() error {
	if r.bad {
		return errMalformed
	}
	return nil
}

// take returns the next n bytes, or nil when they are not there.
func (r *wireReader) take(n int) []byte {
	if n < 0 || n > len(r.rest) {
		r.bad, r.rest = true, nil
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

func (r *wireReader) int8() int8 {
	if b := r.take(1); b != nil {
		return int8(b[0])
	}
	return 0
}

func (r *wireReader) int16() int16 {
	if b := r.take(2); b != nil {
		return int16(binary.BigEndian.Uint16(b))
	}
	return 0
}

func (r *wireReader) int32() int32 {
	if b := r.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (r *wireReader) int64() int64 {
	if b := r.take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

func (r *wireReader) uuid() (id [16]byte) {
	copy(id[:], r.take(16))
	return id
}

// uvarint reads an unsigned varint of at most 32 bits.
func (r *wireReader) uvarint() uint32 {
	if len(r.rest) > 0 && r.rest[0] < 0x80 {
		v := r.rest[0]
		r.rest = r.rest[1:]
		return uint32(v)
	}
	v, n := binary.Uvarint(r.rest)
	if n <= 0 || n > 5 || v > 1<<32-1 {
		r.take(-1)
		return 0
	}
	r.rest = r.rest[n:]
	return uint32(v)
}

// compactLen reads a length that is stored plus one; 0 is null and comes back as -1.
func (r *wireReader) compactLen() int { return int(r.uvarint()) - 1 }

// str reads a string; null is malformed.
func (r *wireReader) str() []byte {
	if r.flexible {
		return r.take(r.compactLen())
	}
	return r.take(int(r.int16()))
}

// nullableStr reads a string; null comes back as nil, the empty string does not.
func (r *wireReader) nullableStr() []byte {
	n := -1
	if r.flexible {
		n = r.compactLen()
	} else {
		n = int(r.int16())
	}
	return r.nullable(n)
}

// nullableBytes reads a byte string, such as records; null comes back as nil.
func (r *wireReader) nullableBytes() []byte {
	n := -1
	if r.flexible {
		n = r.compactLen()
	} else {
		n = int(r.int32())
	}
	return r.nullable(n)
}

// nullable takes n bytes, or none when n is negative. An empty slice of the body is not nil.
func (r *wireReader) nullable(n int) []byte {
	if n < 0 {
		return nil
	}
	return r.take(n)
}

// array reads the length of an array; null is malformed. Each element has at least one byte, so a length beyond what is
// left is a lie: nothing is ever sized by it.
func (r *wireReader) array() int {
	n := 0
	if r.flexible {
		n = r.compactLen()
	} else {
		n = int(r.int32())
	}
	if n < 0 || n > len(r.rest) {
		r.take(-1)
		return 0
	}
	return n
}

// tags skips the tagged fields that end a structure (T5: unknown tags are skipped).
func (r *wireReader) tags() {
	r.eachTag(nil)
}

// eachTag gives the content of each tagged field to known, when it is not nil.
func (r *wireReader) eachTag(known func(tag uint32, field *wireReader)) {
	if !r.flexible {
		return
	}
	for n := r.uvarint(); n > 0 && !r.bad; n-- {
		tag := r.uvarint()
		field := wireReader{rest: r.take(int(r.uvarint())), flexible: true}
		if known != nil && !r.bad {
			known(tag, &field)
			r.bad = r.bad || field.bad
		}
	}
}

// The functions below append fields to a response.

func appendInt16(b []byte, v int16) []byte { return binary.BigEndian.AppendUint16(b, uint16(v)) }
func appendInt32(b []byte, v int32) []byte { return binary.BigEndian.AppendUint32(b, uint32(v)) }
func appendInt64(b []byte, v int64) []byte { return binary.BigEndian.AppendUint64(b, uint64(v)) }

func appendUvarint(b []byte, v uint32) []byte { return binary.AppendUvarint(b, uint64(v)) }

// appendArray appends the length of an array.
func appendArray(b []byte, n int, flexible bool) []byte {
	if flexible {
		return appendUvarint(b, uint32(n)+1)
	}
	return appendInt32(b, int32(n))
}

// appendNullArray appends the length of an array that is null.
func appendNullArray(b []byte, flexible bool) []byte {
	if flexible {
		return append(b, 0)
	}
	return appendInt32(b, -1)
}

func appendString[S ~string | ~[]byte](b []byte, s S, flexible bool) []byte {
	if flexible {
		b = appendUvarint(b, uint32(len(s))+1)
	} else {
		b = appendInt16(b, int16(len(s)))
	}
	return append(b, s...)
}

// appendNullable appends a string of which "" is null: no message of ours is empty on purpose.
func appendNullable(b []byte, s string, flexible bool) []byte {
	switch {
	case s != "":
		return appendString(b, s, flexible)
	case flexible:
		return append(b, 0)
	default:
		return appendInt16(b, -1)
	}
}

// appendNoTags appends the end of a structure without tagged fields.
func appendNoTags(b []byte, flexible bool) []byte {
	if flexible {
		return append(b, 0)
	}
	return b
}

// malformed names the request that could not be read.
func malformed(what string, version int16, err error) error {
	return fmt.Errorf("reading %s v%d: %w", what, version, err)
}

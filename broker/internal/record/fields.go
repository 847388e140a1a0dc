package record

import (
	"errors"
	"fmt"
)

// What can be wrong with a record's structure. They are values and not built
// with details, so that refusing hostile input costs nothing.
var (
	errRecordLength   = errors.New("record length is not that of its fields")
	errRecordCut      = errors.New("record is longer than the batch")
	errRecordSize     = errors.New("record is longer than max.decompressed.message.bytes")
	errRecordsMissing = errors.New("batch has fewer records than its count")
	errRecordsTooMany = errors.New("bytes follow the last record")
	errVarint         = errors.New("number is cut off or too large for its field")
	errLength         = errors.New("length is negative and not -1")
	errHeaderCount    = errors.New("header count is negative or more than the record can hold")
	errHeaderKey      = errors.New("header key is null")
	errInflatedSize   = errors.New("batch inflates beyond the limit")
)

// fields is what validation wants to know of one record.
type fields struct {
	timestampDelta int64
	offsetDelta    int32
	keyless        bool
}

// scan checks that b, a record without its length, consists of its fields and
// nothing else, and notes those that validation looks at.
func (f *fields) scan(b []byte) error {
	var i int
	if len(b) == 0 {
		return errRecordLength
	}
	if f.timestampDelta, i = varlong(b, 1); i < 0 {
		return errVarint
	}
	if f.offsetDelta, i = varint(b, i); i < 0 {
		return errVarint
	}
	n, i := varint(b, i)
	f.keyless = n < 0
	if i = after(b, n, i); i < 0 {
		return lengthFault(n, i)
	}
	n, i = varint(b, i)
	if i = after(b, n, i); i < 0 {
		return lengthFault(n, i)
	}
	n, i = varint(b, i)
	if n != 0 || i < 0 {
		return scanHeaders(b, n, i)
	}
	if i != len(b) {
		return errRecordLength
	}
	return nil
}

// Results of after that are not an index.
const (
	varintFault = -1 // as varint returned it
	lengthBad   = -2
)

// after returns the index behind a field of n bytes that begins at i; i is as
// varint returned it. -1 for n is null.
func after(b []byte, n int32, i int) int {
	if n < -1 || i < 0 || int(n) > len(b)-i {
		return faultAfter(i)
	}
	return i + max(int(n), 0)
}

func faultAfter(i int) int {
	if i < 0 {
		return varintFault
	}
	return lengthBad
}

func lengthFault(n int32, i int) error {
	switch {
	case i == varintFault:
		return errVarint
	case n < -1:
		return errLength
	default:
		return errRecordLength
	}
}

// scanHeaders checks n headers from i on to the end of b.
func scanHeaders(b []byte, n int32, i int) error {
	if i < 0 {
		return errVarint
	}
	// A header has at least a length byte for its key and one for its value.
	if n < 0 || int(n) > (len(b)-i)/2 {
		return errHeaderCount
	}
	for ; n > 0; n-- {
		size, at := varint(b, i)
		if size == -1 && at > 0 {
			return errHeaderKey
		}
		if i = after(b, size, at); i < 0 {
			return lengthFault(size, i)
		}
		size, at = varint(b, i)
		if i = after(b, size, at); i < 0 {
			return lengthFault(size, i)
		}
	}
	if i != len(b) {
		return errRecordLength
	}
	return nil
}

// recordError places a fault.
func recordError(index int32, err error) error { return fmt.Errorf("record %d: %w", index, err) }

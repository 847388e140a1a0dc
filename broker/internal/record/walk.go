package record

import (
	"fmt"
	"iter"
	"math"
)

// Record is one record of a batch. Key, Value and what Headers yields share
// memory that is only valid until the function that got the Record returns.
type Record struct {
	Attributes  int8
	OffsetDelta int32  // the offset is the batch's base offset plus this
	Timestamp   int64  // the batch's max timestamp with LogAppendTime
	Key, Value  []byte // nil is null, which differs from empty
	HeaderCount int32
	headers     []byte // as in the batch, after the count
}

// RecordHeader is one header of a record. A nil Value is null.
type RecordHeader struct {
	Key   string
	Value []byte
}

// Headers yields the record's headers in order.
func (r Record) Headers() iter.Seq[RecordHeader] {
	return func(yield func(RecordHeader) bool) {
		b, i := r.headers, 0
		for range r.HeaderCount {
			var h RecordHeader
			var key []byte
			if key, i = field(b, i); i < 0 {
				return
			}
			if h.Value, i = field(b, i); i < 0 {
				return
			}
			h.Key = string(key)
			if !yield(h) {
				return
			}
		}
	}
}

// Walk calls fn for each record of one whole batch until fn returns false. It
// verifies no checksum and, so that it reads whatever is in a log, asks less than
// a Validator: records may be missing, so offset deltas need not be continuous.
// The error wraps ErrCorrupt. A nil dec makes decoders for this call alone.
func Walk(batch []byte, dec *Decompressors, fn func(Record) bool) error {
	b, h, err := First(batch)
	if err != nil {
		return err
	}
	if dec == nil {
		dec = new(Decompressors)
	}
	defer dec.release()
	if err := walk(b, h, dec, fn); err != nil {
		return fmt.Errorf("batch at offset %d: %w: %w", h.BaseOffset, err, ErrCorrupt)
	}
	return nil
}

func walk(b Batch, h Header, dec *Decompressors, fn func(Record) bool) error {
	if h.Count == 0 && len(b.Payload()) == 0 {
		return nil // nothing is left of it, whatever its codec
	}
	s, err := dec.open(h.Codec(), b.Payload(), max(inflatedMaxDefault, 128*int64(len(b))))
	if err != nil {
		return err
	}
	for i := range h.Count {
		raw, err := s.record(&dec.big, math.MaxInt)
		if err != nil {
			return recordError(i, err)
		}
		r, err := parse(raw, h)
		if err != nil {
			return recordError(i, err)
		}
		if !fn(r) {
			return nil
		}
	}
	return s.end()
}

// parse reads a record's fields. Negative lengths are null, as Kafka reads them.
func parse(b []byte, h Header) (Record, error) {
	var f fields
	if len(b) == 0 {
		return Record{}, errRecordLength
	}
	r := Record{Attributes: int8(b[0])}
	var i int
	if f.timestampDelta, i = varlong(b, 1); i < 0 {
		return r, errVarint
	}
	if r.OffsetDelta, i = varint(b, i); i < 0 {
		return r, errVarint
	}
	if r.Key, i = field(b, i); i < 0 {
		return r, errRecordLength
	}
	if r.Value, i = field(b, i); i < 0 {
		return r, errRecordLength
	}
	if r.HeaderCount, i = varint(b, i); i < 0 {
		return r, errVarint
	}
	r.headers = b[i:]
	r.Timestamp = h.BaseTimestamp + f.timestampDelta
	if h.LogAppendTime() {
		r.Timestamp = h.MaxTimestamp
	}
	return r, scanHeaders(b, r.HeaderCount, i)
}

// field reads a field behind its length at b[i:] and returns the index after it.
func field(b []byte, i int) ([]byte, int) {
	n, i := varint(b, i)
	if i < 0 || int(n) > len(b)-i {
		return nil, -1
	}
	if n < 0 {
		return nil, i
	}
	end := i + int(n)
	return b[i:end:end], end
}

package record

import "errors"

// Record is one record of a batch. Key, Value and what Headers yields share
// memory that is only valid until the function that got the Record returns.
type Record struct {
	Attributes  int8
	OffsetDelta int32  // the offset is the batch's base offset plus this
	Timestamp   int64  // the batch's max timestamp with LogAppendTime
	Key, Value  []byte // nil is null, which differs from empty
	HeaderCount int32
	headers     []byte
}

// RecordHeader is one header of a record. A nil Value is null.
type RecordHeader struct {
	Key   string
	Value []byte
}

// Decompressors holds one decoder of each codec for re-use. It may be used by
// one goroutine at a time; the zero value is ready.
type Decompressors struct{}

// Walk calls fn for each record of one whole batch until fn returns false.
// Records may be missing from a compacted batch, so offset deltas ascend but
// need not be continuous. The error wraps ErrCorrupt. A nil dec makes decoders
// for this call alone.
func Walk(batch []byte, dec *Decompressors, fn func(Record) bool) error {
	return errors.New("not built yet")
}

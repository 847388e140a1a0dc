package record

import "encoding/binary"

// Builder builds one batch: set the fields first, then call Append for each
// record, then Bytes. NewBuilder sets what a batch without producer has. The base
// timestamp is that of the first record, or DeleteHorizon.
//
// It serves the cleaner, the coordinators and tests; a Builder may be used by
// one goroutine at a time and, after Reset, for further batches.
type Builder struct {
	BaseOffset    int64
	LeaderEpoch   int32
	Codec         Codec // an unknown one leaves the records uncompressed
	Level         int   // as in Target
	ProducerID    int64
	ProducerEpoch int16
	BaseSequence  int32
	Transactional bool
	Control       bool
	// LogAppendTime, when not 0, is the time that all records have.
	LogAppendTime int64
	// DeleteHorizon, when not 0, is written as the batch's delete horizon.
	DeleteHorizon int64
	// LastOffsetDelta, when larger than the last record's, is written instead: a
	// batch keeps its span when compaction takes records from it.
	LastOffsetDelta int32

	records       []byte
	body          []byte
	count         int32
	last          int32 // the last record's offset delta
	baseTimestamp int64
	maxTimestamp  int64
	compressors   Compressors
}

// NewBuilder returns a builder for a batch without producer and without leader
// epoch, which begins at offset base.
func NewBuilder(base int64) *Builder {
	b := new(Builder)
	b.Reset(base)
	return b
}

// Reset begins another batch, with every field as NewBuilder sets it.
func (b *Builder) Reset(base int64) {
	*b = Builder{
		BaseOffset: base, LeaderEpoch: -1,
		ProducerID: noProducerID, ProducerEpoch: noProducerEpoch, BaseSequence: noSequence,
		records: b.records[:0], body: b.body[:0], last: -1, maxTimestamp: noTimestamp, compressors: b.compressors,
	}
}

// Like begins another batch with the offsets, leader epoch, codec, producer,
// timestamp type, kind and delete horizon of the batch h.
func (b *Builder) Like(h Header) {
	b.Reset(h.BaseOffset)
	b.LeaderEpoch, b.LastOffsetDelta, b.Codec = h.LeaderEpoch, h.LastOffsetDelta, h.Codec()
	b.ProducerID, b.ProducerEpoch, b.BaseSequence = h.ProducerID, h.ProducerEpoch, h.BaseSequence
	b.Transactional, b.Control = h.Transactional(), h.Control()
	if h.LogAppendTime() {
		b.LogAppendTime = h.MaxTimestamp
	}
	if h.HasDeleteHorizon() {
		b.DeleteHorizon = h.BaseTimestamp
	}
}

// Len is the number of records appended.
func (b *Builder) Len() int { return int(b.count) }

// Size is the number of bytes that the batch would have without compression.
func (b *Builder) Size() int { return HeaderSize + len(b.records) }

// Append adds a record at the next offset. A nil key or value is null.
func (b *Builder) Append(timestamp int64, key, value []byte, headers ...RecordHeader) *Builder {
	var raw []byte
	for _, h := range headers {
		raw = binary.AppendVarint(raw, int64(len(h.Key)))
		raw = append(raw, h.Key...)
		raw = appendField(raw, h.Value)
	}
	return b.AppendRecord(Record{
		OffsetDelta: b.last + 1, Timestamp: timestamp, Key: key, Value: value,
		HeaderCount: int32(len(headers)), headers: raw,
	})
}

// AppendRecord adds a record as Walk gave it, with its own offset delta, which
// must be above that of the record before.
func (b *Builder) AppendRecord(r Record) *Builder {
	if b.count == 0 {
		b.baseTimestamp = r.Timestamp
		if b.DeleteHorizon != 0 {
			b.baseTimestamp = b.DeleteHorizon
		}
	}
	body := append(b.body[:0], byte(r.Attributes))
	body = binary.AppendVarint(body, r.Timestamp-b.baseTimestamp)
	body = binary.AppendVarint(body, int64(r.OffsetDelta))
	body = appendField(body, r.Key)
	body = appendField(body, r.Value)
	body = binary.AppendVarint(body, int64(r.HeaderCount))
	body = append(body, r.headers...)
	b.body = body
	b.records = binary.AppendVarint(b.records, int64(len(body)))
	b.records = append(b.records, body...)
	b.count++
	b.last = r.OffsetDelta
	b.maxTimestamp = max(b.maxTimestamp, r.Timestamp)
	return b
}

func appendField(b, field []byte) []byte {
	if field == nil {
		return binary.AppendVarint(b, -1)
	}
	return append(binary.AppendVarint(b, int64(len(field))), field...)
}

// Bytes returns the batch, checksum included, in memory of its own.
func (b *Builder) Bytes() Batch {
	out := make([]byte, HeaderSize, HeaderSize+len(b.records))
	out, codec := b.compressors.append(out, b.records, Target{Codec: b.Codec, Level: b.Level})
	h := b.header(len(out))
	h.Attributes |= int16(codec)
	h.put(out)
	seal(out)
	return out
}

func (b *Builder) header(size int) Header {
	h := Header{
		BaseOffset: b.BaseOffset, Length: int32(size - lengthEnd), LeaderEpoch: b.LeaderEpoch, Magic: Magic,
		Attributes: b.attributes(), LastOffsetDelta: max(b.last, b.LastOffsetDelta),
		BaseTimestamp: b.baseTimestamp, MaxTimestamp: b.maxTimestamp,
		ProducerID: b.ProducerID, ProducerEpoch: b.ProducerEpoch, BaseSequence: b.BaseSequence, Count: b.count,
	}
	if b.LogAppendTime != 0 {
		h.MaxTimestamp = b.LogAppendTime
	}
	return h
}

func (b *Builder) attributes() int16 {
	var a int16
	for _, f := range [...]struct {
		set bool
		bit int16
	}{
		{b.LogAppendTime != 0, logAppendTimeBit},
		{b.Transactional, transactionalBit},
		{b.Control, controlBit},
		{b.DeleteHorizon != 0, deleteHorizonBit},
	} {
		if f.set {
			a |= f.bit
		}
	}
	return a
}

// EmptyBatch is what remains of a batch whose records compaction has all taken,
// when the batch must stay: its header, with its offsets, producer and epoch, so
// that the producer's last sequence survives.
func EmptyBatch(h Header) Batch {
	h.Length = minLength
	h.Attributes &= transactionalBit | controlBit | logAppendTimeBit
	h.BaseTimestamp = noTimestamp
	h.Count = 0
	out := make([]byte, HeaderSize)
	h.put(out)
	seal(out)
	return out
}

package record

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Validator checks what clients produce. It keeps buffers and codecs between
// calls, so keep one for each goroutine that validates, or a pool of them; the
// zero value is ready. One that has met no compressed batch holds no memory.
type Validator struct {
	// Gate is passed by batches that need much memory, if it is set.
	Gate Gate

	large   int // for tests; 0 is largeDefault
	entered bool
	inflate Decompressors
	deflate Compressors
	raw     []byte // inflated records on their way to another codec
	rules   Rules  // of the batch at hand: kept here, they need no memory of their own
	tally   tally
}

// Validate checks b, the records that a client sent for one partition, in
// Kafka's order, so that a batch with several faults is refused for the same one
// there and here, and returns what to store. The error is a *Refusal.
//
// What is stored is b itself wherever that is possible; its max timestamp, its
// attributes and with them its checksum may be put right in place, as Kafka does.
// Offset and leader epoch are for PatchOffset. Accepted.Bytes shares b's memory
// unless Recoded. Bytes behind the batch that cannot be another one are cut off,
// again as Kafka does.
func (v *Validator) Validate(b []byte, r Rules) (Accepted, error) {
	v.rules, v.inflate.owner = r, v
	batch, h, refusal := single(b, &v.rules)
	if refusal != nil {
		return Accepted{}, refusal
	}
	if refusal := checkHeader(batch, h, &v.rules); refusal != nil {
		return Accepted{}, refusal
	}
	defer v.release()
	if r.HeaderOnly && !r.Compacted && h.Codec() != None && !r.recodes(h) {
		v.tally = unread(h, &v.rules)
	} else if refusal := v.records(batch, h); refusal != nil {
		return Accepted{}, refusal
	}
	a, refusal := v.accept(batch, h)
	if refusal != nil {
		return Accepted{}, refusal
	}
	return a, nil
}

// release lets go of the batch, and of memory that only a large one needed.
func (v *Validator) release() {
	v.inflate.release()
	v.tally = tally{}
	v.raw = retained(v.raw)
	v.leave()
}

// Bounds of what Kafka looks at before it takes bytes for a batch.
const (
	kafkaHeadSize  = magicAt + 1 // up to the magic
	kafkaMinLength = 14          // of the length field, from the times of magic 0
)

// single checks that b begins with one batch of magic 2, and with no second.
func single(b []byte, r *Rules) (Batch, Header, *Refusal) {
	size, refusal := frame(b)
	if refusal != nil {
		return nil, Header{}, refusal
	}
	if size == 0 {
		return nil, Header{}, refuseEarly(kerr.InvalidRecord, "no whole record batch in %d bytes", len(b))
	}
	if b[magicAt] != Magic {
		return nil, Header{}, refuseEarly(kerr.InvalidRecord, "batch has magic %d, want %d", b[magicAt], Magic)
	}
	batch, rest := Batch(b[:size:size]), b[size:]
	if r.ZstdRefused && size > attributesAt+1 && Codec(batch[attributesAt+1]&byte(codecMask)) == Zstd {
		return nil, Header{}, refuseEarly(kerr.UnsupportedCompressionType, "zstd needs Produce version 7 or later")
	}
	second, refusal := frame(rest)
	if refusal != nil {
		return nil, Header{}, refusal
	}
	if second > 0 {
		return nil, Header{}, refuseEarly(kerr.InvalidRecord, "more than one record batch for a partition")
	}
	if size < HeaderSize {
		return batch, Header{}, nil
	}
	return batch, decodeHeader(batch), nil
}

// frame returns the size of the batch at the start of b, 0 when b ends first.
func frame(b []byte) (int, *Refusal) {
	if len(b) < lengthEnd {
		return 0, nil
	}
	length := int32(binary.BigEndian.Uint32(b[lengthAt:]))
	if length < kafkaMinLength {
		return 0, refuseEarly(kerr.CorruptMessage, "batch length %d is less than %d", length, kafkaMinLength)
	}
	if len(b) < kafkaHeadSize {
		return 0, nil
	}
	if b[magicAt] > Magic {
		return 0, refuseEarly(kerr.CorruptMessage, "unknown magic %d", int8(b[magicAt]))
	}
	if int64(len(b)) < lengthEnd+int64(length) {
		return 0, nil
	}
	return lengthEnd + int(length), nil
}

// checkHeader checks what can be known without looking at records. A batch that
// is shorter than a header has h zero.
func checkHeader(b Batch, h Header, r *Rules) *Refusal {
	if base := int64(binary.BigEndian.Uint64(b[baseOffsetAt:])); base != 0 && !r.Internal {
		return refuse(kerr.InvalidRecord, "base offset is %d, want 0", base)
	}
	if r.MaxBytes > 0 && len(b) > r.MaxBytes {
		return refuseEarly(kerr.MessageTooLarge, "batch has %d bytes, max.message.bytes is %d", len(b), r.MaxBytes)
	}
	if len(b) < HeaderSize {
		return refuseEarly(kerr.CorruptMessage, "batch has %d bytes, its header alone has %d", len(b), HeaderSize)
	}
	if err := b.Verify(); err != nil {
		return refuseEarly(kerr.CorruptMessage, "%v", err)
	}
	if !h.Codec().Known() {
		return refuse(kerr.UnsupportedCompressionType, "unknown compression codec %d", int8(h.Codec()))
	}
	if int64(h.LastOffsetDelta)+1 != int64(h.Count) || h.Count <= 0 {
		return refuse(kerr.InvalidRecord, "last offset delta %d and record count %d do not agree", h.LastOffsetDelta, h.Count)
	}
	if r.Internal {
		return nil
	}
	if h.Control() {
		return refuse(kerr.InvalidRecord, "control batches are not for clients to write")
	}
	if h.HasProducer() && !h.HasSequence() {
		return refuse(kerr.InvalidRecord, "sequence %d of producer %d is negative", h.BaseSequence, h.ProducerID)
	}
	return nil
}

// records inflates the batch and walks its records.
func (v *Validator) records(b Batch, h Header) *Refusal {
	if v.rules.recodes(h) {
		return v.gather(b, h)
	}
	_, err := v.scan(b, h)
	return v.verdict(h, err)
}

// open begins to inflate the batch, and to count from nothing.
func (v *Validator) open(b Batch, h Header) (*stream, error) {
	v.tally = newTally(h, &v.rules)
	s, err := v.inflate.open(h.Codec(), b.Payload(), v.rules.inflatedMax())
	if err == nil && v.rules.RecordMax > 0 && h.Codec() != None {
		s.most = v.rules.RecordMax
	}
	return s, err
}

// verdict is what the walk has come to.
func (v *Validator) verdict(h Header, err error) *Refusal {
	if err != nil {
		return refuseBytes(h.Codec(), err)
	}
	return v.tally.refusal()
}

// scan walks the records, and returns how large they are all together.
func (v *Validator) scan(b Batch, h Header) (int64, error) {
	s, err := v.open(b, h)
	if err != nil {
		return 0, err
	}
	err = scanAll(s, h, &v.tally)
	return s.size, err
}

func scanAll(s *stream, h Header, t *tally) error {
	var f fields
	for i := range h.Count {
		if err := s.scan(&f); err != nil {
			return recordError(i, err)
		}
		if f.offsetDelta != i {
			return deltaError(i, f.offsetDelta)
		}
		t.add(i, &f)
	}
	return s.end()
}

// collect is scan that also gathers the records, lengths and all, in v.raw. It is
// errLarge when they take more than most.
func (v *Validator) collect(b Batch, h Header, most int) error {
	s, err := v.open(b, h)
	if err != nil {
		return err
	}
	var f fields
	v.raw = v.raw[:0]
	for i := range h.Count {
		raw, err := s.record(&v.inflate.big, most-len(v.raw))
		if errors.Is(err, errLarge) {
			return err
		}
		if err == nil {
			err = f.scan(raw)
		}
		if err != nil {
			return recordError(i, err)
		}
		if f.offsetDelta != i {
			return deltaError(i, f.offsetDelta)
		}
		v.tally.add(i, &f)
		v.raw = binary.AppendVarint(v.raw, int64(len(raw)))
		v.raw = append(v.raw, raw...)
	}
	return s.end()
}

// deltaError: Kafka 4.4 stores an uncompressed batch whose deltas are not 0, 1,
// 2…, and answers UNKNOWN_SERVER_ERROR to a compressed one. Stored, its records
// have offsets outside the batch's, which consumers read twice or never.
func deltaError(index, delta int32) error {
	return fmt.Errorf("record %d: offset delta is %d", index, delta)
}

// accept makes the batch what is to be stored.
func (v *Validator) accept(b Batch, h Header) (Accepted, *Refusal) {
	r, t := &v.rules, &v.tally
	a := Accepted{Bytes: b, MaxTimestamp: t.max, OffsetDeltaOfMax: t.maxAt}
	switch {
	case r.recodes(h):
		a.Bytes, a.Recoded = v.recode(h), true
		if r.MaxBytes > 0 && len(a.Bytes) > r.MaxBytes {
			return Accepted{}, v.tooLarge(int64(len(a.Bytes)))
		}
	case r.LogAppendTime != h.LogAppendTime() || t.max != h.MaxTimestamp:
		restamp(b, h, r, t.max)
	}
	if r.SegmentBytes > 0 && len(a.Bytes) > r.SegmentBytes {
		return Accepted{}, refuseEarly(kerr.RecordListTooLarge, "batch has %d bytes, segment.bytes is %d", len(a.Bytes), r.SegmentBytes)
	}
	a.Header = decodeHeader(a.Bytes)
	return a, nil
}

// restamp puts the timestamp type and the max timestamp right. Kafka writes the
// attributes anew when it does so, which drops the bits that have no meaning.
func restamp(b Batch, h Header, r *Rules, maxTimestamp int64) {
	h.Attributes = h.Attributes&^logAppendTimeBit&knownBits | r.timestampBit()
	h.MaxTimestamp = maxTimestamp
	h.put(b)
	seal(b)
}

func (r *Rules) timestampBit() int16 {
	if r.LogAppendTime {
		return logAppendTimeBit
	}
	return 0
}

// recode builds the batch anew from v.raw with the target's codec. Producer,
// sequence, timestamps, headers and the transactional and control bits stay.
func (v *Validator) recode(h Header) Batch {
	out := make([]byte, HeaderSize, HeaderSize+min(len(v.raw)/2, retainedMax)+1024)
	out, codec := v.deflate.append(out, v.raw, v.rules.Target)
	h.Length = int32(len(out) - lengthEnd)
	h.Attributes = h.Attributes&(transactionalBit|controlBit) | int16(codec) | v.rules.timestampBit()
	h.MaxTimestamp = v.tally.max
	h.put(out)
	seal(out)
	return out
}

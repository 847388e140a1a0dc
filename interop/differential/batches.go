package differential

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strings"

	"github.com/pierrec/lz4/v4"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// batchSpec says which batch to send, in a form that does not depend on the
// side.
type batchSpec struct {
	records  []recordSpec
	time     int64 // of the first record, ms
	codec    int16 // as in the attributes, 5 to 7 being none
	producer string
	epoch    int16 // added to the producer's own
	sequence int32
	flags    int16  // further attribute bits
	wrong    string // one of the wrongs below, or empty
}

type recordSpec struct {
	key, value string // "null" for null
	later      int64  // ms after the batch's first
	headers    int
}

// wrongs are the ways in which a batch can be wrong by itself.
func wrongs() []string {
	return []string{
		"crc", "count+1", "count-1", "count 0", "last offset delta", "base offset", "magic 0", "magic 1", "magic 3",
		"length+1", "length-1", "cut", "empty", "no records", "two batches", "trailing bytes", "negative time",
		"record length", "record offsets", "record count varint", "record attributes", "header count", "bad compression",
		"control bit", "transactional bit", "unused bits", "negative sequence", "negative epoch", "max time",
		"lz4 linked", "partition leader epoch", "delete horizon bit", "inner garbage",
	}
}

func (b batchSpec) String() string {
	var records []string
	for _, r := range b.records {
		records = append(records, fmt.Sprintf("%s=%s+%d/h%d", short(r.key), short(r.value), r.later, r.headers))
	}
	text := fmt.Sprintf("batch{%s time %d codec %d", strings.Join(records, " "), b.time, b.codec)
	if b.producer != "" {
		text += fmt.Sprintf(" producer %s%+d seq %d", b.producer, b.epoch, b.sequence)
	}
	if b.flags != 0 {
		text += fmt.Sprintf(" flags %#x", b.flags)
	}
	if b.wrong != "" {
		text += " WRONG " + b.wrong
	}
	return text + "}"
}

func short(s string) string {
	if len(s) > 12 {
		return fmt.Sprintf("%s…%d", s[:6], len(s))
	}
	return s
}

// bytes builds the batch for one side.
func (b batchSpec) bytes(s *side) []byte {
	switch b.wrong {
	case "empty":
		return []byte{}
	case "magic 0", "magic 1":
		return oldMessage(b.wrong[6] - '0')
	}
	batch := b.header(s)
	batch.Records = b.compressed(b.body())
	b.spoil(&batch)
	out := seal(batch)
	return b.spoilBytes(out)
}

func (b batchSpec) header(s *side) kmsg.RecordBatch {
	p := s.producer(b.producer)
	batch := kmsg.RecordBatch{
		Magic:                2,
		PartitionLeaderEpoch: -1,
		Attributes:           b.codec | b.flags,
		LastOffsetDelta:      int32(len(b.records) - 1),
		FirstTimestamp:       b.time,
		MaxTimestamp:         b.time,
		ProducerID:           p.id,
		ProducerEpoch:        p.epoch + b.epoch,
		FirstSequence:        b.sequence,
		NumRecords:           int32(len(b.records)),
	}
	if b.producer == "" {
		batch.FirstSequence = -1
	}
	for _, r := range b.records {
		batch.MaxTimestamp = max(batch.MaxTimestamp, b.time+r.later)
	}
	return batch
}

// body is the records one after another, before compression.
func (b batchSpec) body() []byte {
	var body []byte
	for i, r := range b.records {
		record := kmsg.Record{TimestampDelta64: r.later, OffsetDelta: int32(i), Key: nullable(r.key), Value: nullable(r.value)}
		for h := range r.headers {
			record.Headers = append(record.Headers, kmsg.Header{Key: fmt.Sprint("h", h), Value: []byte("v")})
		}
		b.spoilRecord(i, &record)
		inner := record.AppendTo(nil)[1:] // a length of 0 takes one byte
		if b.wrong == "header count" && i == len(b.records)-1 {
			inner[len(inner)-1] = 40 // claims 20 headers
		}
		length := len(inner)
		if b.wrong == "record length" && i == 0 {
			length++
		}
		body = append(binary.AppendVarint(body, int64(length)), inner...)
	}
	if b.wrong == "inner garbage" {
		body = append(body, "garbage after the last record"...)
	}
	return body
}

func (b batchSpec) spoilRecord(i int, r *kmsg.Record) {
	switch {
	case b.wrong == "record offsets" && i == len(b.records)-1:
		r.OffsetDelta += 3
	case b.wrong == "record attributes":
		r.Attributes = 1
	}
}

func (b batchSpec) compressed(body []byte) []byte {
	if b.wrong == "bad compression" {
		return append([]byte("this is no compressed data"), body...)
	}
	if b.wrong == "lz4 linked" {
		return linkedLz4(body)
	}
	codecs := map[int16]kgo.CompressionCodec{
		1: kgo.GzipCompression(), 2: kgo.SnappyCompression(), 3: kgo.Lz4Compression(), 4: kgo.ZstdCompression(),
	}
	codec, known := codecs[b.codec]
	if !known {
		return body
	}
	compressor, err := kgo.DefaultCompressor(codec)
	if err != nil {
		return body
	}
	var buf bytes.Buffer
	out, _ := compressor.Compress(&buf, body)
	return append([]byte(nil), out...)
}

// linkedLz4 writes an lz4 frame whose blocks depend on each other.
func linkedLz4(body []byte) []byte {
	var buf bytes.Buffer
	w := lz4.NewWriter(&buf)
	if err := w.Apply(lz4.BlockSizeOption(lz4.Block64Kb), lz4.ChecksumOption(false)); err != nil {
		return body
	}
	_, _ = w.Write(body)
	_ = w.Close()
	frame := buf.Bytes()
	frame[4] &^= 1 << 5 // block independence
	frame[6] = lz4HeaderChecksum(frame[4:6])
	return frame
}

func (b batchSpec) spoil(batch *kmsg.RecordBatch) {
	switch b.wrong {
	case "count+1":
		batch.NumRecords++
	case "count-1":
		batch.NumRecords--
	case "count 0":
		batch.NumRecords = 0
	case "last offset delta":
		batch.LastOffsetDelta += 2
	case "base offset":
		batch.FirstOffset = 7
	case "magic 3":
		batch.Magic = 3
	case "no records":
		batch.NumRecords, batch.LastOffsetDelta, batch.Records = 0, 0, nil
	case "negative time":
		batch.FirstTimestamp, batch.MaxTimestamp = -1, -1
	case "max time":
		batch.MaxTimestamp += 50_000
	case "control bit":
		batch.Attributes |= 1 << 5
	case "transactional bit":
		batch.Attributes |= 1 << 4
	case "delete horizon bit":
		batch.Attributes |= 1 << 6
	case "unused bits":
		batch.Attributes |= 1 << 9
	case "negative sequence":
		batch.FirstSequence = -2
	case "negative epoch":
		batch.ProducerEpoch = -2
	case "partition leader epoch":
		batch.PartitionLeaderEpoch = 99
	case "record count varint":
		batch.Records = append([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, batch.Records...)
	}
}

// seal sets length and checksum.
func seal(batch kmsg.RecordBatch) []byte {
	batch.Length = int32(batchHeader - batchOverhead + len(batch.Records))
	out := batch.AppendTo(nil)
	binary.BigEndian.PutUint32(out[crcAt:], crc32.Checksum(out[crcFrom:], castagnoli()))
	return out
}

func (b batchSpec) spoilBytes(out []byte) []byte {
	length := int32(binary.BigEndian.Uint32(out[8:]))
	switch b.wrong {
	case "crc":
		out[crcAt] ^= 0x55
	case "length+1":
		binary.BigEndian.PutUint32(out[8:], uint32(length+1))
	case "length-1":
		binary.BigEndian.PutUint32(out[8:], uint32(length-1))
	case "cut":
		out = out[:len(out)-3]
	case "two batches":
		out = append(out, out...)
	case "trailing bytes":
		out = append(out, 0, 0, 0)
	}
	return out
}

// oldMessage is a message set of the formats before Kafka 0.11.
func oldMessage(magic byte) []byte {
	inner := []byte{magic, 0}
	if magic == 1 {
		inner = binary.BigEndian.AppendUint64(inner, 1_600_000_000_000)
	}
	inner = append(binary.BigEndian.AppendUint32(inner, 1), 'k')
	inner = append(binary.BigEndian.AppendUint32(inner, 1), 'v')
	out := binary.BigEndian.AppendUint64(nil, 0)
	out = binary.BigEndian.AppendUint32(out, uint32(len(inner)+4))
	out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(inner))
	return append(out, inner...)
}

func nullable(s string) []byte {
	if s == "null" {
		return nil
	}
	return []byte(s)
}

// lz4HeaderChecksum is the second byte of the xxHash32 of a frame descriptor
// shorter than four bytes.
func lz4HeaderChecksum(descriptor []byte) byte {
	const prime1, prime2, prime3, prime5 = 2654435761, 2246822519, 3266489917, 374761393
	h := uint32(prime5) + uint32(len(descriptor))
	for _, b := range descriptor {
		h += uint32(b) * prime5
		h = (h<<11 | h>>21) * prime1
	}
	h = (h ^ h>>15) * prime2
	h = (h ^ h>>13) * prime3
	return byte((h ^ h>>16) >> 8)
}

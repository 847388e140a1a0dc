package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// Sizes and places of the batch header's fields. Everything from attributesAt
// on is covered by the checksum; what lies before it (base offset, length,
// leader epoch, magic, the checksum itself) is not.
const (
	// HeaderSize is the number of bytes before a batch's records.
	HeaderSize = 61
	// lengthEnd is where the bytes counted by the length field begin.
	lengthEnd = 12
	// minLength is the smallest honest value of the length field.
	minLength = HeaderSize - lengthEnd
	// Magic is the only batch version there is: Kafka 4 dropped 0 and 1.
	Magic = 2

	baseOffsetAt      = 0
	lengthAt          = 8
	leaderEpochAt     = 12
	magicAt           = 16
	crcAt             = 17
	attributesAt      = 21
	lastOffsetDeltaAt = 23
	baseTimestampAt   = 27
	maxTimestampAt    = 35
	producerIDAt      = 43
	producerEpochAt   = 51
	baseSequenceAt    = 53
	countAt           = 57
)

// Bits of the attributes field. Bits 0 to 2 are the codec.
const (
	codecMask        int16 = 0x07
	logAppendTimeBit int16 = 0x08
	transactionalBit int16 = 0x10
	controlBit       int16 = 0x20
	deleteHorizonBit int16 = 0x40
	knownBits        int16 = 0x7f
)

// What fields hold that do not apply.
const (
	noProducerID          = -1
	noProducerEpoch       = -1
	noSequence            = -1
	noTimestamp     int64 = -1
)

const maxSequence = 1<<31 - 1

// Errors that callers branch on; everything this package returns for bad bytes
// wraps one of the two, except a [Refusal].
var (
	// ErrTruncated says that the bytes end before the batch does. In a segment it
	// is the mark of a torn tail, in a fetched piece that of a cut-off batch.
	ErrTruncated = errors.New("batch is truncated")
	// ErrCorrupt says that the bytes cannot be a batch, however many follow.
	ErrCorrupt = errors.New("batch is corrupt")
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Header is a batch's header, decoded. Timestamps are in milliseconds since the
// Unix epoch.
type Header struct {
	BaseOffset      int64
	Length          int32 // bytes of the batch after its first 12
	LeaderEpoch     int32
	Magic           int8
	CRC             uint32 // CRC-32C of everything after this field
	Attributes      int16
	LastOffsetDelta int32
	BaseTimestamp   int64 // the delete horizon when HasDeleteHorizon
	MaxTimestamp    int64
	ProducerID      int64 // -1 without a producer
	ProducerEpoch   int16
	BaseSequence    int32
	Count           int32 // records present; compaction lowers it, never LastOffsetDelta
}

// ParseHeader decodes the header at the start of b, which may go on beyond it.
// It checks the magic and that the length can be a batch's, not the checksum
// and not whether the whole batch is there: compare [Header.Size] for that.
// The error wraps ErrTruncated when b is shorter than a header, else ErrCorrupt.
func ParseHeader(b []byte) (Header, error) {
	if len(b) < HeaderSize {
		return Header{}, fmt.Errorf("%d bytes, a header has %d: %w", len(b), HeaderSize, ErrTruncated)
	}
	h := decodeHeader(b)
	if h.Magic != Magic {
		return h, fmt.Errorf("magic %d, want %d: %w", h.Magic, Magic, ErrCorrupt)
	}
	if h.Length < minLength {
		return h, fmt.Errorf("length %d, want at least %d: %w", h.Length, minLength, ErrCorrupt)
	}
	return h, nil
}

// decodeHeader reads the fields of a header; b must hold HeaderSize bytes.
func decodeHeader(b []byte) Header {
	be := binary.BigEndian
	return Header{
		BaseOffset:      int64(be.Uint64(b[baseOffsetAt:])),
		Length:          int32(be.Uint32(b[lengthAt:])),
		LeaderEpoch:     int32(be.Uint32(b[leaderEpochAt:])),
		Magic:           int8(b[magicAt]),
		CRC:             be.Uint32(b[crcAt:]),
		Attributes:      int16(be.Uint16(b[attributesAt:])),
		LastOffsetDelta: int32(be.Uint32(b[lastOffsetDeltaAt:])),
		BaseTimestamp:   int64(be.Uint64(b[baseTimestampAt:])),
		MaxTimestamp:    int64(be.Uint64(b[maxTimestampAt:])),
		ProducerID:      int64(be.Uint64(b[producerIDAt:])),
		ProducerEpoch:   int16(be.Uint16(b[producerEpochAt:])),
		BaseSequence:    int32(be.Uint32(b[baseSequenceAt:])),
		Count:           int32(be.Uint32(b[countAt:])),
	}
}

// put writes h to the start of b, which must hold HeaderSize bytes. CRC is
// written as it stands: seal computes it.
func (h Header) put(b []byte) {
	be := binary.BigEndian
	be.PutUint64(b[baseOffsetAt:], uint64(h.BaseOffset))
	be.PutUint32(b[lengthAt:], uint32(h.Length))
	be.PutUint32(b[leaderEpochAt:], uint32(h.LeaderEpoch))
	b[magicAt] = byte(h.Magic)
	be.PutUint32(b[crcAt:], h.CRC)
	be.PutUint16(b[attributesAt:], uint16(h.Attributes))
	be.PutUint32(b[lastOffsetDeltaAt:], uint32(h.LastOffsetDelta))
	be.PutUint64(b[baseTimestampAt:], uint64(h.BaseTimestamp))
	be.PutUint64(b[maxTimestampAt:], uint64(h.MaxTimestamp))
	be.PutUint64(b[producerIDAt:], uint64(h.ProducerID))
	be.PutUint16(b[producerEpochAt:], uint16(h.ProducerEpoch))
	be.PutUint32(b[baseSequenceAt:], uint32(h.BaseSequence))
	be.PutUint32(b[countAt:], uint32(h.Count))
}

// Size is the number of bytes of the whole batch, header included.
func (h Header) Size() int { return lengthEnd + int(h.Length) }

// Codec is what the records are compressed with. It may be a number that no
// codec has: ask [Codec.Known].
func (h Header) Codec() Codec { return Codec(h.Attributes & codecMask) }

// Transactional reports whether the batch belongs to a transaction.
func (h Header) Transactional() bool { return h.Attributes&transactionalBit != 0 }

// Control reports whether the batch holds a marker instead of data.
func (h Header) Control() bool { return h.Attributes&controlBit != 0 }

// LogAppendTime reports whether every record has the batch's max timestamp,
// whatever its own bytes say.
func (h Header) LogAppendTime() bool { return h.Attributes&logAppendTimeBit != 0 }

// HasDeleteHorizon reports whether the cleaner has already seen the tombstones
// or the marker in this batch: BaseTimestamp is then the time from which they
// may go. Timestamps of records are relative to it all the same.
func (h Header) HasDeleteHorizon() bool { return h.Attributes&deleteHorizonBit != 0 }

// LastOffset is the last offset that the batch takes, whether or not a record
// is still there (T28: the next batch begins at LastOffset+1 or later).
func (h Header) LastOffset() int64 { return h.BaseOffset + int64(h.LastOffsetDelta) }

// HasProducer reports whether an idempotent or transactional producer wrote it.
func (h Header) HasProducer() bool { return h.ProducerID > noProducerID }

// HasSequence reports whether the batch is numbered; markers are not.
func (h Header) HasSequence() bool { return h.BaseSequence > noSequence }

// LastSequence is the sequence of the batch's last record. Sequences wrap from
// 2^31-1 to 0 (T16). It is -1 when the batch has no sequence.
func (h Header) LastSequence() int32 {
	if !h.HasSequence() {
		return noSequence
	}
	return AddSequence(h.BaseSequence, h.LastOffsetDelta)
}

// AddSequence adds n ≥ 0 to a sequence, wrapping from 2^31-1 to 0 (T16).
func AddSequence(sequence, n int32) int32 {
	return int32((int64(sequence) + int64(n)) & maxSequence)
}

// PatchOffset gives the batch at the start of b its place in the log. Neither
// field is covered by the checksum, so nothing else changes.
func PatchOffset(b []byte, base int64, epoch int32) {
	binary.BigEndian.PutUint64(b[baseOffsetAt:], uint64(base))
	binary.BigEndian.PutUint32(b[leaderEpochAt:], uint32(epoch))
}

// seal computes the checksum of the whole batch b and writes it.
func seal(b []byte) {
	binary.BigEndian.PutUint32(b[crcAt:], crc32.Checksum(b[attributesAt:], castagnoli))
}

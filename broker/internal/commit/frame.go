package commit

import (
	"encoding/binary"
	"hash/crc32"
)

// Kind is what a frame says.
type Kind uint8

const (
	// Data holds batches of a partition.
	Data Kind = 1
	// Note says that the segments of a partition were synced up to an offset.
	Note Kind = 2
)

// Frame is what replay yields. Bytes are valid during the call only.
type Frame struct {
	Kind Kind
	Key  Key
	// Base and Last are the offsets of the batches. In a note both are the offset up to which, exclusively, everything is
	// durable in segments.
	Base, Last int64
	Position   int64 // where in the segment the bytes went, -1: unknown
	Seq        uint64
	Index      int // place in the atomic group
	Count      int // size of the atomic group, 1 for a write of its own
	Bytes      []byte
}

const (
	walVersion      = 1
	walMagic        = 0x534b_4549_4e57_414c // "SKEINWAL"
	frameMagic      = 0x534b_4652           // "SKFR"
	fileHeaderSize  = 64
	frameHeaderSize = 88
	frameAlign      = 8
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// fileHeader opens a file of the log.
type fileHeader struct {
	number  uint64 // equal to the number in the name; otherwise the header is of a former life of the file
	durable uint64 // the newest frame that was surely durable when the file was begun
	salt    uint64 // drawn for each life of a file: frames of a former one, and look-alikes in records, never match
}

func (h fileHeader) append(b []byte) []byte {
	at := len(b)
	b = binary.BigEndian.AppendUint64(b, walMagic)
	b = binary.BigEndian.AppendUint32(b, walVersion)
	b = binary.BigEndian.AppendUint32(b, 0)
	b = binary.BigEndian.AppendUint64(b, h.number)
	b = binary.BigEndian.AppendUint64(b, h.durable)
	b = binary.BigEndian.AppendUint64(b, h.salt)
	b = append(b, make([]byte, fileHeaderSize-4-(len(b)-at))...)
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b[at:], castagnoli))
}

// seed begins the checksum of every frame header in the file.
func (h fileHeader) seed() uint32 {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], h.salt)
	return crc32.Checksum(b[:], castagnoli)
}

// parseFileHeader reads a header of any version; ok says that it is whole.
func parseFileHeader(b []byte) (h fileHeader, version uint32, ok bool) {
	if len(b) < fileHeaderSize || binary.BigEndian.Uint64(b) != walMagic ||
		crc32.Checksum(b[:fileHeaderSize-4], castagnoli) != binary.BigEndian.Uint32(b[fileHeaderSize-4:]) {
		return h, 0, false
	}
	h.number = binary.BigEndian.Uint64(b[16:])
	h.durable = binary.BigEndian.Uint64(b[24:])
	h.salt = binary.BigEndian.Uint64(b[32:])
	return h, binary.BigEndian.Uint32(b[8:]), true
}

// firstSeq is the lowest number of a frame in a file: numbers of frames grow with those of files, without any memory of
// what was given out before a restart.
func firstSeq(file uint64) uint64 { return file << 32 }

// frameHeader precedes the bytes of a frame.
type frameHeader struct {
	kind         Kind
	seq          uint64
	durable      uint64 // the newest frame that was surely durable when this one was written
	index, count uint32
	key          Key
	base, last   int64
	position     int64
	length       uint32
	sum          uint32 // CRC-32C of the bytes
}

func (h *frameHeader) put(b []byte, seed uint32) {
	binary.BigEndian.PutUint32(b, frameMagic)
	b[4], b[5], b[6], b[7] = byte(h.kind), 0, 0, 0
	binary.BigEndian.PutUint64(b[8:], h.seq)
	binary.BigEndian.PutUint64(b[16:], h.durable)
	binary.BigEndian.PutUint32(b[24:], h.index)
	binary.BigEndian.PutUint32(b[28:], h.count)
	copy(b[32:48], h.key.Topic[:])
	binary.BigEndian.PutUint32(b[48:], uint32(h.key.Partition))
	binary.BigEndian.PutUint32(b[52:], h.length)
	binary.BigEndian.PutUint64(b[56:], uint64(h.base))
	binary.BigEndian.PutUint64(b[64:], uint64(h.last))
	binary.BigEndian.PutUint64(b[72:], uint64(h.position))
	binary.BigEndian.PutUint32(b[80:], h.sum)
	binary.BigEndian.PutUint32(b[84:], crc32.Update(seed, castagnoli, b[:84]))
}

// parseFrameHeader reads a header and says whether it is one of the file with that seed.
func parseFrameHeader(b []byte, seed uint32) (h frameHeader, ok bool) {
	if len(b) < frameHeaderSize {
		return h, false
	}
	h, ok = readFrameHeader(b)
	return h, ok && crc32.Update(seed, castagnoli, b[:84]) == binary.BigEndian.Uint32(b[84:])
}

// readFrameHeader reads a header whatever its checksum is, and says whether it looks like one.
func readFrameHeader(b []byte) (h frameHeader, ok bool) {
	if binary.BigEndian.Uint32(b) != frameMagic {
		return h, false
	}
	h = frameHeader{
		kind:     Kind(b[4]),
		seq:      binary.BigEndian.Uint64(b[8:]),
		durable:  binary.BigEndian.Uint64(b[16:]),
		index:    binary.BigEndian.Uint32(b[24:]),
		count:    binary.BigEndian.Uint32(b[28:]),
		key:      Key{Partition: int32(binary.BigEndian.Uint32(b[48:]))},
		length:   binary.BigEndian.Uint32(b[52:]),
		base:     int64(binary.BigEndian.Uint64(b[56:])),
		last:     int64(binary.BigEndian.Uint64(b[64:])),
		position: int64(binary.BigEndian.Uint64(b[72:])),
		sum:      binary.BigEndian.Uint32(b[80:]),
	}
	copy(h.key.Topic[:], b[32:48])
	return h, (h.kind == Data || h.kind == Note) && h.index < h.count
}

// appendFrame appends a whole frame. The bytes are followed by zeros up to a multiple of 8.
func appendFrame(b []byte, h frameHeader, payload []byte, seed uint32) []byte {
	h.length = uint32(len(payload))
	h.sum = crc32.Checksum(payload, castagnoli)
	at := len(b)
	b = append(b, make([]byte, frameHeaderSize)...)
	h.put(b[at:], seed)
	b = append(b, payload...)
	return append(b, make([]byte, padded(len(payload))-len(payload))...)
}

func padded(n int) int { return (n + frameAlign - 1) &^ (frameAlign - 1) }

func frameSize(payload int) int64 { return int64(frameHeaderSize + padded(payload)) }

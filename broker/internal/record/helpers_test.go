package record

import (
	"bytes"
	"encoding/binary"
	"math"
)

// anyTime lifts a rule's limits on timestamps.
func anyTime(r Rules) Rules {
	r.BeforeMaxMs, r.AfterMaxMs = math.MaxInt64, math.MaxInt64
	return r
}

// handmade is a batch that may be wrong in any way.
type handmade struct {
	Header
	records   []byte
	crcXor    uint32 // makes the checksum wrong
	lengthAdd int32  // makes the length wrong
}

const handmadeNow = 1_700_000_000_000

// hand makes a good batch of count records.
func hand(count int, records ...[]byte) *handmade {
	return &handmade{
		Header: Header{
			LeaderEpoch: -1, Magic: Magic, LastOffsetDelta: int32(count - 1), Count: int32(count),
			BaseTimestamp: handmadeNow, MaxTimestamp: handmadeNow,
			ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1,
		},
		records: bytes.Join(records, nil),
	}
}

func (m *handmade) edit(f func(*handmade)) *handmade { f(m); return m }

func (m *handmade) bytes() Batch {
	b := make([]byte, HeaderSize, HeaderSize+len(m.records))
	b = append(b, m.records...)
	m.Length = int32(len(b)-lengthEnd) + m.lengthAdd
	m.Header.put(b)
	seal(b)
	binary.BigEndian.PutUint32(b[crcAt:], binary.BigEndian.Uint32(b[crcAt:])^m.crcXor)
	return b
}

// as compresses the records.
func (m *handmade) as(codec Codec) *handmade {
	var c Compressors
	m.records, _ = c.append(nil, m.records, Target{Codec: codec})
	m.Attributes |= int16(codec)
	return m
}

// payload sets compressed bytes by hand.
func (m *handmade) payload(codec Codec, parts ...[]byte) *handmade {
	m.records = bytes.Join(parts, nil)
	m.Attributes |= int16(codec)
	return m
}

// entry is one record with its length.
func entry(timestampDelta int64, offsetDelta int, key, value []byte) []byte {
	return withHeaders(timestampDelta, offsetDelta, key, value, 0)
}

// withHeaders is a record that claims count headers and has those whose keys and
// values are given in turn.
func withHeaders(timestampDelta int64, offsetDelta int, key, value []byte, count int64, headers ...[]byte) []byte {
	b := binary.AppendVarint([]byte{0}, timestampDelta)
	b = binary.AppendVarint(b, int64(offsetDelta))
	b = appendField(appendField(b, key), value)
	b = binary.AppendVarint(b, count)
	for _, h := range headers {
		b = appendField(b, h)
	}
	return sized(b)
}

// sized puts the length before a record's bytes.
func sized(parts ...[]byte) []byte {
	b := bytes.Join(parts, nil)
	return append(binary.AppendVarint(nil, int64(len(b))), b...)
}

func number(n int64) []byte { return binary.AppendVarint(nil, n) }

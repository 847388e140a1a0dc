// Package dataset makes the records that the tests send, and compares what
// came back.
package dataset

import (
	"bytes"
	"fmt"
	"math/rand/v2"

	"github.com/skeinstream/skein/interop/internal/stream"
)

// Timestamps lie within 24 days of each other: @platformatic/kafka 1.35.0
// writes wrong ones when those of a batch are 2^31 ms apart.
const (
	firstTimestamp  = 1_600_000_000_000
	timestampSpread = 2_000_000_000
)

// Awkward returns a few dozen records over partitions that hold what clients
// and brokers get wrong: nulls, empty and huge values, bytes that are no
// UTF-8, headers, old timestamps. The same seed gives the same records.
func Awkward(seed uint64, partitions int32) []stream.Record {
	r := rand.New(rand.NewPCG(seed, 1))
	values := [][]byte{
		nil,
		{},
		{0},
		{0xff, 0xfe, 0xc3, 0x28},
		[]byte("plain text"),
		[]byte("多字节 текст ❄"),
		bytes.Repeat([]byte{0}, 70_000),
		noise(r, 120_000),
		[]byte("tab\tnewline\nreturn\r\n"),
	}
	keys := [][]byte{nil, {}, []byte("key"), {0xff, 0x00}, noise(r, 300)}
	var records []stream.Record
	for range 5 {
		for _, i := range r.Perm(len(values)) {
			rec := stream.Record{
				Partition: r.Int32N(partitions),
				Timestamp: firstTimestamp + r.Int64N(timestampSpread),
				Key:       keys[r.IntN(len(keys))],
				Value:     values[i],
				Headers:   someHeaders(r),
			}
			if rec.Key == nil && rec.Value == nil {
				rec.Key = []byte("tombstone") // both null is more than some clients send
			}
			records = append(records, rec)
		}
	}
	huge := stream.Record{Partition: r.Int32N(partitions), Timestamp: firstTimestamp, Key: []byte("huge"), Value: noise(r, 900_000)}
	return append(records, huge, stream.Record{Partition: huge.Partition, Timestamp: firstTimestamp + 1, Key: []byte("last"), Value: []byte("after huge")})
}

func someHeaders(r *rand.Rand) []stream.Header {
	all := []stream.Header{
		{Name: "trace", Value: noise(r, 16)},
		{Name: "empty", Value: []byte{}},
		{Name: "ключ", Value: []byte("text")},
	}
	return all[:r.IntN(len(all)+1)]
}

func noise(r *rand.Rand, size int) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// Compare tells the first difference between what was sent and what was read,
// partition by partition in order, as far as both clients can tell it.
func Compare(sent, read []stream.Record, sends, reads stream.Fidelity) error {
	want, got := byPartition(sent), byPartition(read)
	if len(sent) != len(read) {
		return fmt.Errorf("read %d records, want %d", len(read), len(sent))
	}
	for partition, w := range want {
		g := got[partition]
		if len(g) != len(w) {
			return fmt.Errorf("partition %d: read %d records, want %d", partition, len(g), len(w))
		}
		for i := range w {
			wanted, given := reduce(w[i], sends, reads), reduce(g[i], sends, reads)
			if d := stream.Difference(wanted, given); d != "" {
				return fmt.Errorf("partition %d, record %d: %s", partition, i, d)
			}
		}
	}
	return nil
}

func reduce(r stream.Record, sends, reads stream.Fidelity) stream.Record {
	return reads.Reduce(sends.Reduce(r))
}

func byPartition(records []stream.Record) map[int32][]stream.Record {
	all := make(map[int32][]stream.Record)
	for _, r := range records {
		all[r.Partition] = append(all[r.Partition], r)
	}
	return all
}

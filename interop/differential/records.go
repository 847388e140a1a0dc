package differential

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	batchOverhead = 12 // base offset and length, which the length does not count
	batchHeader   = 61
	crcFrom       = 21 // the checksum covers everything from the attributes on
	crcAt         = 17
	lastDeltaAt   = 23
	codecMask     = 7
	controlBit    = 1 << 5
)

// renderRecords tells what a fetch brought, batch by batch. A cut-off last
// batch is legal and says nothing, so it is left out. Bytes that hold a
// broker's own producer id, time or compression are compared by meaning.
func (s *side) renderRecords(topic string, b []byte) string {
	if b == nil {
		return "null"
	}
	var batches []string
	for len(b) >= batchHeader {
		size := batchOverhead + int(binary.BigEndian.Uint32(b[8:]))
		if size > len(b) {
			break
		}
		batches = append(batches, s.renderBatch(topic, b[:size]))
		b = b[size:]
	}
	return fmt.Sprintf("%d batches %s", len(batches), strings.Join(batches, " "))
}

func (s *side) renderBatch(topic string, b []byte) string {
	var batch kmsg.RecordBatch
	if err := batch.ReadFrom(b); err != nil {
		return fmt.Sprintf("{unreadable: %v}", err)
	}
	checksum := "bad"
	if crc32.Checksum(b[crcFrom:], castagnoli()) == binary.BigEndian.Uint32(b[crcAt:]) {
		checksum = "ok"
	}
	return fmt.Sprintf("{base %d epoch %s magic %d crc %s attributes %d last %d until %s %s epoch %d seq %d count %d records %s}",
		batch.FirstOffset, s.epochName(topic, batch.PartitionLeaderEpoch), batch.Magic, checksum, batch.Attributes,
		batch.LastOffsetDelta, s.timeName(batch.MaxTimestamp), s.producerName(batch.ProducerID),
		batch.ProducerEpoch, batch.FirstSequence, batch.NumRecords, s.content(batch))
}

// content is a hash of the records' meaning: absolute times, deltas, keys,
// values, headers. Their attributes, which Kafka drops when it encodes anew,
// mean nothing.
func (s *side) content(batch kmsg.RecordBatch) string {
	records := batch.Records
	if codec := kgo.CompressionCodecType(batch.Attributes & codecMask); codec != 0 {
		plain, err := kgo.DefaultDecompressor().Decompress(records, codec)
		if err != nil {
			return "not decompressible"
		}
		records = plain
	}
	hash := sha256.New()
	for range batch.NumRecords {
		length, n := binary.Varint(records)
		if n <= 0 || length < 0 || int(length)+n > len(records) {
			return "out of step"
		}
		var r kmsg.Record
		if err := r.ReadFrom(records[:n+int(length)]); err != nil {
			return fmt.Sprintf("unreadable: %v", err)
		}
		fmt.Fprintf(hash, "%s %d %q %q %v;", s.recordTime(batch, r), r.OffsetDelta, r.Key, r.Value, r.Headers)
		records = records[n+int(length):]
	}
	if len(records) > 0 {
		fmt.Fprintf(hash, "rest %q", records)
	}
	return fmt.Sprintf("%x", hash.Sum(nil)[:4])
}

// withoutLaterAborts leaves out aborted transactions that begin behind the records of an answer: Kafka lists some of them, up to
// where its index says that a segment goes on.
func withoutLaterAborts(r *kmsg.FetchResponse) {
	for _, t := range r.Topics {
		for i := range t.Partitions {
			p := &t.Partitions[i]
			end := endOf(p.RecordBatches)
			p.AbortedTransactions = slices.DeleteFunc(p.AbortedTransactions, func(a kmsg.FetchResponseTopicPartitionAbortedTransaction) bool {
				return a.FirstOffset >= end
			})
		}
	}
}

// endOf is the offset behind the last whole batch; 0 without any.
func endOf(b []byte) (end int64) {
	for len(b) >= batchHeader {
		size := batchOverhead + int(binary.BigEndian.Uint32(b[8:]))
		if size > len(b) {
			break
		}
		end = int64(binary.BigEndian.Uint64(b)) + int64(binary.BigEndian.Uint32(b[lastDeltaAt:])) + 1
		b = b[size:]
	}
	return end
}

// recordTime is exact, but for markers, which have the broker's own.
func (s *side) recordTime(batch kmsg.RecordBatch, r kmsg.Record) string {
	at := batch.FirstTimestamp + r.TimestampDelta64
	if batch.Attributes&controlBit != 0 {
		return s.timeName(at)
	}
	return fmt.Sprint(at)
}

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

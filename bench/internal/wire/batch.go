// Package wire asks a broker over raw connections, without a client's retries
// and back-off: when it first accepts a record, which is the moment a start is
// over for whoever waits for it, and whatever costs a client more than a
// broker.
package wire

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// lengthFrom and crcFrom are where a batch's length and its checksum begin to
// count.
const (
	lengthFrom = 12
	crcFrom    = 21
)

// batchOf is a record batch of one record with value, as a producer without
// an id sends it.
func batchOf(value []byte, millis int64) []byte {
	record := (&kmsg.Record{Value: value}).AppendTo(nil)
	record = append(binary.AppendVarint(nil, int64(len(record)-1)), record[1:]...)
	b := kmsg.RecordBatch{
		PartitionLeaderEpoch: -1,
		Magic:                2,
		FirstTimestamp:       millis,
		MaxTimestamp:         millis,
		ProducerID:           -1,
		ProducerEpoch:        -1,
		FirstSequence:        -1,
		NumRecords:           1,
		Records:              record,
	}
	out := b.AppendTo(nil)
	binary.BigEndian.PutUint32(out[8:], uint32(len(out)-lengthFrom))
	binary.BigEndian.PutUint32(out[17:], crc32.Checksum(out[crcFrom:], crc32.MakeTable(crc32.Castagnoli)))
	return out
}

package record

import "encoding/binary"

// Marker is the kind of an end-of-transaction marker.
type Marker int16

// The kinds of markers that end a transaction.
const (
	Abort  Marker = 0
	Commit Marker = 1
)

// markerVersion is the version of a marker's key and of its value.
const markerVersion = 0

// ControlMarker is the batch that ends a producer's transaction in one
// partition: one control record whose key is (version 0, kind) and whose value
// is (version 0, coordinator epoch); without that value clients and tools take
// the marker for damaged (P7.4). Its offset is patched later.
func ControlMarker(kind Marker, producerID int64, producerEpoch int16, coordinatorEpoch int32, timestamp int64) Batch {
	key := binary.BigEndian.AppendUint16(nil, markerVersion)
	key = binary.BigEndian.AppendUint16(key, uint16(kind))
	value := binary.BigEndian.AppendUint16(nil, markerVersion)
	value = binary.BigEndian.AppendUint32(value, uint32(coordinatorEpoch))
	b := NewBuilder(0)
	b.ProducerID, b.ProducerEpoch = producerID, producerEpoch
	b.Transactional, b.Control = true, true
	return b.Append(timestamp, key, value).Bytes()
}

// StampAppendTime makes the time of a batch's last record that of its append, for a topic that has no other, and returns the
// header then.
func StampAppendTime(b Batch) Header {
	h := b.Header()
	restamp(b, h, &Rules{LogAppendTime: true}, h.MaxTimestamp)
	return decodeHeader(b)
}

// ParseMarker reads the marker of a control batch. ok is false when the batch
// holds none: it is no control batch, compaction has emptied it, or its record
// is of another kind. Later versions only add to the fields, so any version is
// read.
func ParseMarker(b Batch) (kind Marker, coordinatorEpoch int32, ok bool) {
	if len(b) < HeaderSize || !b.Header().Control() {
		return 0, 0, false
	}
	err := Walk(b, nil, func(r Record) bool {
		if len(r.Key) < 4 || len(r.Value) < 6 {
			return false
		}
		kind = Marker(binary.BigEndian.Uint16(r.Key[2:]))
		coordinatorEpoch = int32(binary.BigEndian.Uint32(r.Value[2:]))
		ok = kind == Abort || kind == Commit
		return false
	})
	return kind, coordinatorEpoch, ok && err == nil
}

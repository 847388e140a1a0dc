package txnwire

import (
	"encoding/binary"
	"testing"
)

// TestTheTimeOfABatch is that of its first record, or the broker's where the topic keeps that.
func TestTheTimeOfABatch(t *testing.T) {
	const first, last = 1_700_000_000_000, 1_700_000_060_000
	batch := func(magic byte, attributes uint16) []byte {
		b := make([]byte, headerEnd)
		b[magicAt] = magic
		binary.BigEndian.PutUint16(b[attributesAt:], attributes)
		binary.BigEndian.PutUint64(b[firstTimeAt:], first)
		binary.BigEndian.PutUint64(b[maxTimeAt:], last)
		return b
	}
	none := make([]byte, headerEnd)
	none[magicAt] = 2
	binary.BigEndian.PutUint64(none[firstTimeAt:], ^uint64(0)) // -1
	for name, c := range map[string]struct {
		b    []byte
		want int64
	}{
		"of its records": {batch(2, 0x10), first}, "of the broker": {batch(2, 0x18), last}, "with more behind it": {append(batch(2, 0), 1, 2, 3), first},
		"cut": {batch(2, 0)[:headerEnd-1], 0}, "nothing": {nil, 0}, "an old format": {batch(1, 0), 0}, "without a time": {none, 0},
	} {
		got := batchTime(c.b)
		if c.want == 0 && !got.IsZero() || c.want != 0 && got.UnixMilli() != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

package storage

import (
	"crypto/sha256"
	"encoding/binary"
)

// slotBytes is what one key takes in an offset map, whatever its length.
const slotBytes = 24

// offsetMap is the last offset of each key in the dirty part of a log, in a fixed
// amount of memory: keys are represented by 128 bits of their SHA-256, which
// nobody can make collide. One that did would lose a record.
type offsetMap struct {
	slots  []slot
	room   int   // keys that may still be added
	latest int64 // the last offset that has been looked at
}

// slot is one key. next is its last offset plus one, so that the zero slot is free.
type slot struct {
	high, low uint64
	next      int64
}

// newOffsetMap makes a map in at most the given bytes. It takes fill keys for
// each slot at most; where wanted keys need less memory, it takes less.
func newOffsetMap(bytes int64, fill float64, wanted int64) *offsetMap {
	slots := max(1, bytes/slotBytes)
	room := max(1, int64(float64(slots)*fill))
	if enough := wanted + wanted/2 + 1; enough < slots {
		slots, room = enough, min(room, max(1, wanted))
	}
	if room >= slots { // a free slot must end every search
		slots = room + 1
	}
	return &offsetMap{slots: make([]slot, slots), room: int(room), latest: none}
}

// put notes that key is at offset, which is above every earlier one. It is false
// when the map is full and the key is not in it.
func (m *offsetMap) put(key []byte, offset int64) bool {
	s := m.find(key)
	if s.next == 0 {
		if m.room == 0 {
			return false
		}
		m.room--
		s.high, s.low = digest(key)
	}
	s.next = offset + 1
	return true
}

// last is the last offset of a key, none when it is not in the map.
func (m *offsetMap) last(key []byte) int64 { return m.find(key).next - 1 }

// find is the slot of a key, or the free one where it would go.
func (m *offsetMap) find(key []byte) *slot {
	high, low := digest(key)
	n := uint64(len(m.slots))
	for i := high % n; ; {
		s := &m.slots[i]
		if s.next == 0 || s.high == high && s.low == low {
			return s
		}
		if i++; i == n {
			i = 0
		}
	}
}

func digest(key []byte) (high, low uint64) {
	sum := sha256.Sum256(key)
	return binary.BigEndian.Uint64(sum[:]), binary.BigEndian.Uint64(sum[8:])
}

package producers

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// ErrSnapshot is what every refusal of [Restore] wraps.
var ErrSnapshot = errors.New("producer snapshot is damaged")

const (
	snapshotVersion = 1
	crcAt           = 2
	entriesAt       = 6
	snapshotHead    = 10 // version, checksum, number of entries
	snapshotEntry   = 46
	windowMagic     = 0x736b6e31 // "skn1"
	windowHead      = 8
	windowBatch     = 24
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Snapshot is the table in Kafka's format, version 1. Kafka keeps only the last
// batch of each producer there, so that after a restart it takes a retry of an
// earlier one for a gap. The earlier batches therefore follow behind Kafka's
// part, inside the checksum, where Kafka does not look.
func (t *Table) Snapshot() []byte {
	entries := t.sorted()
	b := make([]byte, snapshotHead, snapshotHead+windowHead+len(entries)*(snapshotEntry+9+Window*windowBatch))
	be := binary.BigEndian
	be.PutUint16(b, snapshotVersion)
	be.PutUint32(b[entriesAt:], uint32(len(entries)))
	for _, e := range entries {
		b = e.append(b)
	}
	b = appendWindows(b, entries)
	be.PutUint32(b[crcAt:], crc32.Checksum(b[entriesAt:], castagnoli))
	return b
}

func (e *Entry) append(b []byte) []byte {
	be := binary.BigEndian
	last, ok := e.Last()
	if !ok {
		last = Batch{LastSequence: NoSequence, LastOffset: NoOffset}
	}
	b = be.AppendUint64(b, uint64(e.ProducerID))
	b = be.AppendUint16(b, uint16(e.Epoch))
	b = be.AppendUint32(b, uint32(last.LastSequence))
	b = be.AppendUint64(b, uint64(last.LastOffset))
	b = be.AppendUint32(b, uint32(last.OffsetDelta))
	b = be.AppendUint64(b, uint64(e.LastTimestamp))
	b = be.AppendUint32(b, uint32(e.CoordinatorEpoch))
	return be.AppendUint64(b, uint64(e.TxnFirstOffset))
}

// appendWindows appends the batches before the last of the producers that have
// them, and nothing when none has.
func appendWindows(b []byte, entries []*Entry) []byte {
	be := binary.BigEndian
	at := len(b)
	b = be.AppendUint32(b, windowMagic)
	b = be.AppendUint32(b, 0)
	windows := uint32(0)
	for _, e := range entries {
		if e.count == 0 {
			continue
		}
		last, _ := e.Last()
		if e.count == 1 && last.Timestamp == e.LastTimestamp {
			continue // all of it is in Kafka's part
		}
		windows++
		b = be.AppendUint64(b, uint64(e.ProducerID))
		b = append(b, e.count)
		e.Batches(func(w Batch) { b = w.append(b) })
	}
	if windows == 0 {
		return b[:at]
	}
	be.PutUint32(b[at+4:], windows)
	return b
}

func (w Batch) append(b []byte) []byte {
	be := binary.BigEndian
	b = be.AppendUint32(b, uint32(w.LastSequence))
	b = be.AppendUint32(b, uint32(w.OffsetDelta))
	b = be.AppendUint64(b, uint64(w.LastOffset))
	return be.AppendUint64(b, uint64(w.Timestamp))
}

// Restore reads a snapshot, with or without the part behind Kafka's. The error
// wraps ErrSnapshot.
func Restore(b []byte) (*Table, error) {
	be := binary.BigEndian
	if len(b) < snapshotHead {
		return nil, damaged("%d bytes, the head alone has %d", len(b), snapshotHead)
	}
	if v := be.Uint16(b); v != snapshotVersion {
		return nil, damaged("version %d, want %d", v, snapshotVersion)
	}
	if sum := crc32.Checksum(b[entriesAt:], castagnoli); sum != be.Uint32(b[crcAt:]) {
		return nil, damaged("checksum is %08x, the file says %08x", sum, be.Uint32(b[crcAt:]))
	}
	count, rest := int(be.Uint32(b[entriesAt:])), b[snapshotHead:]
	if count > len(rest)/snapshotEntry {
		return nil, damaged("%d entries in %d bytes", count, len(rest))
	}
	t := &Table{entries: make(map[int64]*Entry, count)}
	for range count {
		if err := t.restore(parseEntry(rest)); err != nil {
			return nil, err
		}
		rest = rest[snapshotEntry:]
	}
	if len(rest) >= windowHead && be.Uint32(rest) == windowMagic {
		return t, t.restoreWindows(rest)
	}
	return t, nil
}

func parseEntry(b []byte) Entry {
	be := binary.BigEndian
	e := New(int64(be.Uint64(b)))
	e.Epoch = int16(be.Uint16(b[8:]))
	last := Batch{
		LastSequence: int32(be.Uint32(b[10:])),
		LastOffset:   int64(be.Uint64(b[14:])),
		OffsetDelta:  int32(be.Uint32(b[22:])),
		Timestamp:    int64(be.Uint64(b[26:])),
	}
	if last.LastOffset >= 0 {
		e.push(last)
	}
	e.LastTimestamp = last.Timestamp
	e.CoordinatorEpoch = int32(be.Uint32(b[34:]))
	e.TxnFirstOffset = max(NoOffset, int64(be.Uint64(b[38:])))
	return e
}

func (t *Table) restore(e Entry) error {
	if t.entries[e.ProducerID] != nil {
		return damaged("producer %d twice", e.ProducerID)
	}
	*t.entry(e.ProducerID) = e
	if e.InTransaction() {
		t.begin(e.TxnFirstOffset, e.ProducerID)
	}
	return nil
}

func (t *Table) restoreWindows(b []byte) error {
	be := binary.BigEndian
	count, b := be.Uint32(b[4:]), b[windowHead:]
	for range count {
		if len(b) < 9 || b[8] > Window || len(b) < 9+int(b[8])*windowBatch {
			return damaged("the windows end early")
		}
		e, n := t.entries[int64(be.Uint64(b))], int(b[8])
		if e == nil {
			return damaged("a window of producer %d, which is not in the table", int64(be.Uint64(b)))
		}
		e.count, b = 0, b[9:]
		for range n {
			e.push(parseBatch(b))
			b = b[windowBatch:]
		}
	}
	return nil
}

func parseBatch(b []byte) Batch {
	be := binary.BigEndian
	return Batch{
		LastSequence: int32(be.Uint32(b)),
		OffsetDelta:  int32(be.Uint32(b[4:])),
		LastOffset:   int64(be.Uint64(b[8:])),
		Timestamp:    int64(be.Uint64(b[16:])),
	}
}

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrSnapshot, fmt.Sprintf(format, args...))
}

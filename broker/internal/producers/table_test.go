package producers

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/skeinstream/skein/broker/internal/record"
	"pgregory.net/rapid"
)

func of(id, offset int64, h record.Header) record.Header {
	h.ProducerID, h.BaseOffset = id, offset
	return h
}

func TestFirstUnstableIsTheOldestOpenTransaction(t *testing.T) {
	var table Table
	expectUnstable := func(want int64, wanted bool) {
		t.Helper()
		if got, ok := table.FirstUnstable(); ok != wanted || got != want {
			t.Fatalf("first unstable is %d (%v), want %d (%v)", got, ok, want, wanted)
		}
		if e, ok := table.FirstOpen(); ok != wanted || wanted && e.TxnFirstOffset != want {
			t.Fatalf("the first open is %+v (%v), want %d (%v)", e, ok, want, wanted)
		}
	}
	expectUnstable(0, false)
	table.Apply(of(1, 10, inTransaction(data(0, 0, 5))))
	table.Apply(of(2, 15, inTransaction(data(0, 0, 5))))
	table.Apply(of(1, 20, inTransaction(data(0, 5, 5))))
	table.Apply(of(3, 25, data(0, 0, 5)))
	expectUnstable(10, true)
	end, stable, ok := table.ApplyMarker(1, Marker{Offset: 30, Abort: true})
	if (end != Ended{1, 10, 30, true}) || stable != 15 || !ok {
		t.Fatal(end, stable, ok)
	}
	expectUnstable(15, true)
	if _, _, ok := table.ApplyMarker(1, Marker{Offset: 31, Abort: true}); ok {
		t.Fatal("a marker ended a transaction that was not open")
	}
	if _, stable, _ = table.ApplyMarker(2, Marker{Offset: 32}); stable != 33 {
		t.Fatal(stable)
	}
	expectUnstable(0, false)
}

func TestExpireSparesOpenTransactions(t *testing.T) {
	var table Table
	at := func(h record.Header, time int64) record.Header { h.MaxTimestamp = time; return h }
	table.Apply(of(1, 0, at(data(0, 0, 1), 100)))
	table.Apply(of(2, 1, at(inTransaction(data(0, 0, 1)), 100)))
	table.Apply(of(3, 2, at(data(0, 0, 1), 101)))
	if n := table.Expire(200, 100); n != 1 || table.Lookup(1).Known() || table.Len() != 2 {
		t.Fatal(n, table.All())
	}
	table.ApplyMarker(2, Marker{Offset: 3, Timestamp: 150})
	if n := table.Expire(249, 100); n != 1 || !table.Lookup(2).Known() {
		t.Fatal(n, table.All())
	}
}

func TestBatchesWithoutProducerAndMarkersAreNoData(t *testing.T) {
	var table Table
	table.Apply(record.Header{ProducerID: -1})
	table.Apply(record.Header{ProducerID: 1, Attributes: 0x30})
	if table.Len() != 0 {
		t.Fatal(table.All())
	}
}

// script applies random batches and markers.
func script(t *rapid.T) *Table {
	table := new(Table)
	offset := int64(0)
	for range rapid.IntRange(0, 60).Draw(t, "steps") {
		id := rapid.Int64Range(0, 4).Draw(t, "producer")
		e := table.Lookup(id)
		if e.InTransaction() && rapid.IntRange(0, 2).Draw(t, "end") == 0 {
			table.ApplyMarker(id, Marker{Offset: offset, Timestamp: offset, CoordinatorEpoch: int32(offset), Epoch: e.Epoch + int16(rapid.IntRange(0, 1).Draw(t, "bump")), Abort: rapid.Bool().Draw(t, "abort")})
			offset++
			continue
		}
		count := rapid.Int32Range(1, 9).Draw(t, "count")
		h := of(id, offset, data(max(0, e.Epoch), record.AddSequence(e.LastSequence(), 1), count))
		h.MaxTimestamp = rapid.Int64Range(-1, 1000).Draw(t, "time")
		if e.InTransaction() || rapid.Bool().Draw(t, "transactional") {
			h = inTransaction(h)
		}
		if _, err := e.Check(h); err != nil {
			t.Fatalf("the next batch is refused: %v", err)
		}
		table.Apply(h)
		if after := table.Lookup(id); after != e.Next(h, offset) {
			t.Fatalf("the table has %+v, Next says %+v", after, e.Next(h, offset))
		}
		offset += int64(count)
	}
	return table
}

// A retry is recognised after a restart as before it: the snapshot holds the whole
// window, where Kafka's holds one batch.
func TestSnapshotRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := script(t)
		b := table.Snapshot()
		again, err := Restore(b)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(again.All(), table.All()) || !slices.Equal(again.open, table.open) {
			t.Fatalf("%+v became %+v", table.All(), again.All())
		}
		if !bytes.Equal(again.Snapshot(), b) {
			t.Fatal("another snapshot of the same")
		}
	})
}

func golden() *Table {
	table := new(Table)
	table.Apply(of(1, 0, data(3, 0, 10)))
	table.Apply(of(1, 10, data(3, 10, 2)))
	table.Apply(of(2, 12, inTransaction(data(0, 5, 1))))
	table.ApplyMarker(3, Marker{Offset: 13, Timestamp: 77, CoordinatorEpoch: 9, Epoch: 4})
	return table
}

// The file changes only with the format's version.
func TestSnapshotGolden(t *testing.T) {
	want, err := os.ReadFile(filepath.Join("testdata", "snapshot-v1.hex"))
	if err != nil {
		t.Fatal(err)
	}
	got := hex.EncodeToString(golden().Snapshot())
	if got != string(bytes.TrimSpace(want)) {
		t.Fatalf("got  %s\nwant %s", got, want)
	}
}

func TestRestoreRefusesDamage(t *testing.T) {
	good := golden().Snapshot()
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 0x40
		if _, err := Restore(bad); !errors.Is(err, ErrSnapshot) {
			t.Fatalf("a flipped bit in byte %d: %v", i, err)
		}
		if _, err := Restore(good[:i]); !errors.Is(err, ErrSnapshot) {
			t.Fatalf("cut to %d bytes: %v", i, err)
		}
	}
}

func FuzzRestore(f *testing.F) {
	f.Add(golden().Snapshot())
	f.Add(new(Table).Snapshot())
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) >= snapshotHead {
			b = sealed(b)
		}
		table, err := Restore(b)
		if err != nil {
			return
		}
		again, err := Restore(table.Snapshot())
		if err != nil || !slices.Equal(again.All(), table.All()) {
			t.Fatalf("%v: %+v became %+v", err, table.All(), again.All())
		}
	})
}

func BenchmarkCheckAndNext(b *testing.B) {
	e := New(7)
	h := data(0, 0, 16)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.Check(h); err != nil {
			b.Fatal(err)
		}
		e = e.Next(h, 0)
		h.BaseSequence = record.AddSequence(h.BaseSequence, 16)
	}
}

func BenchmarkSnapshot1000(b *testing.B) {
	table := new(Table)
	for id := range int64(1000) {
		for i := range int32(5) {
			table.Apply(of(id, 0, data(0, i, 1)))
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		b.SetBytes(int64(len(table.Snapshot())))
	}
}

// sealed is b with the checksum that makes it worth reading.
func sealed(b []byte) []byte {
	b = bytes.Clone(b)
	binary.BigEndian.PutUint16(b, snapshotVersion)
	binary.BigEndian.PutUint32(b[crcAt:], crc32.Checksum(b[entriesAt:], castagnoli))
	return b
}

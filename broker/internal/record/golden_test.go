package record

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"
)

// golden reads the batches that Kafka's own classes wrote.
func golden(t testing.TB) map[string]Batch {
	t.Helper()
	text, err := os.ReadFile("testdata/java-4.4.0.txt")
	if err != nil {
		t.Fatal(err)
	}
	batches := map[string]Batch{}
	for line := range strings.Lines(string(text)) {
		name, digits, found := strings.Cut(strings.TrimSpace(line), " ")
		if !found || name == "#" {
			continue
		}
		b, err := hex.DecodeString(digits)
		if err != nil {
			t.Fatal(err)
		}
		batches[name] = b
	}
	return batches
}

// goldenRecords appends the records that the golden batches hold.
func goldenRecords(b *Builder) *Builder {
	return b.
		Append(1700000000123, []byte("key"), []byte("value one"), RecordHeader{"h", []byte("v")}, RecordHeader{"null", nil}).
		Append(1700000000100, nil, []byte{}).
		Append(1700000060000, []byte{}, nil).
		Append(1700000000456, []byte("été"), bytes.Repeat([]byte("x"), 300))
}

func goldenBuilder() *Builder {
	b := NewBuilder(42)
	b.LeaderEpoch, b.ProducerID, b.ProducerEpoch, b.BaseSequence, b.Transactional = 5, 7001, 3, 90, true
	return b
}

func TestBuilderWritesTheBytesOfTheJavaClient(t *testing.T) {
	want := golden(t)
	if got := goldenRecords(goldenBuilder()).Bytes(); !bytes.Equal(got, want["none"]) {
		t.Errorf("transactional batch\n got %x\nwant %x", got, want["none"])
	}
	if got := goldenRecords(NewBuilder(0)).Bytes(); !bytes.Equal(got, want["plain"]) {
		t.Errorf("plain batch\n got %x\nwant %x", got, want["plain"])
	}
	for _, codec := range []Codec{Snappy, LZ4} { // gzip and zstd differ between libraries
		b := goldenBuilder()
		b.Codec = codec
		got := goldenRecords(b).Bytes()
		if head := HeaderSize + 16; codec == Snappy && !bytes.Equal(got[HeaderSize:head], want["snappy"][HeaderSize:head]) {
			t.Errorf("xerial header is %x", got[HeaderSize:head])
		}
		if head := HeaderSize + 7; codec == LZ4 && !bytes.Equal(got[HeaderSize:head], want["lz4"][HeaderSize:head]) {
			t.Errorf("lz4 frame header is %x", got[HeaderSize:head])
		}
	}
}

// P7.4: with a value.
func TestControlMarkersAreThoseOfKafka(t *testing.T) {
	want := golden(t)
	for name, kind := range map[string]Marker{"commit": Commit, "abort": Abort} {
		got := ControlMarker(kind, 7001, 3, 11, 1700000000789)
		PatchOffset(got, 43, 5)
		if !bytes.Equal(got, want[name]) {
			t.Errorf("%s\n got %x\nwant %x", name, got, want[name])
		}
		gotKind, epoch, ok := ParseMarker(got)
		if gotKind != kind || epoch != 11 || !ok {
			t.Errorf("%s parses to %v, %d, %v", name, gotKind, epoch, ok)
		}
	}
	if _, _, ok := ParseMarker(want["none"]); ok {
		t.Error("a data batch parses as a marker")
	}
	if _, _, ok := ParseMarker(EmptyBatch(want["commit"].Header())); ok {
		t.Error("an emptied control batch parses as a marker")
	}
}

func TestEmptyBatchIsThatOfKafka(t *testing.T) {
	want := golden(t)
	for _, name := range []string{"none", "gzip"} {
		if got := EmptyBatch(want[name].Header()); !bytes.Equal(got, want["empty"]) {
			t.Errorf("of %s\n got %x\nwant %x", name, got, want["empty"])
		}
	}
	if err := Walk(want["empty"], nil, func(Record) bool { return true }); err != nil {
		t.Error(err)
	}
}

func TestEveryCodecOfTheJavaClientIsRead(t *testing.T) {
	want := describe(t, goldenRecords(goldenBuilder()).Bytes())
	for _, name := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		t.Run(name, func(t *testing.T) {
			b := golden(t)[name]
			if err := b.Verify(); err != nil {
				t.Error(err)
			}
			if got := describe(t, b); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			h := b.Header()
			if h.Codec().String() != name || h.LastOffset() != 45 || h.LastSequence() != 93 || !h.Transactional() ||
				h.Control() || h.LogAppendTime() || h.MaxTimestamp != 1700000060000 || h.LeaderEpoch != 5 {
				t.Errorf("header %+v", h)
			}
			PatchOffset(b, 0, -1)
			var v Validator
			a, err := v.Validate(b, anyTime(Rules{}))
			if err != nil || a.Recoded || a.MaxTimestamp != 1700000060000 || a.OffsetDeltaOfMax != 2 {
				t.Errorf("validated to %+v, %v", a, err)
			}
		})
	}
}

// describe writes out a batch's records, so that batches can be compared
// whatever they are compressed with.
func describe(t interface{ Errorf(string, ...any) }, b Batch) string {
	var s strings.Builder
	err := Walk(b, nil, func(r Record) bool {
		fmt.Fprintf(&s, "+%d @%d %s=%s", r.OffsetDelta, r.Timestamp, quote(r.Key), quote(r.Value))
		for h := range r.Headers() {
			fmt.Fprintf(&s, " %q:%s", h.Key, quote(h.Value))
		}
		s.WriteString("; ")
		return true
	})
	if err != nil {
		t.Errorf("walking: %v", err)
	}
	return s.String()
}

func quote(b []byte) string {
	if b == nil {
		return "null"
	}
	return fmt.Sprintf("%q", b)
}

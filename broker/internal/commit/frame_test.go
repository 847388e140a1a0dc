package commit

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/skeinstream/skein/internal/vfs"
)

func seal(b []byte) []byte {
	return binary.BigEndian.AppendUint32(nil, crc32.Checksum(b, castagnoli))
}

func TestFrameHeadersReadBackAsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint32().Draw(t, "seed")
		payload := rapid.SliceOfN(rapid.Byte(), 0, 50).Draw(t, "payload")
		h := frameHeader{
			kind:     rapid.SampledFrom([]Kind{Data, Note}).Draw(t, "kind"),
			seq:      rapid.Uint64().Draw(t, "seq"),
			durable:  rapid.Uint64().Draw(t, "durable"),
			count:    rapid.Uint32Range(1, 9).Draw(t, "count"),
			key:      Key{Topic: [16]byte{1, 15: 2}, Partition: rapid.Int32().Draw(t, "partition")},
			base:     rapid.Int64().Draw(t, "base"),
			last:     rapid.Int64().Draw(t, "last"),
			position: rapid.Int64().Draw(t, "position"),
			length:   uint32(len(payload)),
			sum:      crc32.Checksum(payload, castagnoli),
		}
		h.index = rapid.Uint32Range(0, h.count-1).Draw(t, "index")
		b := appendFrame(nil, h, payload, seed)
		if int64(len(b)) != frameSize(len(payload)) || len(b)%frameAlign != 0 {
			t.Fatal(len(b))
		}
		if got, ok := parseFrameHeader(b, seed); !ok || got != h {
			t.Fatalf("%+v, want %+v", got, h)
		}
		if _, ok := parseFrameHeader(b, seed+1); ok {
			t.Fatal("a frame of another life of the file was taken")
		}
		b[rapid.IntRange(0, frameHeaderSize-1).Draw(t, "at")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		if _, ok := parseFrameHeader(b, seed); ok {
			t.Fatal("a flipped bit was not noticed")
		}
	})
}

var update = flag.Bool("update", false, "write the golden files anew")

// TestGoldenLog holds the bytes of docs/format/wal.md.
func TestGoldenLog(t *testing.T) {
	fs := vfs.NewMemory()
	c, err := Open(fs, "wal", Config{DirectBytes: 30, Salt: func() uint64 { return 0x0123456789abcdef }}, nil)
	check(t, err)
	cl := &cluster{t: t, fs: fs, c: c}
	for i := range int32(2) {
		p := newPart(t, fs, i)
		p.key.Topic = [16]byte{0xa0, 1: 0xa1, 15: 0xaf}
		p.c = c
		cl.parts = append(cl.parts, p)
	}
	cl.parts[0].append("a batch", 3)
	check(t, cl.drain())
	cl.parts[1].append("enough bytes for the other road", 5)
	check(t, cl.drain())
	appendGroup(c, "marker", cl.parts...)
	check(t, cl.drain())
	got, err := vfs.ReadFile(fs, name(1))
	check(t, err)
	golden := filepath.Join("testdata", "v1.wal")
	if *update {
		check(t, os.WriteFile(golden, got, 0o644))
	}
	want, err := os.ReadFile(golden)
	check(t, err)
	if !bytes.Equal(got, want) {
		t.Fatal("the format has changed: it needs a new version, a reader for both, and a line in docs/format/wal.md")
	}
	expectFrames(t, fs, "0@0", "note 1@5", "0@3", "1@5")
}

// FuzzReader: whatever a file holds, reading ends without a panic, and yields only frames that are new and whole.
func FuzzReader(f *testing.F) {
	header := fileHeader{number: 1, salt: 7}
	file := header.append(nil)
	for i := range uint32(3) {
		h := frameHeader{kind: Data, seq: firstSeq(1) + 1 + uint64(i), index: i, count: 3, base: int64(i)}
		file = appendFrame(file, h, bytes.Repeat([]byte{byte(i)}, 20), header.seed())
	}
	f.Add(file, uint16(0), byte(0), false)
	f.Add(file, uint16(100), byte(1), true)
	f.Add(file[:100], uint16(30), byte(1), true)
	f.Add([]byte{}, uint16(0), byte(0), false)
	golden, err := os.ReadFile(filepath.Join("testdata", "v1.wal"))
	if err == nil {
		f.Add(golden, uint16(200), byte(4), true)
	}
	f.Fuzz(func(t *testing.T, content []byte, at uint16, flip byte, reseal bool) {
		content = bytes.Clone(content)
		if int(at) < len(content) {
			content[at] ^= flip
		}
		if reseal { // let changes of a header through its checksum
			for pos := fileHeaderSize; pos+frameHeaderSize <= len(content); pos += frameHeaderSize + 24 {
				sum := crc32.Update(header.seed(), castagnoli, content[pos:pos+84])
				binary.BigEndian.PutUint32(content[pos+84:], sum)
			}
		}
		fs := vfs.NewMemory()
		check(t, fs.MkdirAll("wal"))
		check(t, vfs.WriteFile(fs, name(1), content))
		var last uint64
		missing := 0
		err := Read(fs, "wal", func(fr Frame) error {
			if fr.Seq <= last || fr.Count < 1 || fr.Index >= fr.Count || missing > 0 && fr.Index != fr.Count-missing {
				t.Fatalf("%+v", fr)
			}
			last, missing = fr.Seq, fr.Count-1-fr.Index
			return nil
		})
		var damage *DamageError
		if err == nil && missing != 0 {
			t.Fatal("half a group was yielded")
		}
		if errors.As(err, &damage) && damage.Position > int64(len(content)) {
			t.Fatal(damage)
		}
	})
}

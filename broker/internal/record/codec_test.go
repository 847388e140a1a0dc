package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/golang/snappy"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

func TestCodecNames(t *testing.T) {
	for c := None; c <= Zstd; c++ {
		if got, ok := ParseCodec(c.String()); !ok || got != c {
			t.Errorf("%v parses to %v, %v", c, got, ok)
		}
	}
	if c, ok := ParseCodec("uncompressed"); !ok || c != None {
		t.Errorf("uncompressed is %v, %v", c, ok)
	}
	for _, name := range []string{"producer", "", "GZIP"} {
		if c, ok := ParseCodec(name); ok {
			t.Errorf("%q is %v", name, c)
		}
	}
	if Codec(5).Known() || Codec(-1).Known() || Codec(6).String() != "codec(6)" {
		t.Error("unknown codecs")
	}
}

// frameOf hand-makes an lz4 frame of one stored block.
func frameOf(flags, sizes byte, raw []byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, lz4Magic)
	b = append(b, flags, sizes)
	b = append(b, byte(xxh32Of(b[4:])>>8))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(raw))|lz4Uncompressed)
	b = append(b, raw...)
	return append(b, 0, 0, 0, 0)
}

func lz4With(raw []byte, options ...lz4.Option) []byte {
	var b bytes.Buffer
	w := lz4.NewWriter(&b)
	_ = w.Apply(options...)
	_, _ = w.Write(raw)
	_ = w.Close()
	return b.Bytes()
}

// T38: what Java cannot read is refused, with words that name the cause.
func TestLZ4FramesThatJavaCannotReadAreRefused(t *testing.T) {
	any := anyTime(Rules{})
	of := func(payload []byte) []byte { return hand(1).payload(LZ4, payload).bytes() }
	good := frameOf(0x60, 0x40, first)
	flip := func(b []byte, i int) []byte { b = bytes.Clone(b); b[i] ^= 1; return b }
	long := entry(0, 0, nil, bytes.Repeat([]byte("hello world "), 50_000))
	check(t, []verdict{
		{name: "independent blocks", batch: of(good), rules: any},
		{name: "linked blocks", batch: of(frameOf(0x40, 0x40, first)), rules: any, kafka: unknown, ours: invalidRecord, says: "linked blocks, which Java clients cannot read"},
		{name: "legacy frame", batch: of(lz4With(first, lz4.LegacyOption(true))), rules: any, kafka: unknown, ours: invalidRecord, says: "legacy frame, which Java clients cannot read"},
		{name: "block checksums", batch: of(lz4With(first, lz4.BlockChecksumOption(true))), rules: any},
		{name: "block checksum wrong", batch: of(flip(lz4With(long, lz4.BlockChecksumOption(true)), 40)), rules: any, kafka: unknown, ours: invalidRecord},
		{name: "content size", batch: of(lz4With(first, lz4.SizeOption(uint64(len(first))))), rules: any},
		{name: "no content checksum", batch: of(lz4With(first, lz4.ChecksumOption(false))), rules: any},
		// Kafka reads over the content checksum; librdkafka and Go clients do not.
		{name: "content checksum wrong", batch: of(flip(lz4With(first), len(lz4With(first))-1)), rules: any, ours: invalidRecord},
		{name: "blocks of 64 KiB", batch: of(lz4With(long, lz4.BlockSizeOption(lz4.Block64Kb))), rules: any},
		{name: "blocks of 4 MiB", batch: of(lz4With(long, lz4.BlockSizeOption(lz4.Block4Mb))), rules: any},
		{name: "header checksum wrong", batch: of(flip(good, 6)), rules: any, kafka: unknown, ours: invalidRecord},
		{name: "dictionary", batch: of(frameOf(0x61, 0x40, first)), rules: any, kafka: unknown, ours: invalidRecord},
		{name: "reserved bit", batch: of(frameOf(0x62, 0x40, first)), rules: any, kafka: unknown, ours: invalidRecord},
		{name: "version 0", batch: of(frameOf(0x20, 0x40, first)), rules: any, kafka: unknown, ours: invalidRecord},
		{name: "block size 3", batch: of(frameOf(0x60, 0x30, first)), rules: any, kafka: unknown, ours: invalidRecord},
		{name: "reserved bits in the block size", batch: of(frameOf(0x60, 0x41, first)), rules: any, kafka: unknown, ours: invalidRecord},
		{name: "no end mark", batch: of(good[:len(good)-4]), rules: any, kafka: unknown, ours: invalidRecord},
		{name: "end mark with the other bit", batch: of(append(bytes.Clone(good[:len(good)-4]), 0, 0, 0, 0x80)), rules: any},
		{name: "two frames", batch: hand(2).payload(LZ4, good, frameOf(0x60, 0x40, second)).bytes(), rules: any, kafka: invalidRecord},
		{name: "skippable frame in front", batch: of(append([]byte{0x50, 0x2a, 0x4d, 0x18, 1, 0, 0, 0, 9}, good...)), rules: any, kafka: unknown, ours: invalidRecord},
		{name: "bytes behind", batch: of(append(bytes.Clone(good), 1, 2, 3)), rules: any, ours: invalidRecord},
		{name: "garbage", batch: of([]byte("garbagegarbage")), rules: any, kafka: unknown, ours: invalidRecord},
		{name: "nothing", batch: of(nil), rules: any, kafka: unknown, ours: invalidRecord},
	})
}

// T38: raw and in the framing of Java's library, both of which every client reads.
func TestSnappyInBothForms(t *testing.T) {
	any := anyTime(Rules{})
	of := func(count int, parts ...[]byte) []byte { return hand(count).payload(Snappy, parts...).bytes() }
	head := []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0, 0, 0, 0, 1, 0, 0, 0, 1}
	block := func(raw []byte) []byte {
		coded := snappy.Encode(nil, raw)
		return append(binary.BigEndian.AppendUint32(nil, uint32(len(coded))), coded...)
	}
	long := entry(0, 0, nil, bytes.Repeat([]byte("hello world "), 50_000))
	check(t, []verdict{
		{name: "raw", batch: of(1, snappy.Encode(nil, first)), rules: any},
		{name: "raw, long", batch: of(1, snappy.Encode(nil, long)), rules: any},
		{name: "raw, bytes behind", batch: of(1, snappy.Encode(nil, first), []byte{1, 2, 3}), rules: any, kafka: unknown, ours: invalidRecord},
		{name: "xerial", batch: of(1, head, block(first)), rules: any},
		{name: "xerial, record over two blocks", batch: of(1, head, block(first[:3]), block(first[3:])), rules: any},
		{name: "xerial, two headers", batch: of(2, head, block(first), head, block(second)), rules: any},
		{name: "xerial, versions 0", batch: of(1, head[:8], make([]byte, 8), block(first)), rules: any},
		{name: "xerial, versions 9", batch: of(1, head[:8], []byte{0, 0, 0, 9, 0, 0, 0, 9}, block(first)), rules: any},
		{name: "xerial, header cut", batch: of(1, head[:12]), rules: any, kafka: unknown, ours: invalidRecord},
		{name: "xerial, block cut", batch: of(1, head, block(first)[:8]), rules: any, kafka: unknown, ours: invalidRecord},
		{name: "xerial, size cut", batch: of(1, head, block(first), []byte{0, 0}), rules: any, ours: invalidRecord},
		{name: "xerial, block of 2 GiB", batch: of(1, head, []byte{0x7f, 0xff, 0xff, 0xff}, block(first)), rules: any, kafka: unknown, ours: invalidRecord},
		{name: "xerial, negative size", batch: of(1, head, []byte{0xff, 0xff, 0xff, 0xf0}, block(first)), rules: any, kafka: unknown, ours: invalidRecord},
		{name: "our library's own extension", batch: of(1, s2.Encode(nil, repeats())), rules: any, kafka: unknown, ours: invalidRecord},
		{name: "garbage", batch: of(1, []byte("garbagegarbage")), rules: any, kafka: unknown, ours: invalidRecord},
		{name: "nothing", batch: of(1), rules: any, kafka: unknown, ours: invalidRecord},
	})
	if _, err := s2.Decode(nil, s2.Encode(nil, repeats())); err != nil {
		t.Error(err)
	}
	if _, err := snappy.Decode(nil, s2.Encode(nil, repeats())); err == nil {
		t.Error("the sample uses no extension")
	}
}

// repeats is a record in which matches recur at the same distance, for which s2
// has a code that snappy has not.
func repeats() []byte {
	random := rand.New(rand.NewPCG(1, 2))
	var value []byte
	for i := range 2000 {
		value = append(value, "a rather long run of text, "...)
		value = append(value, byte(random.Uint32()), byte(i))
	}
	return entry(0, 0, nil, value)
}

func TestSnappyBlocksAreNotBelievedWhatTheyCannotHold(t *testing.T) {
	const limit = 1 << 20
	zeros := snappy.Encode(nil, make([]byte, limit))
	for _, c := range []struct {
		name  string
		block []byte
		want  error
	}{
		{"as large as it may be", zeros, nil},
		{"beyond the limit", snappy.Encode(nil, make([]byte, limit+1)), errInflatedSize},
		{"claims 4 GiB", append(binary.AppendUvarint(nil, 1<<32-1), 0, 'x'), errSnappy},
		{"claims more than 4 GiB", append(binary.AppendUvarint(nil, 1<<40), 0, 'x'), errSnappy},
		{"claims one byte more", append(binary.AppendUvarint(nil, 2), 0, 'x'), errSnappy},
		{"claims one byte less", append(binary.AppendUvarint(nil, 0), 0, 'x'), errSnappy},
		{"empty", nil, errSnappy},
	} {
		z := new(snappyReader)
		if err := z.reset(c.block, limit); err != c.want || cap(z.block) > limit {
			t.Errorf("%s: %v with %d bytes of memory, want %v", c.name, err, cap(z.block), c.want)
		}
	}
	if len(zeros)*snappyGrowthMax < limit {
		t.Errorf("%d bytes hold %d: more than snappyGrowthMax allows", len(zeros), limit)
	}
}

func TestGzipAndZstdAsKafkaReadsThem(t *testing.T) {
	any := anyTime(Rules{})
	of := func(codec Codec, count int, parts ...[]byte) []byte {
		return hand(count).payload(codec, parts...).bytes()
	}
	gz, zs := hand(1, first).as(Gzip).records, hand(1, first).as(Zstd).records
	gz2, zs2 := hand(1, second).as(Gzip).records, hand(1, second).as(Zstd).records
	spoilt := bytes.Clone(gz)
	spoilt[len(spoilt)-6] ^= 1
	check(t, []verdict{
		{name: "gzip", batch: of(Gzip, 1, gz), rules: any},
		{name: "gzip cut in the data", batch: of(Gzip, 1, gz[:len(gz)-9]), rules: any, kafka: unknown, ours: invalidRecord},
		{name: "gzip without trailer", batch: of(Gzip, 1, gz[:len(gz)-8]), rules: any, kafka: unknown, ours: invalidRecord},
		{name: "gzip checksum wrong", batch: of(Gzip, 1, spoilt), rules: any, kafka: unknown, ours: invalidRecord},
		{name: "gzip in two members", batch: of(Gzip, 2, gz, gz2), rules: any},
		{name: "gzip, bytes behind", batch: of(Gzip, 1, gz, []byte("abc")), rules: any, ours: invalidRecord},
		{name: "gzip, many bytes behind", batch: of(Gzip, 1, gz, []byte("abcdefghijklmnop")), rules: any, ours: invalidRecord, says: "bytes follow"},
		{name: "gzip garbage", batch: of(Gzip, 1, []byte("garbagegarbage")), rules: any, kafka: unknown, ours: invalidRecord},
		{name: "gzip nothing", batch: of(Gzip, 1), rules: any, kafka: unknown, ours: invalidRecord},
		{name: "zstd", batch: of(Zstd, 1, zs), rules: any},
		{name: "zstd cut", batch: of(Zstd, 1, zs[:len(zs)-2]), rules: any, kafka: unknown, ours: invalidRecord},
		{name: "zstd in two frames", batch: of(Zstd, 2, zs, zs2), rules: any},
		{name: "zstd, skippable frame in front", batch: of(Zstd, 1, []byte{0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 9, 9}, zs), rules: any},
		{name: "zstd, bytes behind", batch: of(Zstd, 1, zs, []byte("abc")), rules: any, kafka: unknown, ours: invalidRecord},
		{name: "zstd garbage", batch: of(Zstd, 1, []byte("garbagegarbage")), rules: any, kafka: unknown, ours: invalidRecord},
		{name: "zstd nothing", batch: of(Zstd, 1), rules: any, kafka: unknown, ours: invalidRecord},
	})
}

func TestZstdWindowsUpToThoseThatJavaReads(t *testing.T) {
	any := anyTime(Rules{})
	raw := entry(0, 0, nil, bytes.Repeat([]byte("hello world "), 300_000)) // 3.6 MB: not at once
	framed := func(window int, raw []byte) []byte {
		var b bytes.Buffer
		w, err := zstd.NewWriter(&b, zstd.WithWindowSize(window), zstd.WithEncoderConcurrency(1))
		if err != nil {
			t.Fatal(err)
		}
		for piece := range bytes.SplitAfterSeq(raw, []byte("world world")) {
			_, _ = w.Write(piece)
			_ = w.Flush()
		}
		_ = w.Close()
		return hand(1).payload(Zstd, b.Bytes()).bytes()
	}
	check(t, []verdict{
		{name: "1 MiB, small batch", batch: framed(1<<20, first), rules: any},
		{name: "1 MiB", batch: framed(1<<20, raw), rules: any},
		{name: "8 MiB", batch: framed(8<<20, raw), rules: any},
		{name: "128 MiB, small batch", batch: framed(128<<20, first), rules: any},
		{name: "128 MiB", batch: framed(128<<20, raw), rules: any},
		{name: "256 MiB", batch: framed(256<<20, raw), rules: any, kafka: unknown, ours: invalidRecord},
	})
}

func TestBatchesThatInflateWithoutEndAreTooLarge(t *testing.T) {
	for _, codec := range []Codec{Gzip, Snappy, LZ4, Zstd} {
		b := hand(1, entry(0, 0, nil, make([]byte, 40<<20))).as(codec).bytes()
		var v Validator
		_, err := v.Validate(b, anyTime(Rules{InflatedMax: 30 << 20}))
		var r *Refusal
		if !errors.As(err, &r) || r.Code != tooLarge {
			t.Errorf("%v: refused with %v", codec, err)
		}
		if held := cap(v.inflate.whole) + cap(v.inflate.big) + cap(v.inflate.lz4.block) + cap(v.inflate.snappy.block); held > retainedMax {
			t.Errorf("%v: %d bytes are held", codec, held)
		}
	}
}

func TestCompressedRecordsMayBeLimited(t *testing.T) {
	limited := anyTime(Rules{RecordMax: 1000})
	of := func(size int) []byte { return entry(0, 0, nil, make([]byte, size)) }
	long, most := of(2000), of(993) // of 1000 bytes after its length
	for _, codec := range []Codec{Gzip, Snappy, LZ4, Zstd} {
		check(t, []verdict{
			{name: codec.String() + ", at the limit", batch: hand(1, most).as(codec).bytes(), rules: limited},
			{name: codec.String() + ", above it", batch: hand(1, of(994)).as(codec).bytes(), rules: limited, kafka: invalidRecord, says: "max.decompressed"},
			{name: codec.String() + ", far above it", batch: hand(1, of(200_000)).as(codec).bytes(), rules: limited, kafka: invalidRecord},
		})
	}
	recoded := limited
	recoded.Target = Target{Recode: true, Codec: Gzip}
	check(t, []verdict{
		{name: "uncompressed", batch: hand(1, long).bytes(), rules: limited},
		{name: "uncompressed, re-encoded", batch: hand(1, long).bytes(), rules: recoded},
		{name: "re-encoded", batch: hand(1, long).as(LZ4).bytes(), rules: recoded, kafka: invalidRecord},
	})
}

func TestALargeRecordIsSkippedNotHeld(t *testing.T) {
	value := make([]byte, 20<<20)
	random := rand.New(rand.NewPCG(5, 6))
	for i := 0; i < len(value); i += 100 {
		value[i] = byte(random.Uint32())
	}
	headers := withHeaders(5, 1, make([]byte, 100_000), value[:70_000], 2, value[:90_000], nil, []byte("h"), value[:66_000])
	for _, codec := range []Codec{Gzip, LZ4, Zstd} {
		m := hand(2, entry(0, 0, nil, value), headers).as(codec)
		var v Validator
		a, err := v.Validate(m.bytes(), anyTime(Rules{}))
		if err != nil || a.MaxTimestamp != handmadeNow+5 || a.OffsetDeltaOfMax != 1 {
			t.Errorf("%v: %+v, %v", codec, a, err)
		}
		if cap(v.inflate.big) > 0 || cap(v.inflate.whole) > retainedMax {
			t.Errorf("%v: holds %d and %d bytes", codec, cap(v.inflate.big), cap(v.inflate.whole))
		}
		n := 0
		err = Walk(a.Bytes, nil, func(r Record) bool {
			if n++; r.OffsetDelta == 0 && !bytes.Equal(r.Value, value) {
				t.Errorf("%v: value differs", codec)
			}
			return true
		})
		if err != nil || n != 2 {
			t.Errorf("%v: walked %d records, %v", codec, n, err)
		}
	}
}

func TestALargeRecordsStructureIsChecked(t *testing.T) {
	any := anyTime(Rules{})
	a := make([]byte, 100_000)
	cut := func(b []byte, n int) []byte { return b[:len(b)-n] }
	of := func(records ...[]byte) []byte { return hand(1, records...).as(LZ4).bytes() }
	check(t, []verdict{
		{name: "good", batch: of(entry(0, 0, a, a)), rules: any},
		{name: "cut", batch: of(cut(entry(0, 0, a, a), 9)), rules: any, kafka: invalidRecord, says: "longer than the batch"},
		{name: "key length -2", batch: of(sized([]byte{0, 0, 0}, number(-2), sized(a), []byte{0})), rules: any, ours: invalidRecord, says: "not -1"},
		{name: "value beyond the record", batch: of(sized([]byte{0, 0, 0}, sized(a), number(500), []byte{0})), rules: any, kafka: invalidRecord},
		{name: "bytes left", batch: of(sized([]byte{0, 0, 0}, sized(a), number(-1), number(0), []byte{1})), rules: any, ours: invalidRecord},
		{name: "header count -1", batch: of(withHeaders(0, 0, a, a, -1)), rules: any, kafka: invalidRecord},
		{name: "header count 2^31-1", batch: of(withHeaders(0, 0, a, a, 1<<31-1)), rules: any, kafka: invalidRecord},
		{name: "header count 1, none there", batch: of(withHeaders(0, 0, a, a, 1)), rules: any, kafka: invalidRecord},
		{name: "header key null", batch: of(withHeaders(0, 0, a, a, 1, nil, a)), rules: any, kafka: invalidRecord, says: "header key is null"},
		{name: "timestamp cut", batch: of(sized(bytes.Repeat([]byte{0xff}, 90_000))), rules: any, kafka: invalidRecord},
		{name: "no key", batch: of(entry(0, 0, nil, a)), rules: anyTime(Rules{Compacted: true}), kafka: invalidRecord, bad: []int32{0}},
	})
}

func TestXXH32(t *testing.T) {
	for text, want := range map[string]uint32{
		"": 0x02cc5d05, "a": 0x550d7456, "abc": 0x32d153ff, "Nobody inspects the spammish repetition": 0xe2293b2f,
	} {
		if got := xxh32Of([]byte(text)); got != want {
			t.Errorf("%q: %08x, want %08x", text, got, want)
		}
		var x xxh32
		x.reset()
		for i := range len(text) {
			x.write([]byte{text[i]})
		}
		if got := x.sum(); got != want {
			t.Errorf("%q by bytes: %08x, want %08x", text, got, want)
		}
	}
}

func TestWalkReportsDamage(t *testing.T) {
	for name, b := range map[string]Batch{
		"fewer records": hand(3, first, second).bytes(),
		"bytes behind":  hand(1, first, second).bytes(),
		"no gzip":       hand(1).payload(Gzip, []byte("x")).bytes(),
		"codec 6":       hand(1).payload(6, []byte("x")).bytes(),
	} {
		if err := Walk(b, nil, func(Record) bool { return true }); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "offset 0") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := Walk(hand(1, first).bytes()[:65], nil, func(Record) bool { return true }); !errors.Is(err, ErrTruncated) {
		t.Errorf("cut batch: %v", err)
	}
}

func TestStreamsSurviveReadersThatGiveLittle(t *testing.T) {
	var s stream
	records := bytes.Join([][]byte{first, second, entry(0, 2, nil, make([]byte, 200_000))}, nil)
	s.inflating(oneByte{bytes.NewReader(records)}, 1<<30)
	if err := scanAll(&s, hand(3).Header, &tally{rules: &Rules{}, base: -1}); err != nil {
		t.Error(err)
	}
	s.inflating(nothing{}, 1<<30)
	if err := s.fill(1); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a reader that gives nothing: %v", err)
	}
}

type oneByte struct{ r io.Reader }

func (o oneByte) Read(p []byte) (int, error) { return o.r.Read(p[:1]) }

type nothing struct{}

func (nothing) Read([]byte) (int, error) { return 0, nil }

func TestChecksumIsCRC32C(t *testing.T) {
	if crc32.Checksum([]byte("123456789"), castagnoli) != 0xe3069283 {
		t.Error("not Castagnoli's polynomial")
	}
}

package record

import (
	"bytes"
	"io"
	"testing"
)

// The seeds are whole batches of every codec, and batches that are wrong in ways
// that only a right checksum lets through: the fuzz functions seal what they get.
func seeds(f *testing.F) {
	for _, b := range golden(f) {
		f.Add([]byte(b))
	}
	for _, codec := range []Codec{None, Gzip, Snappy, LZ4, Zstd} {
		f.Add([]byte(hand(3, first, second, entry(7, 2, nil, make([]byte, 100_000))).as(codec).bytes()))
		f.Add([]byte(hand(2, withHeaders(0, 0, nil, nil, 1, []byte("k"), nil)).as(codec).bytes()))
	}
	f.Add([]byte{})
}

func FuzzParseHeader(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := ParseHeader(b)
		if err == nil && (h.Size() < HeaderSize || h.Magic != Magic) {
			t.Errorf("%+v", h)
		}
		total := 0
		for batch, err := range Batches(b) {
			if err == nil {
				total += len(batch)
			}
		}
		if total > len(b) {
			t.Errorf("batches of %d bytes in %d", total, len(b))
		}
	})
}

// FuzzValidate asks that nothing panics or holds much, and that whatever is
// accepted can be walked, and is accepted again as it is.
func FuzzValidate(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		if size, _ := frame(b); size >= HeaderSize {
			PatchOffset(b, 0, -1)
			seal(b[:size])
		}
		rules := anyTime(Rules{InflatedMax: 4 << 20})
		for _, rules.Target.Recode = range []bool{false, true} {
			var v Validator
			a, err := v.Validate(bytes.Clone(b), rules)
			if held := cap(v.inflate.whole) + cap(v.inflate.lz4.block) + cap(v.inflate.snappy.block) + cap(v.raw); held > 4*retainedMax {
				t.Fatalf("%d bytes are held", held)
			}
			if err != nil {
				continue
			}
			n := int32(0)
			if err := Walk(a.Bytes, nil, func(Record) bool { n++; return true }); err != nil || n != a.Header.Count {
				t.Fatalf("accepted, but walked %d of %d: %v", n, a.Header.Count, err)
			}
			again, err := v.Validate(bytes.Clone(a.Bytes), rules)
			if err != nil || !bytes.Equal(again.Bytes, a.Bytes) {
				t.Fatalf("not accepted as it was stored: %v", err)
			}
		}
	})
}

func FuzzWalk(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		_ = Walk(b, nil, func(r Record) bool {
			for range r.Headers() {
			}
			return true
		})
		_, _, _ = ParseMarker(b)
	})
}

// fuzzCodec inflates arbitrary bytes, at most 1 MiB of them.
func fuzzCodec(f *testing.F, codec Codec) {
	for _, raw := range [][]byte{nil, first, bytes.Repeat(first, 1000), repeats()} {
		f.Add(hand(1, raw).as(codec).records)
	}
	var d Decompressors
	f.Fuzz(func(t *testing.T, b []byte) {
		const limit = 1 << 20
		s, err := d.open(codec, b, limit)
		total := 0
		for err == nil {
			err = s.fill(1)
			total += len(s.buf) - s.at
			s.at = len(s.buf)
		}
		if total > limit+chunkSize {
			t.Errorf("inflated to %d bytes: %v", total, err)
		}
		if err == io.EOF {
			raw := make([]byte, 0, total)
			s, _ = d.open(codec, b, limit)
			raw, _ = s.gather(total, &raw)
			var c Compressors
			coded, _ := c.append(nil, raw, Target{Codec: codec})
			s, err = d.open(codec, coded, limit)
			var back []byte
			if err == nil {
				back, err = s.gather(total, new([]byte))
			}
			if total > 0 && (err != nil || !bytes.Equal(back, raw)) {
				t.Errorf("does not come back through %v: %v", codec, err)
			}
		}
		d.release()
	})
}

func FuzzGzip(f *testing.F)   { fuzzCodec(f, Gzip) }
func FuzzSnappy(f *testing.F) { fuzzCodec(f, Snappy) }
func FuzzLZ4(f *testing.F)    { fuzzCodec(f, LZ4) }
func FuzzZstd(f *testing.F)   { fuzzCodec(f, Zstd) }

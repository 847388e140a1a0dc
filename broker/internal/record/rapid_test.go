package record

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// anyBytes draws a key or value: null, empty, short or long.
func anyBytes(t *rapid.T, name string) []byte {
	switch rapid.IntRange(0, 9).Draw(t, name+" kind") {
	case 0:
		return nil
	case 1:
		return []byte{}
	case 2:
		pattern := rapid.SliceOfN(rapid.Byte(), 1, 20).Draw(t, name+" pattern")
		return bytes.Repeat(pattern, rapid.IntRange(1, 10_000).Draw(t, name+" repeats"))
	default:
		return rapid.SliceOfN(rapid.Byte(), 1, 40).Draw(t, name)
	}
}

// anyBatch draws a batch as a producer would send it.
func anyBatch(t *rapid.T) *Builder {
	b := NewBuilder(0)
	b.Codec = Codec(rapid.IntRange(0, 4).Draw(t, "codec"))
	if rapid.Bool().Draw(t, "idempotent") {
		b.ProducerID = rapid.Int64Range(0, 1<<62).Draw(t, "producer")
		b.ProducerEpoch = rapid.Int16Range(0, 1<<14).Draw(t, "epoch")
		b.BaseSequence = rapid.Int32Range(0, maxSequence).Draw(t, "sequence")
		b.Transactional = rapid.Bool().Draw(t, "transactional")
	}
	for range rapid.IntRange(1, 30).Draw(t, "records") {
		var headers []RecordHeader
		for range rapid.IntRange(0, 3).Draw(t, "headers") {
			headers = append(headers, RecordHeader{rapid.String().Draw(t, "header"), anyBytes(t, "header value")})
		}
		timestamp := rapid.OneOf(rapid.Int64Range(0, 1<<45), rapid.Int64Range(1700000000000, 1700000001000)).Draw(t, "timestamp")
		b.Append(timestamp, anyBytes(t, "key"), anyBytes(t, "value"), headers...)
	}
	return b
}

func TestWhatIsBuiltValidatesAndReadsBackThroughEveryCodec(t *testing.T) {
	var v Validator
	rapid.Check(t, func(t *rapid.T) {
		b := anyBatch(t)
		plain := *b
		plain.Codec = None
		want := plain.Bytes()
		text := describe(t, want)
		target := Target{Recode: rapid.Bool().Draw(t, "recode"), Codec: Codec(rapid.IntRange(0, 4).Draw(t, "target")), Level: rapid.IntRange(0, 9).Draw(t, "level")}
		a, err := v.Validate(b.Bytes(), anyTime(Rules{Target: target}))
		if err != nil {
			t.Fatal(err)
		}
		if got := describe(t, a.Bytes); got != text {
			t.Fatalf("got  %s\nwant %s", got, text)
		}
		got := a.Header
		wantHeader := want.Header()
		if target.Recode {
			wantHeader.Attributes |= int16(target.Codec)
		} else {
			wantHeader.Attributes |= int16(b.Codec)
		}
		wantHeader.Length, wantHeader.CRC = got.Length, got.CRC
		if got != wantHeader || a.Bytes.Verify() != nil {
			t.Fatalf("header %+v, want %+v", got, wantHeader)
		}
	})
}

func TestRebuildingFromWalkedRecordsKeepsThem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from := anyBatch(t).Bytes()
		h := from.Header()
		b := NewBuilder(1000)
		b.Codec = h.Codec()
		b.DeleteHorizon = rapid.SampledFrom([]int64{0, 1700000000000}).Draw(t, "horizon")
		b.LastOffsetDelta = h.LastOffsetDelta
		every := rapid.Int32Range(1, 5).Draw(t, "every")
		kept := map[int32]string{}
		_ = Walk(from, nil, func(r Record) bool {
			if r.OffsetDelta%every == 0 {
				b.AppendRecord(r)
				kept[r.OffsetDelta] = quote(r.Key) + quote(r.Value)
			}
			return true
		})
		to := b.Bytes()
		if to.Header().LastOffset() != 1000+int64(h.LastOffsetDelta) || int(to.Header().Count) != len(kept) || b.Len() != len(kept) {
			t.Fatalf("header %+v", to.Header())
		}
		err := Walk(to, nil, func(r Record) bool {
			if kept[r.OffsetDelta] != quote(r.Key)+quote(r.Value) {
				t.Fatalf("record +%d is %q=%q", r.OffsetDelta, r.Key, r.Value)
			}
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

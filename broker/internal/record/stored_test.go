package record

import (
	"bytes"
	"testing"
)

// What Kafka 4.4 was seen to store of hand-made batches.

func TestWhatIsStoredHasTheRealMaxTimestamp(t *testing.T) {
	records := [][]byte{entry(100, 0, []byte("k"), []byte("v")), entry(50, 1, []byte("k"), []byte("v"))}
	for _, c := range []struct {
		name                   string
		attributes, wantAttrs  int16
		base, max              int64
		rules                  Rules
		wantMax                int64
		wantDelta              int32
		unchanged              bool
		timestampOfFirstRecord int64
	}{
		{name: "right already", base: 1000, max: 1100, wantMax: 1100, unchanged: true, timestampOfFirstRecord: 1100},
		{name: "wrong", base: 1000, max: 5, wantMax: 1100, timestampOfFirstRecord: 1100},
		{name: "bits without meaning stay", attributes: -0x7fc0, wantAttrs: -0x7fc0, base: 1000, max: 1100, wantMax: 1100, unchanged: true, timestampOfFirstRecord: 1100},
		{name: "and go when the header is written anew", attributes: -0x7fc0, wantAttrs: 0x40, base: 1000, max: 1101, wantMax: 1100, timestampOfFirstRecord: 1100},
		{name: "a producer's LogAppendTime bit is cleared", attributes: 8, base: 1000, max: 5, wantMax: 5, timestampOfFirstRecord: 1100},
		{name: "negative timestamps count as none", base: -500, max: 7, wantMax: -1, timestampOfFirstRecord: -400},
		{name: "LogAppendTime", base: 1000, max: 1100, rules: Rules{LogAppendTime: true}, wantAttrs: 8, wantMax: handmadeNow, timestampOfFirstRecord: handmadeNow},
	} {
		for _, codec := range []Codec{None, Gzip} {
			t.Run(c.name+" "+codec.String(), func(t *testing.T) {
				m := hand(2, records...)
				m.Attributes, m.BaseTimestamp, m.MaxTimestamp = c.attributes, c.base, c.max
				sent := m.as(codec).bytes()
				before := bytes.Clone(sent)
				var v Validator
				c.rules.Now = handmadeNow
				a, err := v.Validate(sent, anyTime(c.rules))
				if err != nil {
					t.Fatal(err)
				}
				if a.Header.Attributes != c.wantAttrs|int16(codec) || a.Header.MaxTimestamp != c.wantMax || a.MaxTimestamp != c.wantMax ||
					a.Header.BaseTimestamp != c.base {
					t.Errorf("stored as %+v, accepted as %+v", a.Header, a)
				}
				if a.Header != a.Bytes.Header() || a.Bytes.Verify() != nil || a.Recoded {
					t.Errorf("header, checksum or recoding wrong: %+v", a)
				}
				if c.unchanged != bytes.Equal(a.Bytes, before) {
					t.Errorf("bytes changed: %v", !c.unchanged)
				}
				if !bytes.Equal(a.Bytes.Payload(), Batch(before).Payload()) {
					t.Error("records changed")
				}
				firstRecord(t, a.Bytes, func(r Record) {
					if r.Timestamp != c.timestampOfFirstRecord {
						t.Errorf("first record at %d, want %d", r.Timestamp, c.timestampOfFirstRecord)
					}
				})
			})
		}
	}
}

func firstRecord(t *testing.T, b Batch, f func(Record)) {
	t.Helper()
	if err := Walk(b, nil, func(r Record) bool { f(r); return false }); err != nil {
		t.Error(err)
	}
}

func TestCompressionTypeReencodes(t *testing.T) {
	codecs := []Codec{None, Gzip, Snappy, LZ4, Zstd}
	for _, from := range codecs {
		for _, to := range codecs {
			t.Run(from.String()+" to "+to.String(), func(t *testing.T) {
				b := goldenBuilder()
				b.BaseOffset, b.Codec = 0, from
				sent := goldenRecords(b).Bytes()
				before := bytes.Clone(sent)
				var v Validator
				a, err := v.Validate(sent, anyTime(Rules{Target: Target{Recode: true, Codec: to}}))
				if err != nil {
					t.Fatal(err)
				}
				if a.Recoded != (from != to) || a.Recoded == bytes.Equal(a.Bytes, before) {
					t.Errorf("recoded %v", a.Recoded)
				}
				if !bytes.Equal(sent, before) {
					t.Error("the bytes sent were changed")
				}
				if got, want := describe(t, a.Bytes), describe(t, before); got != want {
					t.Errorf("records\n got %s\nwant %s", got, want)
				}
				want := Batch(before).Header()
				want.Attributes = want.Attributes&^codecMask | int16(to)
				want.Length, want.CRC = a.Header.Length, a.Header.CRC
				if a.Header != want || a.Bytes.Verify() != nil {
					t.Errorf("header %+v, want %+v", a.Header, want)
				}
			})
		}
	}
}

func TestLevelsChooseHowMuchIsSpent(t *testing.T) {
	text := bytes.Repeat([]byte("the quick brown fox jumps over the lazy dog; "), 50)
	for i := 0; i < len(text); i += 40 {
		text[i] ^= byte(i * i >> 7 & 3)
	}
	for codec, levels := range map[Codec][]int{Gzip: {-1, 0, 1, 9, 77}, LZ4: {0, 1, 9, 12, 17, -3}, Zstd: {-131072, 0, 3, 22, 99}, Snappy: {0, 5}} {
		for _, level := range levels {
			var v Validator
			a, err := v.Validate(hand(1, entry(0, 0, nil, text)).bytes(), anyTime(Rules{Target: Target{Recode: true, Codec: codec, Level: level}}))
			if err != nil || !a.Recoded || a.Header.Codec() != codec || len(a.Bytes) > len(text)*2/3 {
				t.Errorf("%v level %d: %d bytes of %d, %v", codec, level, len(a.Bytes), len(text), err)
				continue
			}
			firstRecord(t, a.Bytes, func(r Record) {
				if !bytes.Equal(r.Value, text) {
					t.Errorf("%v level %d: value differs", codec, level)
				}
			})
		}
	}
}

func TestWhatALevelChangedIsNotReencoded(t *testing.T) {
	sent := hand(1, first).as(Gzip).bytes()
	var v Validator
	a, err := v.Validate(sent, anyTime(Rules{Target: Target{Recode: true, Codec: Gzip, Level: 1}}))
	if err != nil || a.Recoded {
		t.Errorf("recoded %v, %v", a.Recoded, err)
	}
}

func TestHeaderOnlyTakesCompressedRecordsOnTrust(t *testing.T) {
	damaged := hand(3).payload(Gzip, []byte("no gzip")).bytes()
	var v Validator
	a, err := v.Validate(damaged, anyTime(Rules{HeaderOnly: true}))
	if err != nil || a.MaxTimestamp != handmadeNow || a.OffsetDeltaOfMax != 2 {
		t.Errorf("accepted as %+v, %v", a, err)
	}
	for name, r := range map[string]Rules{
		"validated in full": {},
		"re-encoded":        {HeaderOnly: true, Target: Target{Recode: true}},
		"compacted":         {HeaderOnly: true, Compacted: true},
	} {
		if _, err := v.Validate(damaged, anyTime(r)); err == nil {
			t.Errorf("%s: damaged records were accepted", name)
		}
	}
	if _, err := v.Validate(hand(3, first).bytes(), anyTime(Rules{HeaderOnly: true})); err == nil {
		t.Error("uncompressed records were not walked")
	}
}

func TestBytesBehindTheBatchAreCutOff(t *testing.T) {
	good := hand(1, first).bytes()
	var v Validator
	a, err := v.Validate(append(bytes.Clone(good), 1, 2, 3), anyTime(Rules{}))
	if err != nil || !bytes.Equal(a.Bytes, good) || cap(a.Bytes) != len(good) {
		t.Errorf("stored %d bytes of %d, %v", len(a.Bytes), len(good), err)
	}
}

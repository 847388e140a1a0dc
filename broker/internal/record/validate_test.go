package record

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
)

// verdict is a case of validation. kafka is the code that Apache Kafka 4.4.0
// answered to these bytes; where ours differs on purpose, ours is set and the
// difference is in docs/differences.md.
type verdict struct {
	name      string
	batch     []byte
	rules     Rules
	kafka     int16
	ours      int16 // 0: the same as kafka
	beforeLog bool  // Kafka answered with log start offset -1
	bad       []int32
	says      string // part of the message
}

func check(t *testing.T, cases []verdict) {
	t.Helper()
	var v Validator // one for all, to show that it is reusable after any failure
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			c.rules.Now = handmadeNow
			want := c.kafka
			if c.ours != 0 {
				want = c.ours
			}
			a, err := v.Validate(bytes.Clone(c.batch), c.rules)
			if err == nil {
				if want != 0 {
					t.Fatalf("accepted, want %v", kerr.ErrorForCode(want))
				}
				if err := a.Bytes.Verify(); err != nil {
					t.Errorf("what is to be stored: %v", err)
				}
				return
			}
			var r *Refusal
			if !errors.As(err, &r) {
				t.Fatalf("error %v is no Refusal", err)
			}
			if r.Code != want || r.BeforeLog != c.beforeLog || !strings.Contains(r.Message, c.says) {
				t.Fatalf("refused: %v, before log %v; want %v, %v", err, r.BeforeLog, kerr.ErrorForCode(want), c.beforeLog)
			}
			if len(r.Records) != len(c.bad) {
				t.Fatalf("names records %v, want %v", r.Records, c.bad)
			}
			for i, e := range r.Records {
				if e.Index != c.bad[i] || e.Message == "" {
					t.Errorf("names %v, want record %d", e, c.bad[i])
				}
			}
		})
	}
}

// Codes that Kafka answers, for short.
const (
	unknown       = -1
	corrupt       = 2
	tooLarge      = 10
	listTooLarge  = 18
	badTimestamp  = 32
	badCodec      = 76
	invalidRecord = 87
)

var (
	first  = entry(0, 0, []byte("k"), []byte("v"))
	second = entry(0, 1, []byte("k"), []byte("v"))
)

// T14: exactly one batch, and everything about it is checked, the checksum first.
func TestBatchesAreJudgedAsKafkaJudgesThem(t *testing.T) {
	good := hand(1, first).bytes()
	any := anyTime(Rules{})
	tail := func(b []byte) []byte { return bytes.Join([][]byte{good, b}, nil) }
	set := func(f func(*handmade)) []byte { return hand(1, first).edit(f).bytes() }
	check(t, []verdict{
		{name: "good", batch: good, rules: any},
		{name: "good gzip", batch: hand(1, first).as(Gzip).bytes(), rules: any},
		{name: "checksum wrong", batch: set(func(m *handmade) { m.crcXor = 1 }), rules: any, kafka: corrupt, beforeLog: true},
		{name: "magic 0", batch: set(func(m *handmade) { m.Magic = 0 }), rules: any, kafka: invalidRecord, beforeLog: true},
		{name: "magic 1", batch: set(func(m *handmade) { m.Magic = 1 }), rules: any, kafka: invalidRecord, beforeLog: true},
		{name: "magic 3", batch: set(func(m *handmade) { m.Magic = 3 }), rules: any, kafka: corrupt, beforeLog: true},
		{name: "magic -1", batch: set(func(m *handmade) { m.Magic = -1 }), rules: any, kafka: corrupt, beforeLog: true},
		{name: "base offset 5", batch: set(func(m *handmade) { m.BaseOffset = 5 }), rules: any, kafka: invalidRecord},
		{name: "base offset -1", batch: set(func(m *handmade) { m.BaseOffset = -1 }), rules: any, kafka: invalidRecord},
		{name: "last offset delta 1, count 1", batch: set(func(m *handmade) { m.LastOffsetDelta = 1 }), rules: any, kafka: invalidRecord},
		{name: "last offset delta 0, count 2", batch: hand(2, first, second).edit(func(m *handmade) { m.LastOffsetDelta = 0 }).bytes(), rules: any, kafka: invalidRecord},
		{name: "count 0", batch: hand(0).bytes(), rules: any, kafka: invalidRecord},
		{name: "count 0, last offset delta 0", batch: hand(0).edit(func(m *handmade) { m.LastOffsetDelta = 0 }).bytes(), rules: any, kafka: invalidRecord},
		{name: "count -1", batch: hand(-1, first).bytes(), rules: any, kafka: invalidRecord},
		{name: "count largest", batch: set(func(m *handmade) { m.Count, m.LastOffsetDelta = math.MaxInt32, math.MaxInt32-1 }), rules: any, kafka: invalidRecord},
		{name: "control bit", batch: set(func(m *handmade) { m.Attributes = controlBit }), rules: any, kafka: invalidRecord},
		{name: "delete horizon bit", batch: set(func(m *handmade) { m.Attributes = deleteHorizonBit }), rules: any},
		{name: "attribute bit 7", batch: set(func(m *handmade) { m.Attributes = 0x80 }), rules: any},
		{name: "attribute bit 15", batch: set(func(m *handmade) { m.Attributes = -0x8000 }), rules: any},
		{name: "producer without sequence", batch: set(func(m *handmade) { m.ProducerID, m.ProducerEpoch = 7, 0 }), rules: any, kafka: invalidRecord},
		{name: "producer without epoch", batch: set(func(m *handmade) { m.ProducerID, m.BaseSequence = 7, 0 }), rules: any},
		{name: "sequence without producer", batch: set(func(m *handmade) { m.BaseSequence, m.ProducerEpoch = 5, 3 }), rules: any},
		{name: "producer -2", batch: set(func(m *handmade) { m.ProducerID = -2 }), rules: any},
		{name: "leader epoch 77", batch: set(func(m *handmade) { m.LeaderEpoch = 77 }), rules: any},
		{name: "two batches", batch: tail(good), rules: any, kafka: invalidRecord, beforeLog: true},
		{name: "part of a batch behind", batch: tail(good[:40]), rules: any},
		{name: "10 bytes behind", batch: tail(make([]byte, 10)), rules: any},
		{name: "30 zeros behind", batch: tail(make([]byte, 30)), rules: any, kafka: corrupt, beforeLog: true},
		{name: "unknown magic behind", batch: tail(set(func(m *handmade) { m.Magic = 9 })), rules: any, kafka: corrupt, beforeLog: true},
		{name: "empty", batch: []byte{}, rules: any, kafka: invalidRecord, beforeLog: true},
		// To null Kafka 4.4 never answers, whatever the version.
		{name: "null", batch: nil, rules: any, kafka: invalidRecord, beforeLog: true},
		{name: "length 10", batch: set(func(m *handmade) { m.lengthAdd = 10 - minLength - int32(len(first)) }), rules: any, kafka: corrupt, beforeLog: true},
		{name: "length 0", batch: set(func(m *handmade) { m.lengthAdd = -minLength - int32(len(first)) }), rules: any, kafka: corrupt, beforeLog: true},
		{name: "length -5", batch: set(func(m *handmade) { m.lengthAdd = -5 - minLength - int32(len(first)) }), rules: any, kafka: corrupt, beforeLog: true},
		{name: "length 48", batch: hand(1).edit(func(m *handmade) { m.lengthAdd = -1 }).bytes(), rules: any, kafka: corrupt, beforeLog: true},
		{name: "length one less", batch: set(func(m *handmade) { m.lengthAdd = -1 }), rules: any, kafka: corrupt, beforeLog: true},
		{name: "several faults: size before checksum", batch: set(func(m *handmade) { m.crcXor = 1 }), rules: Rules{MaxBytes: 10}, kafka: tooLarge, beforeLog: true},
		{name: "zstd in old Produce", batch: hand(1, first).as(Zstd).bytes(), rules: Rules{ZstdRefused: true}, kafka: badCodec, beforeLog: true},
		{name: "gzip in old Produce", batch: hand(1, first).as(Gzip).bytes(), rules: anyTime(Rules{ZstdRefused: true})},
		{name: "codec 5", batch: set(func(m *handmade) { m.Attributes = 5 }), rules: any, kafka: unknown, ours: badCodec},
		{name: "codec 7", batch: set(func(m *handmade) { m.Attributes = 7 }), rules: any, kafka: unknown, ours: badCodec},
	})
	for n := range good {
		check(t, []verdict{{name: "truncated", batch: good[:n], rules: any, kafka: invalidRecord, beforeLog: true}})
	}
}

// T17: MESSAGE_TOO_LARGE, so that clients split the batch.
func TestSizeLimitsAreInclusive(t *testing.T) {
	b := hand(1, first).bytes()
	big := hand(1, entry(0, 0, nil, make([]byte, 3000)))
	check(t, []verdict{
		{name: "exactly max.message.bytes", batch: b, rules: anyTime(Rules{MaxBytes: len(b)})},
		{name: "one more", batch: b, rules: anyTime(Rules{MaxBytes: len(b) - 1}), kafka: tooLarge, beforeLog: true},
		{name: "small until it is re-encoded", batch: big.as(Gzip).bytes(),
			rules: anyTime(Rules{MaxBytes: 1000, Target: Target{Recode: true}}), kafka: tooLarge, beforeLog: true},
		{name: "exactly segment.bytes", batch: b, rules: anyTime(Rules{SegmentBytes: len(b)})},
		{name: "larger than a segment", batch: b, rules: anyTime(Rules{SegmentBytes: len(b) - 1}), kafka: listTooLarge, beforeLog: true},
	})
}

func TestRecordsAreWalked(t *testing.T) {
	a := []byte("a")
	grown := func(by int) []byte { b := bytes.Clone(first); b[0] += byte(2 * by); return b }
	for _, codec := range []Codec{None, Gzip, Snappy, LZ4, Zstd} {
		gaps := int16(0)
		if codec != None {
			gaps = unknown
		}
		// Kafka reads compressed records field by field and never compares the
		// record's length with them; its consumers do.
		length, sixBytes := int16(invalidRecord), int16(unknown)
		if codec != None {
			length, sixBytes = 0, invalidRecord
		}
		of := func(count int, records ...[]byte) []byte {
			m := hand(count, records...)
			if codec != None {
				m.as(codec)
			}
			return m.bytes()
		}
		cases := []verdict{
			{name: "two records", batch: of(2, first, second)},
			{name: "fewer than the count", batch: of(2, first), kafka: invalidRecord, says: "fewer records"},
			{name: "more than the count", batch: of(1, first, second), kafka: invalidRecord},
			{name: "a byte behind", batch: of(1, first, []byte{0}), kafka: invalidRecord, says: "follow the last record"},
			{name: "offset deltas 0 2", batch: of(2, first, entry(0, 2, a, nil)), kafka: gaps, ours: invalidRecord, says: "offset delta is 2"},
			{name: "offset deltas 1 0", batch: of(2, second, first), kafka: gaps, ours: invalidRecord},
			{name: "offset deltas 0 0", batch: of(2, first, first), kafka: gaps, ours: invalidRecord},
			{name: "offset delta -1", batch: of(1, entry(0, -1, a, nil)), kafka: gaps, ours: invalidRecord},
			{name: "key length -2", batch: of(1, sized([]byte{0, 0, 0}, number(-2), []byte{1, 0})), ours: invalidRecord, says: "not -1"},
			{name: "value length -2", batch: of(1, sized([]byte{0, 0, 0, 1}, number(-2), []byte{0})), ours: invalidRecord},
			{name: "key beyond the record", batch: of(1, sized([]byte{0, 0, 0}, number(100), []byte{1, 0})), kafka: invalidRecord},
			{name: "key of 2 GiB", batch: of(1, sized([]byte{0, 0, 0}, number(math.MaxInt32), []byte{1, 0})), kafka: invalidRecord},
			{name: "key into the next record", batch: of(2, sized([]byte{0, 0, 0}, number(6), []byte{1, 0}), second), kafka: invalidRecord},
			{name: "header count -1", batch: of(1, withHeaders(0, 0, a, nil, -1)), kafka: invalidRecord, says: "header count"},
			{name: "header count 1, none there", batch: of(1, withHeaders(0, 0, a, nil, 1)), kafka: invalidRecord},
			{name: "header count 2^31-1", batch: of(1, withHeaders(0, 0, a, nil, math.MaxInt32)), kafka: invalidRecord},
			{name: "header count 0, one there", batch: of(1, withHeaders(0, 0, a, nil, 0, a, a)), kafka: invalidRecord},
			{name: "header key null", batch: of(1, withHeaders(0, 0, a, nil, 1, nil, a)), kafka: invalidRecord, says: "header key is null"},
			{name: "header key length -2", batch: of(1, sized([]byte{0, 0, 0, 1, 1, 2}, number(-2), []byte{1})), kafka: invalidRecord},
			{name: "header value null", batch: of(1, withHeaders(0, 0, a, nil, 1, a, nil))},
			{name: "header value length -2", batch: of(1, sized([]byte{0, 0, 0, 1, 1, 2, 0}, number(-2))), ours: invalidRecord},
			{name: "header key not UTF-8", batch: of(1, withHeaders(0, 0, a, nil, 1, []byte{0xff, 0xfe}, nil))},
			{name: "record length 0", batch: of(1, []byte{0}), kafka: invalidRecord},
			{name: "record length -1", batch: of(1, []byte{1}), kafka: invalidRecord},
			{name: "record of 2 GiB", batch: of(1, number(math.MaxInt32), first), kafka: invalidRecord},
			{name: "record too long", batch: of(1, grown(1)), kafka: length, ours: invalidRecord},
			{name: "record too long, byte there", batch: of(1, grown(1), []byte{0}), kafka: invalidRecord},
			{name: "record too short", batch: of(1, grown(-1)), kafka: length, ours: invalidRecord},
			{name: "record attributes 255", batch: of(1, sized([]byte{255, 0, 0, 1, 1, 0}))},
			{name: "number in more bytes than needed", batch: of(1, []byte{first[0] | 0x80, 0x80, 0}, first[1:])},
			{name: "number of 36 bits", batch: of(1, []byte{first[0] | 0x80, 0x80, 0x80, 0x80, 0x70}, first[1:]), ours: invalidRecord},
			{name: "number of 6 bytes", batch: of(1, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0x01}, first), kafka: sixBytes, ours: invalidRecord},
			{name: "timestamp of 11 bytes", batch: of(1, sized([]byte{0}, bytes.Repeat([]byte{0xff}, 10), []byte{1, 0, 1, 1, 0})), kafka: invalidRecord},
			{name: "timestamp of 70 bits", batch: of(1, sized([]byte{0}, bytes.Repeat([]byte{0x80}, 9), []byte{0x7e, 0, 1, 1, 0})), ours: invalidRecord},
		}
		for i := range cases {
			cases[i].rules = anyTime(Rules{})
		}
		t.Run(codec.String(), func(t *testing.T) { check(t, cases) })
	}
}

// T18: each of them is named.
func TestRecordsWithoutKeyOnACompactedTopic(t *testing.T) {
	k := []byte("k")
	mixed := func() *handmade {
		return hand(4, first, entry(0, 1, nil, k), entry(0, 2, k, nil), entry(0, 3, nil, nil))
	}
	later := hand(2, entry(0, 0, nil, nil), entry(1<<40, 1, k, nil)).bytes()
	compacted := anyTime(Rules{Compacted: true})
	limited := Rules{Compacted: true, BeforeMaxMs: math.MaxInt64, AfterMaxMs: 3_600_000}
	check(t, []verdict{
		{name: "plain", batch: mixed().bytes(), rules: compacted, kafka: invalidRecord, bad: []int32{1, 3}, says: "no key"},
		{name: "gzip", batch: mixed().as(Gzip).bytes(), rules: compacted, kafka: invalidRecord, bad: []int32{1, 3}},
		{name: "header only is overruled", batch: mixed().as(Gzip).bytes(), rules: anyTime(Rules{Compacted: true, HeaderOnly: true}),
			kafka: invalidRecord, bad: []int32{1, 3}},
		{name: "empty key is a key", batch: hand(1, entry(0, 0, []byte{}, nil)).bytes(), rules: compacted},
		{name: "bad timestamps prevail", batch: later, rules: limited, kafka: badTimestamp, bad: []int32{0, 1}},
	})
}

func TestTimestampLimits(t *testing.T) {
	second := Rules{BeforeMaxMs: 1000, AfterMaxMs: 1000}
	defaults := Rules{BeforeMaxMs: math.MaxInt64, AfterMaxMs: 3_600_000}
	at := func(base, delta int64) *handmade {
		return hand(1, entry(delta, 0, nil, nil)).edit(func(m *handmade) { m.BaseTimestamp = base })
	}
	out := hand(4, entry(-1001, 0, nil, nil), entry(-1000, 1, nil, nil), entry(1001, 2, nil, nil), entry(1000, 3, nil, nil))
	check(t, []verdict{
		{name: "plain", batch: out.bytes(), rules: second, kafka: badTimestamp, bad: []int32{0, 2}, says: "out of range"},
		{name: "lz4", batch: out.as(LZ4).bytes(), rules: second, kafka: badTimestamp, bad: []int32{0, 2}},
		{name: "no timestamp", batch: at(-1, 0).bytes(), rules: second},
		{name: "negative", batch: at(-5, 0).bytes(), rules: defaults},
		{name: "zero", batch: at(0, 0).bytes(), rules: defaults},
		{name: "overflow", batch: at(1<<62, 1<<62).bytes(), rules: defaults, kafka: badTimestamp, bad: []int32{0}},
		{name: "an hour and a minute ahead", batch: at(handmadeNow, 3_660_000).bytes(), rules: defaults, kafka: badTimestamp, bad: []int32{0}},
		{name: "LogAppendTime asks nothing", batch: at(handmadeNow, -1<<50).bytes(), rules: Rules{LogAppendTime: true}},
		{name: "LogAppendTime from a producer", batch: hand(2, first, entry(0, 1, nil, nil)).edit(func(m *handmade) { m.Attributes = logAppendTimeBit }).bytes(),
			rules: Rules{LogAppendTime: true}, kafka: badTimestamp, bad: []int32{0, 1}},
		{name: "LogAppendTime from a producer, CreateTime topic", batch: at(handmadeNow, 0).edit(func(m *handmade) { m.Attributes = logAppendTimeBit }).bytes(),
			rules: defaults},
		{name: "LogAppendTime without time", batch: at(handmadeNow, 0).edit(func(m *handmade) { m.Attributes, m.MaxTimestamp = logAppendTimeBit, -1 }).bytes(),
			rules: defaults, kafka: badTimestamp, bad: []int32{0}},
	})
}

func TestRefusalsNameABoundedNumberOfRecords(t *testing.T) {
	b := NewBuilder(0)
	b.Codec = Zstd
	for range 50_000 {
		b.Append(handmadeNow, nil, nil)
	}
	var v Validator
	for _, r := range []Rules{anyTime(Rules{Compacted: true}), {Now: handmadeNow + 99}} {
		_, err := v.Validate(b.Bytes(), r)
		var refusal *Refusal
		if !errors.As(err, &refusal) || len(refusal.Records) != recordErrorsMax || !strings.Contains(refusal.Message, "50000 records") {
			t.Errorf("refused with %d records: %v", len(refusal.Records), err)
		}
	}
}

func TestInternalBatchesMayBeMarkers(t *testing.T) {
	var v Validator
	marker := ControlMarker(Commit, 5, 0, 1, handmadeNow)
	if _, err := v.Validate(marker, anyTime(Rules{})); err == nil {
		t.Error("a client wrote a marker")
	}
	a, err := v.Validate(marker, anyTime(Rules{Internal: true, Target: Target{Recode: true, Codec: Gzip}}))
	if err != nil || a.Recoded {
		t.Errorf("internal marker: recoded %v, %v", a.Recoded, err)
	}
}

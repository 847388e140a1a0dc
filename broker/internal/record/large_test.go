package record

import (
	"bytes"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/twmb/franz-go/pkg/kerr"
)

// counter is a gate that counts who has passed and who is still inside.
type counter struct{ entered, inside int }

func (c *counter) Enter() { c.entered++; c.inside++ }
func (c *counter) Leave() { c.inside-- }

// zeros is a batch of records of 1 MiB each.
func zeros(mebibytes int) *handmade {
	value := make([]byte, 1<<20)
	var records [][]byte
	for i := range mebibytes {
		records = append(records, entry(0, i, nil, value))
	}
	return hand(mebibytes, records...)
}

// windowed compresses the records as zstd's highest levels do, with a window of 128 MiB.
func (m *handmade) windowed(t *testing.T) *handmade {
	t.Helper()
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b, zstd.WithWindowSize(zstdWindowMax))
	if err == nil {
		_, err = w.Write(m.records)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return m.payload(Zstd, b.Bytes())
}

// TestLargeBatchesPassTheGate: what takes much memory waits for its turn, and nothing else does.
func TestLargeBatchesPassTheGate(t *testing.T) {
	const largeMin, large = 2 << 20, 3
	torn := zeros(large)
	torn.records = torn.records[:len(torn.records)-1]
	for name, c := range map[string]struct {
		batch   Batch
		rules   Rules
		entered int
		code    int16
	}{
		"kept":               {zeros(large).as(Zstd).bytes(), Rules{}, 0, 0},
		"large window, kept": {zeros(large).windowed(t).bytes(), Rules{}, 1, 0},
		"small window, kept": {zeros(1).windowed(t).bytes(), Rules{}, 0, 0},
		"small, recoded":     {zeros(1).as(Zstd).bytes(), Rules{Target: Target{Recode: true, Codec: Gzip}}, 0, 0},
		"recoded":            {zeros(large).as(Zstd).bytes(), Rules{Target: Target{Recode: true, Codec: Gzip}}, 1, 0},
		"uncompressed":       {zeros(large).as(LZ4).bytes(), Rules{Target: Target{Recode: true}}, 1, 0},
		"too large for that": {zeros(large).as(Gzip).bytes(), Rules{MaxBytes: 1 << 20, Target: Target{Recode: true}}, 0, kerr.MessageTooLarge.Code},
		"torn":               {torn.as(Snappy).bytes(), Rules{Target: Target{Recode: true, Codec: LZ4}}, 0, kerr.InvalidRecord.Code},
		"without keys":       {zeros(large).as(Zstd).bytes(), Rules{Compacted: true, Target: Target{Recode: true, Codec: LZ4}}, 0, kerr.InvalidRecord.Code},
		"a record as large":  {hand(1, entry(0, 0, nil, make([]byte, large<<20))).as(Zstd).bytes(), Rules{Target: Target{Recode: true, Codec: Snappy}}, 1, 0},
		"a record that lies": {hand(1, number(1<<30)).as(Zstd).bytes(), Rules{Target: Target{Recode: true, Codec: Snappy}}, 0, kerr.InvalidRecord.Code},
		"more than may be":   {zeros(large).as(Zstd).bytes(), Rules{InflatedMax: 3 << 20, Target: Target{Recode: true, Codec: Gzip}}, 0, kerr.MessageTooLarge.Code},
		"a record too large": {zeros(large).as(Zstd).bytes(), Rules{RecordMax: 1 << 19, Target: Target{Recode: true, Codec: Gzip}}, 0, kerr.InvalidRecord.Code},
	} {
		gate := &counter{}
		v := Validator{Gate: gate, large: largeMin}
		a, err := v.Validate(c.batch, anyTime(c.rules))
		if code := codeOf(err); code != c.code || gate.entered != c.entered || gate.inside != 0 {
			t.Errorf("%s: code %d, entered %d times and left %d times less; want code %d, entered %d times", name, code, gate.entered, gate.inside, c.code, c.entered)
			continue
		}
		if err == nil {
			sameRecords(t, name, c.batch, a.Bytes)
		}
		if cap(v.raw) > retainedMax || cap(v.inflate.whole) > retainedMax {
			t.Errorf("%s: memory is kept", name)
		}
	}
}

func codeOf(err error) int16 {
	if r, ok := err.(*Refusal); ok {
		return r.Code
	}
	return 0
}

// sameRecords checks that a batch has the records of another.
func sameRecords(t *testing.T, name string, want, got Batch) {
	t.Helper()
	var values [2][][]byte
	for i, b := range []Batch{want, got} {
		err := Walk(b, nil, func(r Record) bool {
			values[i] = append(values[i], bytes.Clone(r.Value))
			return true
		})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	if len(values[0]) != len(values[1]) {
		t.Fatalf("%s: %d records became %d", name, len(values[0]), len(values[1]))
	}
	for i := range values[0] {
		if !bytes.Equal(values[0][i], values[1][i]) {
			t.Errorf("%s: record %d differs", name, i)
		}
	}
}

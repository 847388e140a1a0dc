package recordtext

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"pgregory.net/rapid"
)

func sample() *kgo.Record {
	return &kgo.Record{
		Topic: "orders", Partition: 2, Offset: 41, Key: []byte("k1"), Value: []byte("héllo"), Timestamp: time.UnixMilli(1700000000123),
		Headers: []kgo.RecordHeader{{Key: "a", Value: []byte("1")}, {Key: "b"}},
	}
}

func TestFormatStringsPrintEveryField(t *testing.T) {
	for format, want := range map[string]string{
		`%t[%p]@%o %k=%v\n`: "orders[2]@41 k1=héllo\n",
		`%T %I`:             "1700000000123 2023-11-14T22:13:20.123Z",
		`%K %V %S %s`:       "2 6 6 héllo",
		`%h`:                "a=1,b=NULL",
		`%R`:                "\x00\x00\x00\x06",
		`100%%\t\x00\0\\`:   "100%\t\x00\x00\\",
		``:                  "",
	} {
		w, err := ParseFormat(format, []byte("NULL"))
		if err != nil {
			t.Errorf("%s: %v", format, err)
			continue
		}
		if got := string(w(nil, sample())); got != want {
			t.Errorf("%s: got %q, want %q", format, got, want)
		}
	}
}

func TestFormatStringsTellNullFromEmpty(t *testing.T) {
	w, err := ParseFormat("%k(%K)=%v(%V) %R", []byte("~"))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(w(nil, &kgo.Record{Value: []byte{}})); got != "~(-1)=(0) \x00\x00\x00\x00" {
		t.Errorf("got %q", got)
	}
}

func TestWrongFormatsAreRefused(t *testing.T) {
	for format, want := range map[string]string{
		`%`: "lone %", `%z`: `"%z" is unknown`, `\q`: `escape "\\q" is unknown`, `a\`: "lone", `\x1`: "two hexadecimal", `\xgg`: "not two hexadecimal",
	} {
		if _, err := ParseFormat(format, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", format, err, want)
		}
	}
}

func TestJSONLineIsStable(t *testing.T) {
	want := `{"topic":"orders","partition":2,"offset":41,"timestamp":1700000000123,"key":"k1","value":"héllo",` +
		`"headers":[{"key":"a","value":"1"},{"key":"b","value":null}]}` + "\n"
	if got := string(AppendJSON(nil, sample())); got != want {
		t.Errorf("got  %swant %s", got, want)
	}
}

// TestJSONLinesComeBackExactly: what consume prints, produce reads back to the
// same record.
func TestJSONLinesComeBackExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nullable := rapid.OneOf(rapid.Just([]byte(nil)), rapid.SliceOf(rapid.Byte()), rapid.Map(rapid.String(), func(s string) []byte { return []byte(s) }))
		r := &kgo.Record{
			Topic: rapid.String().Draw(t, "topic"), Partition: rapid.Int32Min(0).Draw(t, "partition"), Offset: rapid.Int64Min(0).Draw(t, "offset"),
			Key: nullable.Draw(t, "key"), Value: nullable.Draw(t, "value"),
			Timestamp: time.UnixMilli(rapid.Int64Range(-1, 1<<42).Draw(t, "timestamp")),
		}
		for range rapid.IntRange(0, 3).Draw(t, "headers") {
			r.Headers = append(r.Headers, kgo.RecordHeader{Key: string(nullable.Draw(t, "name")), Value: nullable.Draw(t, "header")})
		}
		line := AppendJSON(nil, r)
		if !json.Valid(line) || bytes.Count(line, []byte("\n")) != 1 {
			t.Fatalf("not one line of JSON: %q", line)
		}
		got, err := NewJSON(bytes.NewReader(line), 0).Read()
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		sameRecord(t, got, r)
	})
}

func sameRecord(t *rapid.T, got, want *kgo.Record) {
	if showBytes(got.Key) != showBytes(want.Key) || showBytes(got.Value) != showBytes(want.Value) ||
		got.Partition != want.Partition || !got.Timestamp.Equal(want.Timestamp) {
		t.Fatalf("got %+v, want %+v", got, want)
	}
	if len(got.Headers)+len(want.Headers) > 0 && !reflect.DeepEqual(got.Headers, want.Headers) {
		t.Fatalf("headers: got %q, want %q", got.Headers, want.Headers)
	}
}

// FuzzJSON: no input crashes the reader, and what it accepts survives a round
// trip.
func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"value":"v","headers":{"a":1},"timestamp":5,"partition":1,"key_base64":"/w=="}`))
	f.Add([]byte(`{"value":"\ud83d\ude00"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		r, err := parseJSON(line)
		if err != nil {
			return
		}
		again, err := NewJSON(bytes.NewReader(AppendJSON(nil, withPlace(r))), 0).Read()
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if showBytes(again.Key) != showBytes(r.Key) || showBytes(again.Value) != showBytes(r.Value) || len(again.Headers) != len(r.Headers) {
			t.Fatalf("%q: %+v became %+v", line, r, again)
		}
	})
}

// withPlace gives a record what the broker would have added.
func withPlace(r *kgo.Record) *kgo.Record {
	out := *r
	out.Partition = max(out.Partition, 0)
	if out.Timestamp.IsZero() {
		out.Timestamp = time.UnixMilli(1)
	}
	return &out
}

// FuzzLines: cutting input at a delimiter loses and adds nothing.
func FuzzLines(f *testing.F) {
	f.Add([]byte("a\n\nb"), []byte("\n"))
	f.Add([]byte("aababab"), []byte("ab"))
	f.Fuzz(func(t *testing.T, in, delim []byte) {
		if len(delim) == 0 {
			return
		}
		want := bytes.Split(in, delim)
		if len(want[len(want)-1]) == 0 {
			want = want[:len(want)-1]
		}
		r := NewLines(bytes.NewReader(in), LineForm{Delimiter: delim})
		for _, w := range want {
			rec, err := r.Read()
			if err != nil || !bytes.Equal(rec.Value, w) {
				t.Fatalf("got %v, %v; want %q", rec, err, w)
			}
		}
		if _, err := r.Read(); err == nil {
			t.Fatal("there is more than was put in")
		}
	})
}

// FuzzFramed: no input crashes the reader or makes it take more memory than
// the input has.
func FuzzFramed(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x01a\xff\xff\xff\xff"))
	f.Add([]byte("\x3f\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, in []byte) {
		r := NewFramed(bytes.NewReader(in), true, 0)
		var out []byte
		for {
			rec, err := r.Read()
			if err != nil {
				break
			}
			out = AppendFramed(out, rec)
		}
		if !bytes.HasPrefix(in, out) {
			t.Fatalf("%q came back as %q", in, out)
		}
	})
}

func TestTimesGivenByHand(t *testing.T) {
	for in, want := range map[string]int64{
		"1700000000123": 1700000000123, "2023-11-14T22:13:20.123Z": 1700000000123, "2023-11-14T22:13:20": 1700000000000,
		"2023-11-14 22:13:20": 1700000000000, "2023-11-14": 1699920000000,
	} {
		if got, err := ParseTime(in); err != nil || got.UnixMilli() != want {
			t.Errorf("%s: %v, %v", in, got, err)
		}
	}
	if _, err := ParseTime("yesterday"); err == nil {
		t.Error("no error")
	}
}

package recordtext

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/twmb/franz-go/pkg/kgo"
)

func readAll(t *testing.T, r Reader) []*kgo.Record {
	t.Helper()
	var all []*kgo.Record
	for {
		rec, err := r.Read()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, rec)
	}
}

// show prints keys and values so that null and empty differ.
func show(records []*kgo.Record) string {
	var out []string
	for _, r := range records {
		out = append(out, showBytes(r.Key)+"="+showBytes(r.Value))
	}
	return strings.Join(out, " ")
}

func showBytes(b []byte) string {
	if b == nil {
		return "null"
	}
	return fmt.Sprintf("%q", b)
}

func TestLinesAreKeptExactly(t *testing.T) {
	for _, c := range []struct {
		name, in string
		form     LineForm
		want     string
	}{
		{"nothing", "", LineForm{}, ""},
		{"last line without newline", "a\nb", LineForm{}, `null="a" null="b"`},
		{"empty lines are empty values", "\n\na\n", LineForm{}, `null="" null="" null="a"`},
		{"carriage returns and blanks stay", " a \r\n", LineForm{}, `null=" a \r"`},
		{"not UTF-8", "\xff\xfe\n", LineForm{}, `null="\xff\xfe"`},
		{"NUL delimiter", "a\nb\x00\x00c", LineForm{Delimiter: []byte{0}}, `null="a\nb" null="" null="c"`},
		{"long delimiter", "a-b--|c--|-|", LineForm{Delimiter: []byte("--|")}, `null="a-b" null="c" null="-|"`},
		{"key separator, first one counts", "k:v:w\n:v\nk:\n", LineForm{KeySeparator: []byte(":")}, `"k"="v:w" ""="v" "k"=""`},
		{"null text", "k:NULL\nNULL:v\nk:null\n", LineForm{KeySeparator: []byte(":"), Null: []byte("NULL")}, `"k"=null null="v" "k"="null"`},
		{"empty as null", "k:\n", LineForm{KeySeparator: []byte(":"), Null: []byte{}}, `"k"=null`},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, in := range []io.Reader{strings.NewReader(c.in), iotest.OneByteReader(strings.NewReader(c.in))} {
				if got := show(readAll(t, NewLines(in, c.form))); got != c.want {
					t.Errorf("got %s, want %s", got, c.want)
				}
			}
		})
	}
}

func TestALineLongerThanTheBufferIsOneRecord(t *testing.T) {
	long := strings.Repeat("x", 3<<20)
	got := readAll(t, NewLines(strings.NewReader(long+"\nshort\n"), LineForm{}))
	if len(got) != 2 || string(got[0].Value) != long || string(got[1].Value) != "short" {
		t.Errorf("got %d records", len(got))
	}
}

func TestRecordsOwnTheirBytes(t *testing.T) {
	got := readAll(t, NewLines(strings.NewReader("a:1\nb:2\n"), LineForm{KeySeparator: []byte(":")}))
	if show(got) != `"a"="1" "b"="2"` {
		t.Errorf("got %s", show(got))
	}
}

func failure(t *testing.T, r Reader) *LineError {
	t.Helper()
	for {
		_, err := r.Read()
		if err == nil {
			continue
		}
		line, ok := errors.AsType[*LineError](err)
		if !ok {
			t.Fatalf("not a line error: %v", err)
		}
		return line
	}
}

func TestWrongInputNamesItsLine(t *testing.T) {
	sep := LineForm{KeySeparator: []byte("\t")}
	for _, c := range []struct {
		name string
		r    Reader
		line int
		want string
	}{
		{"no separator", NewLines(strings.NewReader("a\tb\nc\n"), sep), 2, `no key separator "\t"`},
		{"too long", NewLines(strings.NewReader("ab\nabcdef\n"), LineForm{MaxBytes: 4}), 2, "longer than 4 bytes"},
		{"JSON", NewJSON(strings.NewReader("\n{\"value\":\"a\"}\n{\n"), 0), 3, "not a record in JSON"},
		{"frame length cut", NewFramed(strings.NewReader("\x00\x00\x00\x01a\x00\x00"), false, 0), 2, "length of the value is cut off"},
		{"frame cut", NewFramed(strings.NewReader("\x00\x00\x00\x02a"), false, 0), 1, "value of 2 bytes is cut off"},
		{"frame without value", NewFramed(strings.NewReader("\x00\x00\x00\x01a"), true, 0), 1, "length of the value is cut off"},
		{"negative length", NewFramed(strings.NewReader("\xff\xff\xff\xfe"), true, 0), 1, "impossible length -2"},
		{"long frame", NewFramed(strings.NewReader("\x00\x00\x00\x05abcde"), false, 4), 1, "impossible length 5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := failure(t, c.r)
			if e.Line != c.line || !strings.Contains(e.Error(), c.want) {
				t.Errorf("got %v, want line %d: %s", e, c.line, c.want)
			}
		})
	}
}

func TestLinesAboutEventsArePassedOver(t *testing.T) {
	in := `{"event":"joined","group":"g","generation":1}` + "\n" + `{"topic":"t","value":"a"}` + "\n" + `{"event":"closed"}`
	if got := show(readAll(t, NewJSON(strings.NewReader(in), 0))); got != `null="a"` {
		t.Errorf("got %s", got)
	}
	if e := failure(t, NewJSON(strings.NewReader(`{"value":"a","event":"joined"}`), 0)); !strings.Contains(e.Error(), `unknown field "event"`) {
		t.Error(e)
	}
}

func TestFramesHoldNullsAndAnyBytes(t *testing.T) {
	in := []*kgo.Record{
		{Key: nil, Value: []byte("\n\x00\xff")}, {Key: []byte{}, Value: nil}, {Key: []byte("k"), Value: []byte{}},
		{Value: []byte(strings.Repeat("y", 2<<20))},
	}
	var whole, values []byte
	for _, r := range in {
		whole, values = AppendFramed(whole, r), AppendFramedValue(values, r)
	}
	if got, want := show(readAll(t, NewFramed(strings.NewReader(string(whole)), true, 0))), show(in); got != want {
		t.Errorf("got %s", got)
	}
	for i, r := range readAll(t, NewFramed(strings.NewReader(string(values)), false, 0)) {
		if showBytes(r.Value) != showBytes(in[i].Value) || r.Key != nil {
			t.Errorf("value %d came back different", i)
		}
	}
}

func TestJSONRecordsSayEverything(t *testing.T) {
	for _, c := range []struct {
		in   string
		want kgo.Record
	}{
		{`{"value":"v"}`, kgo.Record{Value: []byte("v"), Partition: -1}},
		{`{"value":null,"key":"k"}`, kgo.Record{Key: []byte("k"), Partition: -1}},
		{`{"value":"","key":""}`, kgo.Record{Key: []byte{}, Value: []byte{}, Partition: -1}},
		{`{"value_base64":"/wA=","key_base64":""}`, kgo.Record{Key: []byte{}, Value: []byte{0xff, 0}, Partition: -1}},
		{`{"value":{"a": [1, 2]},"key":7}`, kgo.Record{Key: []byte("7"), Value: []byte(`{"a": [1, 2]}`), Partition: -1}},
		{`{"value":"\ud83d\ude00\\ud800 é"}`, kgo.Record{Value: []byte(`😀\ud800 é`), Partition: -1}},
		{`{"value":"v","partition":3,"topic":"t","offset":9,"timestamp_type":"append"}`, kgo.Record{Value: []byte("v"), Partition: 3}},
		{`{"value":"v","headers":[{"key":"a","value":"1"},{"key":"a"},{"key":"b","value_base64":"/w=="}]}`,
			kgo.Record{Value: []byte("v"), Partition: -1, Headers: []kgo.RecordHeader{{Key: "a", Value: []byte("1")}, {Key: "a"}, {Key: "b", Value: []byte{0xff}}}}},
		{" { \"value\" : \"a\\\"}\" , \"headers\" : [ ] , \"key\" : [ \"]\" , { } ] } \r", kgo.Record{Key: []byte(`[ "]" , { } ]`), Value: []byte(`a"}`), Partition: -1}},
		{`{"valu\u0065":"v","partition":null,"timestamp":null}`, kgo.Record{Value: []byte("v"), Partition: -1}},
		{`{"value":"v","headers":{"z":"1","a":null,"m":{"x":1}}}`,
			kgo.Record{Value: []byte("v"), Partition: -1, Headers: []kgo.RecordHeader{{Key: "z", Value: []byte("1")}, {Key: "a"}, {Key: "m", Value: []byte(`{"x":1}`)}}}},
	} {
		got := readAll(t, NewJSON(strings.NewReader(c.in), 0))
		if len(got) != 1 || !reflect.DeepEqual(*got[0], c.want) {
			t.Errorf("%s\n got %+v\nwant %+v", c.in, *got[0], c.want)
		}
	}
}

func TestJSONTimestampsAreMillisecondsOrRFC3339(t *testing.T) {
	for _, in := range []string{`1700000000123`, `"2023-11-14T22:13:20.123Z"`, `"2023-11-14T23:13:20.123+01:00"`} {
		got := readAll(t, NewJSON(strings.NewReader(`{"value":"","timestamp":`+in+`}`), 0))
		if got[0].Timestamp.UnixMilli() != 1700000000123 {
			t.Errorf("%s became %v", in, got[0].Timestamp)
		}
	}
}

func TestWrongJSONIsRefusedRatherThanRepaired(t *testing.T) {
	for in, want := range map[string]string{
		`{"key":"k"}`:                          `no "value"`,
		`{"vaule":"k"}`:                        `unknown field "vaule"`,
		`["v"]`:                                "not an object",
		`{"value":"a"} {"value":"b"}`:          "one record a line",
		"{\"value\":\"\xff\"}":                 "not UTF-8",
		`{"value":"\ud800"}`:                   "surrogate",
		`{"value":"\udc00"}`:                   "surrogate",
		`{"value":"\ud800\u0041"}`:             "surrogate",
		`{"value":"a","value_base64":"YQ=="}`:  "value is given twice",
		`{"value_base64":"!"}`:                 "illegal base64",
		`{"value":"","partition":-1}`:          "not a number from 0",
		`{"value":"","timestamp":"soon"}`:      "neither whole milliseconds",
		`{"value":"","value":""}`:              "given twice",
		`{"value":"","headers":[1]}`:           "header 0: it is not an object",
		`{"value":"","partition":1.0}`:         "not a number from 0",
		`{"value_base64":1}`:                   "base64 is a string",
		`{"Value":"k"}`:                        `unknown field "Value"`,
		`{"value":"","timestamp":1.5}`:         "neither whole milliseconds",
		`{"value":"","headers":7}`:             "neither an array nor an object",
		`{"value":"","headers":[{"value":1}]}`: "header 0: there is no key",
		`{"value":"","headers":[{"k":1}]}`:     `unknown field "k"`,
	} {
		if e := failure(t, NewJSON(strings.NewReader(in), 0)); !strings.Contains(e.Error(), want) {
			t.Errorf("%s: got %v, want %s", in, e, want)
		}
	}
}

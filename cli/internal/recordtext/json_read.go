package recordtext

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kgo"
)

// NewJSON reads JSON lines, one object a record:
//
//	{"key": "k", "value": "v", "headers": [{"key": "h", "value": "x"}], "partition": 0, "timestamp": 1700000000000}
//
// value is a must, null is a tombstone; everything else may be missing. Bytes
// that are no UTF-8 text come as key_base64 and value_base64. A key or value
// that is a number, boolean, array or object stands for its JSON text. The
// timestamp is milliseconds since 1970 or RFC 3339. Headers may also be an
// object. What only consuming knows (topic, offset, …) is ignored. Blank lines
// are skipped, and so are the lines about events that consuming in a group
// prints between records: they begin with "event".
func NewJSON(r io.Reader, maxBytes int) Reader {
	return &jsonReader{in: newSplitter(r, nil, maxBytes)}
}

type jsonReader struct{ in *splitter }

func (j *jsonReader) Line() int { return j.in.count }

func (j *jsonReader) Read() (*kgo.Record, error) {
	for {
		line, err := j.in.next()
		if err != nil {
			return nil, err
		}
		line = bytes.TrimSpace(line)
		if len(line) == 0 || bytes.HasPrefix(line, []byte(`{"event":`)) {
			continue
		}
		r, err := parseJSON(line)
		if err != nil {
			return nil, &LineError{j.Line(), err}
		}
		return r, nil
	}
}

// parseJSON reads one record from a line without blanks around it.
func parseJSON(line []byte) (*kgo.Record, error) {
	if !utf8.Valid(line) {
		return nil, errors.New("it is not UTF-8: give binary keys and values as key_base64 and value_base64")
	}
	if !json.Valid(line) {
		return nil, whyInvalid(line)
	}
	if line[0] != '{' {
		return nil, errors.New("it is JSON, but not an object")
	}
	r := newRecord(nil, nil)
	var pair pair
	err := members(line, func(name string, value []byte) error {
		known, err := pair.set(name, value)
		if known || err != nil {
			return err
		}
		return setField(r, name, value)
	})
	if err != nil {
		return nil, err
	}
	if !pair.hasValue {
		return nil, errors.New(`there is no "value": write "value": null for a tombstone`)
	}
	r.Key, r.Value = pair.key, pair.value
	return r, nil
}

// whyInvalid says what is wrong with a line that json.Valid has refused.
func whyInvalid(line []byte) error {
	dec := json.NewDecoder(bytes.NewReader(line))
	var whole any
	if err := dec.Decode(&whole); err != nil {
		return fmt.Errorf("not a record in JSON: %w", eof(err))
	}
	return errors.New("there is something after the JSON object: one record a line")
}

// setField sets what a record has besides its key and value.
func setField(r *kgo.Record, name string, value []byte) (err error) {
	switch name {
	case "headers":
		r.Headers, err = parseHeaders(value)
	case "partition":
		r.Partition, err = parsePartition(value)
	case "timestamp":
		r.Timestamp, err = parseJSONTime(value)
	case "topic", "offset", "timestamp_type": // consume prints them, produce decides anew
	default:
		err = fmt.Errorf("unknown field %q: there are key, value, headers, partition and timestamp", name)
	}
	return err
}

func parsePartition(value []byte) (int32, error) {
	if isNull(value) {
		return anyPartition, nil
	}
	n, err := strconv.ParseInt(string(value), 10, 32)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("the partition %s is not a number from 0", value)
	}
	return int32(n), nil
}

func parseJSONTime(value []byte) (time.Time, error) {
	if isNull(value) {
		return time.Time{}, nil
	}
	if ms, err := strconv.ParseInt(string(value), 10, 64); err == nil {
		return time.UnixMilli(ms), nil
	}
	if t, err := time.Parse(`"`+time.RFC3339Nano+`"`, string(value)); err == nil {
		return t, nil
	}
	return time.Time{}, fmt.Errorf("the timestamp %s is neither whole milliseconds nor RFC 3339", value)
}

// pair is a key and a value, of a record or of a header.
type pair struct {
	key, value       []byte // nil: null
	hasKey, hasValue bool
}

// set takes one member; it reports whether it belongs to a pair.
func (p *pair) set(name string, raw []byte) (known bool, err error) {
	switch name {
	case "key":
		p.key, err = p.take("key", &p.hasKey, raw, plainBytes)
	case "key_base64":
		p.key, err = p.take("key", &p.hasKey, raw, base64Bytes)
	case "value":
		p.value, err = p.take("value", &p.hasValue, raw, plainBytes)
	case "value_base64":
		p.value, err = p.take("value", &p.hasValue, raw, base64Bytes)
	default:
		return false, nil
	}
	return true, err
}

func (p *pair) take(name string, has *bool, raw []byte, read func([]byte) ([]byte, error)) ([]byte, error) {
	if *has {
		return nil, fmt.Errorf("the %s is given twice", name)
	}
	*has = true
	b, err := read(raw)
	if err != nil {
		return nil, fmt.Errorf("the %s: %w", name, err)
	}
	return b, nil
}

// plainBytes are the bytes that a JSON value stands for.
func plainBytes(raw []byte) ([]byte, error) {
	switch {
	case isNull(raw):
		return nil, nil
	case raw[0] == '"':
		return unquote(raw)
	}
	return append([]byte{}, raw...), nil
}

func base64Bytes(raw []byte) ([]byte, error) {
	if isNull(raw) {
		return nil, nil
	}
	if raw[0] != '"' {
		return nil, errors.New("base64 is a string")
	}
	text, err := unquote(raw)
	if err != nil {
		return nil, err
	}
	return base64.StdEncoding.AppendDecode([]byte{}, text)
}

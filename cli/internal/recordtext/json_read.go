package recordtext

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
// are skipped.
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
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		r, err := parseJSON(line)
		if err != nil {
			return nil, &LineError{j.Line(), err}
		}
		return r, nil
	}
}

type jsonRecord struct {
	jsonPair
	Headers       json.RawMessage `json:"headers"`
	Partition     *int32          `json:"partition"`
	Timestamp     json.RawMessage `json:"timestamp"`
	Topic         any             `json:"topic"`          // ignored
	Offset        any             `json:"offset"`         // ignored
	TimestampType any             `json:"timestamp_type"` // ignored
}

// jsonPair is a key and a value, of a record or of a header.
type jsonPair struct {
	Key         json.RawMessage `json:"key"`
	KeyBase64   *string         `json:"key_base64"`
	Value       json.RawMessage `json:"value"`
	ValueBase64 *string         `json:"value_base64"`
}

func parseJSON(line []byte) (*kgo.Record, error) {
	if !utf8.Valid(line) {
		return nil, errors.New("it is not UTF-8: give binary keys and values as key_base64 and value_base64")
	}
	if hasLoneSurrogate(line) {
		return nil, errors.New(`half a \u surrogate pair stands for no text: give such bytes as value_base64`)
	}
	var in jsonRecord
	if err := decodeStrict(line, &in); err != nil {
		return nil, err
	}
	key, value, err := in.bytes(true)
	if err != nil {
		return nil, err
	}
	r := newRecord(key, value)
	if err := in.setPlace(r); err != nil {
		return nil, err
	}
	r.Headers, err = parseHeaders(in.Headers)
	return r, err
}

func decodeStrict(line []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return fmt.Errorf("not a record in JSON: %w", eof(err))
	}
	if _, err := dec.Token(); err != io.EOF {
		return errors.New("there is something after the JSON object: one record a line")
	}
	return nil
}

func (in *jsonRecord) setPlace(r *kgo.Record) error {
	if in.Partition != nil {
		if *in.Partition < 0 {
			return fmt.Errorf("the partition %d is negative", *in.Partition)
		}
		r.Partition = *in.Partition
	}
	if isNull(in.Timestamp) {
		return nil
	}
	t, err := parseJSONTime(in.Timestamp)
	r.Timestamp = t
	return err
}

func parseJSONTime(raw json.RawMessage) (time.Time, error) {
	var ms int64
	if json.Unmarshal(raw, &ms) == nil {
		return time.UnixMilli(ms), nil
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("the timestamp %s is neither whole milliseconds nor RFC 3339", raw)
}

// bytes returns the pair; a missing value is an error when it must be there,
// because a typo must not turn into a tombstone.
func (p *jsonPair) bytes(needValue bool) (key, value []byte, err error) {
	if key, err = fieldBytes("key", p.Key, p.KeyBase64); err != nil {
		return nil, nil, err
	}
	if needValue && p.Value == nil && p.ValueBase64 == nil {
		return nil, nil, errors.New(`there is no "value": write "value": null for a tombstone`)
	}
	value, err = fieldBytes("value", p.Value, p.ValueBase64)
	return key, value, err
}

func fieldBytes(name string, raw json.RawMessage, encoded *string) ([]byte, error) {
	if encoded != nil {
		if !isNull(raw) {
			return nil, fmt.Errorf("there are both %s and %s_base64", name, name)
		}
		b, err := base64.StdEncoding.DecodeString(*encoded)
		if err != nil {
			return nil, fmt.Errorf("%s_base64: %w", name, err)
		}
		return owned(b), nil
	}
	if isNull(raw) {
		return nil, nil
	}
	if raw[0] != '"' {
		return raw, nil
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return []byte(text), nil
}

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

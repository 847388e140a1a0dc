package recordtext

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
)

// parseHeaders reads headers from an array of {"key", "value"} objects, or
// from an object, whose order is kept.
func parseHeaders(raw json.RawMessage) ([]kgo.RecordHeader, error) {
	switch {
	case isNull(raw):
		return nil, nil
	case raw[0] == '[':
		return headersFromArray(raw)
	case raw[0] == '{':
		return headersFromObject(raw)
	}
	return nil, errors.New("headers are neither an array nor an object")
}

func headersFromArray(raw json.RawMessage) ([]kgo.RecordHeader, error) {
	var pairs []jsonPair
	if err := decodeStrict(raw, &pairs); err != nil {
		return nil, fmt.Errorf("headers: %w", err)
	}
	headers := make([]kgo.RecordHeader, 0, len(pairs))
	for i, p := range pairs {
		key, value, err := p.bytes(false)
		if err != nil {
			return nil, fmt.Errorf("header %d: %w", i, err)
		}
		if key == nil {
			return nil, fmt.Errorf("header %d has no key", i)
		}
		headers = append(headers, kgo.RecordHeader{Key: string(key), Value: value})
	}
	return headers, nil
}

func headersFromObject(raw json.RawMessage) ([]kgo.RecordHeader, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if _, err := dec.Token(); err != nil {
		return nil, fmt.Errorf("headers: %w", err)
	}
	var headers []kgo.RecordHeader
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("headers: %w", err)
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, fmt.Errorf("header %v: %w", name, err)
		}
		b, err := fieldBytes("value", value, nil)
		if err != nil {
			return nil, fmt.Errorf("header %v: %w", name, err)
		}
		headers = append(headers, kgo.RecordHeader{Key: name.(string), Value: b})
	}
	return headers, nil
}

// hasLoneSurrogate finds \uD800–\uDFFF escapes without their other half, which
// the JSON decoder would silently replace by U+FFFD.
func hasLoneSurrogate(line []byte) bool {
	for i := 0; i < len(line); i++ {
		if line[i] != '\\' {
			continue
		}
		unit, n := escapeUnit(line[i:])
		switch {
		case isLow(unit):
			return true
		case isHigh(unit):
			low, m := escapeUnit(line[i+n:])
			if !isLow(low) {
				return true
			}
			n += m
		}
		i += n - 1
	}
	return false
}

func isHigh(unit int) bool { return unit >= 0xD800 && unit < 0xDC00 }
func isLow(unit int) bool  { return unit >= 0xDC00 && unit < 0xE000 }

// escapeUnit reads the escape at the start of b: its UTF-16 code unit when it
// is \uXXXX, else -1, and its length in bytes.
func escapeUnit(b []byte) (unit, n int) {
	if len(b) < 2 || b[0] != '\\' {
		return -1, 1
	}
	if b[1] != 'u' || len(b) < 6 {
		return -1, 2
	}
	for _, c := range b[2:6] {
		digit := bytes.IndexByte([]byte("0123456789abcdef"), c|0x20)
		if digit < 0 {
			return -1, 2
		}
		unit = unit<<4 | digit
	}
	return unit, 6
}

package recordtext

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
)

// parseHeaders reads headers from an array of {"key", "value"} objects, or
// from an object. Their order is kept, and a name may come more than once.
func parseHeaders(raw []byte) (headers []kgo.RecordHeader, err error) {
	switch {
	case isNull(raw):
		return nil, nil
	case raw[0] == '[':
		err = elements(raw, func(element []byte) error {
			h, err := parseHeader(element)
			if err != nil {
				return fmt.Errorf("header %d: %w", len(headers), err)
			}
			headers = append(headers, h)
			return nil
		})
	case raw[0] == '{':
		err = members(raw, func(name string, value []byte) error {
			b, err := plainBytes(value)
			headers = append(headers, kgo.RecordHeader{Key: name, Value: b})
			return err
		})
	default:
		err = errors.New("headers are neither an array nor an object")
	}
	return headers, err
}

func parseHeader(element []byte) (kgo.RecordHeader, error) {
	if element[0] != '{' {
		return kgo.RecordHeader{}, errors.New("it is not an object")
	}
	var pair pair
	err := members(element, func(name string, value []byte) error {
		known, err := pair.set(name, value)
		if err == nil && !known {
			err = fmt.Errorf("unknown field %q: a header has key and value", name)
		}
		return err
	})
	if err == nil && pair.key == nil {
		err = errors.New("there is no key")
	}
	return kgo.RecordHeader{Key: string(pair.key), Value: pair.value}, err
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

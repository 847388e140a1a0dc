package recordtext

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// FormatVerbs documents the verbs of a format string, one a line.
const FormatVerbs = `%t topic   %p partition   %o offset   %k key   %v value (also %s)   %h headers (k=v,k=v)
%T timestamp in milliseconds   %I timestamp as RFC 3339   %K key length   %V value length (also %S)
%R value length as 4 binary bytes (big-endian)   %% a percent sign   lengths of null are -1
escapes: \n \r \t \0 \\ \xHH`

// ParseFormat compiles a format string; null stands for keys and values that
// are null.
func ParseFormat(format string, null []byte) (Writer, error) {
	var pieces []Writer
	var literal []byte
	flush := func() {
		if len(literal) > 0 {
			pieces = append(pieces, literalWriter(literal))
			literal = nil
		}
	}
	for i := 0; i < len(format); {
		if format[i] != '%' {
			b, n, err := unescapeOne(format[i:])
			if err != nil {
				return nil, fmt.Errorf("in %q: %w", format, err)
			}
			literal, i = append(literal, b), i+n
			continue
		}
		verb, err := parseVerb(format[i:], null)
		if err != nil {
			return nil, err
		}
		flush()
		pieces, i = append(pieces, verb), i+2
	}
	flush()
	return sequence(pieces), nil
}

func literalWriter(text []byte) Writer {
	return func(dst []byte, _ *kgo.Record) []byte { return append(dst, text...) }
}

func sequence(pieces []Writer) Writer {
	return func(dst []byte, r *kgo.Record) []byte {
		for _, p := range pieces {
			dst = p(dst, r)
		}
		return dst
	}
}

func parseVerb(text string, null []byte) (Writer, error) {
	if len(text) < 2 {
		return nil, fmt.Errorf("a lone %% at the end of the format: write %%%% for a percent sign")
	}
	if w := bytesVerb(text[1], null); w != nil {
		return w, nil
	}
	if w := numberVerb(text[1]); w != nil {
		return func(dst []byte, r *kgo.Record) []byte { return strconv.AppendInt(dst, w(r), 10) }, nil
	}
	return nil, fmt.Errorf("the format verb %q is unknown", text[:2])
}

func bytesVerb(verb byte, null []byte) Writer {
	switch verb {
	case '%':
		return literalWriter([]byte("%"))
	case 't':
		return func(dst []byte, r *kgo.Record) []byte { return append(dst, r.Topic...) }
	case 'k':
		return func(dst []byte, r *kgo.Record) []byte { return appendNullable(dst, r.Key, null) }
	case 'v', 's':
		return func(dst []byte, r *kgo.Record) []byte { return appendNullable(dst, r.Value, null) }
	case 'h':
		return func(dst []byte, r *kgo.Record) []byte { return appendPairs(dst, r.Headers, null) }
	case 'I':
		return func(dst []byte, r *kgo.Record) []byte {
			return r.Timestamp.UTC().AppendFormat(dst, "2006-01-02T15:04:05.000Z07:00")
		}
	case 'R':
		return func(dst []byte, r *kgo.Record) []byte {
			return binary.BigEndian.AppendUint32(dst, uint32(size(r.Value)))
		}
	}
	return nil
}

func numberVerb(verb byte) func(*kgo.Record) int64 {
	switch verb {
	case 'p':
		return func(r *kgo.Record) int64 { return int64(r.Partition) }
	case 'o':
		return func(r *kgo.Record) int64 { return r.Offset }
	case 'T':
		return func(r *kgo.Record) int64 { return r.Timestamp.UnixMilli() }
	case 'K':
		return func(r *kgo.Record) int64 { return int64(size(r.Key)) }
	case 'V', 'S':
		return func(r *kgo.Record) int64 { return int64(size(r.Value)) }
	}
	return nil
}

func appendNullable(dst, field, null []byte) []byte {
	if field == nil {
		return append(dst, null...)
	}
	return append(dst, field...)
}

func appendPairs(dst []byte, headers []kgo.RecordHeader, null []byte) []byte {
	for i, h := range headers {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(dst, h.Key...), '=')
		dst = appendNullable(dst, h.Value, null)
	}
	return dst
}

// ParseTime reads a timestamp given by hand: milliseconds since 1970, or RFC
// 3339 with or without the time of day (UTC then).
func ParseTime(text string) (time.Time, error) {
	if ms, err := strconv.ParseInt(text, 10, 64); err == nil {
		return time.UnixMilli(ms), nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", time.DateTime, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is neither milliseconds since 1970 nor a time such as 2026-11-30T12:00:00Z", text)
}

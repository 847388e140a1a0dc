package recordtext

import (
	"encoding/base64"
	"strconv"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kgo"
)

// AppendJSON writes a record as one JSON line, which NewJSON reads back to the
// same key, value, headers, partition and timestamp.
func AppendJSON(dst []byte, r *kgo.Record) []byte {
	dst = append(dst, `{"topic":`...)
	dst = appendString(dst, r.Topic)
	dst = append(dst, `,"partition":`...)
	dst = strconv.AppendInt(dst, int64(r.Partition), 10)
	dst = append(dst, `,"offset":`...)
	dst = strconv.AppendInt(dst, r.Offset, 10)
	dst = append(dst, `,"timestamp":`...)
	dst = strconv.AppendInt(dst, r.Timestamp.UnixMilli(), 10)
	if r.Attrs.TimestampType() == 1 {
		dst = append(dst, `,"timestamp_type":"append"`...)
	}
	dst = append(dst, ',')
	dst = appendBytes(dst, "key", r.Key)
	dst = append(dst, ',')
	dst = appendBytes(dst, "value", r.Value)
	return append(appendHeaders(dst, r.Headers), "}\n"...)
}

func appendHeaders(dst []byte, headers []kgo.RecordHeader) []byte {
	if len(headers) == 0 {
		return dst
	}
	dst = append(dst, `,"headers":[`...)
	for i, h := range headers {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, '{')
		dst = appendBytes(dst, "key", []byte(h.Key))
		dst = append(dst, ',')
		dst = appendBytes(dst, "value", h.Value)
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

// appendBytes writes "name":null, "name":"text" or "name_base64":"…".
func appendBytes(dst []byte, name string, b []byte) []byte {
	dst = append(append(dst, '"'), name...)
	switch {
	case b == nil:
		return append(dst, `":null`...)
	case utf8.Valid(b):
		return appendString(append(dst, `":`...), b)
	}
	dst = append(dst, `_base64":"`...)
	dst = base64.StdEncoding.AppendEncode(dst, b)
	return append(dst, '"')
}

// appendString writes valid UTF-8 as a JSON string, escaping only what JSON
// demands.
func appendString[T string | []byte](dst []byte, text T) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	from := 0
	for i := range len(text) {
		c := text[i]
		if c >= 0x20 && c != '"' && c != '\\' && c != 0x7f {
			continue
		}
		dst = append(dst, text[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(append(dst, text[from:]...), '"')
}

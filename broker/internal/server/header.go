package server

import (
	"encoding/binary"
	"errors"
)

// A frame opens with its size, which does not count itself, and its request header: key, version, correlation id, client
// id, and from header version 2 on tagged fields. The client id is a classic string in every version (T5).
const (
	sizeField    = 4
	frameStart   = sizeField + 4 // up to the version: what decides how the frame is received
	headerMin    = 8             // the header up to its correlation id
	varintMaxLen = 5
	headMax      = sizeField + 5 // of a response
)

// Kinds of requests that framing itself has rules for.
const (
	keyProduce      = 0
	keyOffsetCommit = 8
	keyApiVersions  = 18
)

var (
	errHeaderShort  = errors.New("the request header is cut off")
	errHeaderVarint = errors.New("the request header holds a malformed varint")
)

// start is what the first eight bytes of a frame say. tooNew is the handler's word on them.
type start struct {
	size         int64
	key, version int16
	tooNew       bool
	spread       int64 // Limits.Spread
}

func parseSize(b []byte) int64 { return int64(int32(binary.BigEndian.Uint32(b))) }

func parseStart(b []byte) start {
	return start{
		size:    parseSize(b),
		key:     int16(binary.BigEndian.Uint16(b[4:])),
		version: int16(binary.BigEndian.Uint16(b[6:])),
	}
}

// header is a request header after its key and version. clientID is nil when null.
type header struct {
	correlation int32
	clientID    []byte
}

// parseHeader reads the header of frame, which is a frame without its size field and has headerMin bytes at least, and
// returns what follows it. Tagged fields are skipped: none of them means anything to a broker.
func parseHeader(frame []byte, flexible bool) (h header, body []byte, err error) {
	h.correlation = int32(binary.BigEndian.Uint32(frame[4:]))
	h.clientID, body, err = cutNullableString(frame[headerMin:])
	if err == nil && flexible {
		body, err = skipTags(body)
	}
	return h, body, err
}

// cutNullableString cuts a classic string. Every negative length is null, as Kafka reads it.
func cutNullableString(b []byte) (s, rest []byte, err error) {
	if len(b) < 2 {
		return nil, nil, errHeaderShort
	}
	n := int(int16(binary.BigEndian.Uint16(b)))
	b = b[2:]
	if n < 0 {
		return nil, b, nil
	}
	if n > len(b) {
		return nil, nil, errHeaderShort
	}
	return b[:n:n], b[n:], nil
}

func skipTags(b []byte) ([]byte, error) {
	count, b, err := cutUvarint(b)
	for ; count > 0 && err == nil; count-- {
		b, err = skipTag(b)
	}
	return b, err
}

func skipTag(b []byte) ([]byte, error) {
	_, b, err := cutUvarint(b) // the tag
	if err != nil {
		return nil, err
	}
	size, b, err := cutUvarint(b)
	if err != nil {
		return nil, err
	}
	if uint64(size) > uint64(len(b)) {
		return nil, errHeaderShort
	}
	return b[size:], nil
}

func cutUvarint(b []byte) (uint32, []byte, error) {
	v, n := binary.Uvarint(b[:min(len(b), varintMaxLen)])
	switch {
	case n == 0 && len(b) < varintMaxLen:
		return 0, nil, errHeaderShort
	case n <= 0 || v > 1<<32-1:
		return 0, nil, errHeaderVarint
	}
	return uint32(v), b[n:], nil
}

// appendResponseHeader appends a response's size field and header. size is what follows the header.
func appendResponseHeader(b []byte, correlation int32, flexible bool, size int64) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(size)+uint32(responseHeaderSize(flexible)))
	b = binary.BigEndian.AppendUint32(b, uint32(correlation))
	if flexible {
		b = append(b, 0) // no tagged fields
	}
	return b
}

// responseHeaderSize is the size of a response header, without the frame's size field.
func responseHeaderSize(flexible bool) int64 {
	if flexible {
		return 5
	}
	return 4
}

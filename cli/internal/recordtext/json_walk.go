package recordtext

import (
	"encoding/json"
	"errors"
)

// The functions below walk JSON that json.Valid has accepted, so that they
// need to find places only, not faults. A record then costs a few scans and
// the copies it keeps, where decoding into structs costs dozens of
// allocations.

// members calls fn for each member of an object, in order.
func members(object []byte, fn func(name string, value []byte) error) error {
	b := skipSpace(object[1:])
	for b[0] != '}' {
		n := valueLen(b)
		name, err := unquote(b[:n])
		if err != nil {
			return err
		}
		b = skipSpace(b[n:])
		b = skipSpace(b[1:]) // the colon
		n = valueLen(b)
		if err := fn(string(name), b[:n]); err != nil {
			return err
		}
		b = skipComma(b[n:])
	}
	return nil
}

// elements calls fn for each element of an array, in order.
func elements(array []byte, fn func(value []byte) error) error {
	b := skipSpace(array[1:])
	for b[0] != ']' {
		n := valueLen(b)
		if err := fn(b[:n]); err != nil {
			return err
		}
		b = skipComma(b[n:])
	}
	return nil
}

func skipSpace(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t' || b[0] == '\n' || b[0] == '\r') {
		b = b[1:]
	}
	return b
}

func skipComma(b []byte) []byte {
	b = skipSpace(b)
	if b[0] == ',' {
		b = skipSpace(b[1:])
	}
	return b
}

// valueLen is the length of the value at the start of b.
func valueLen(b []byte) int {
	switch b[0] {
	case '"':
		return stringLen(b)
	case '{', '[':
		return nestedLen(b)
	}
	for i, c := range b {
		switch c {
		case ',', '}', ']', ' ', '\t', '\n', '\r':
			return i
		}
	}
	return len(b)
}

func stringLen(b []byte) int {
	for i := 1; ; i++ {
		switch b[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
}

func nestedLen(b []byte) int {
	depth := 0
	for i := 0; ; i++ {
		switch b[i] {
		case '"':
			i += stringLen(b[i:]) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
}

// unquote returns the text of a JSON string, in bytes of its own.
func unquote(raw []byte) ([]byte, error) {
	inner := raw[1 : len(raw)-1]
	escaped := false
	for _, c := range inner {
		escaped = escaped || c == '\\'
	}
	if !escaped {
		return append([]byte{}, inner...), nil
	}
	if hasLoneSurrogate(inner) {
		return nil, errors.New(`half a \u surrogate pair stands for no text: give such bytes as base64`)
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return nil, err
	}
	return []byte(text), nil
}

func isNull(raw []byte) bool { return len(raw) == 0 || string(raw) == "null" }

package recordtext

import (
	"fmt"
	"strconv"
)

// Unescape reads the escapes of the command line: \n \r \t \0 \\ and \xHH for
// any byte. Other text stands for itself.
func Unescape(text string) ([]byte, error) {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		b, n, err := unescapeOne(text[i:])
		if err != nil {
			return nil, fmt.Errorf("in %q: %w", text, err)
		}
		out = append(out, b)
		i += n
	}
	return out, nil
}

// unescapeOne reads the first byte of text, which is not empty, and says how
// many bytes of text stand for it.
func unescapeOne(text string) (b byte, n int, err error) {
	if text[0] != '\\' {
		return text[0], 1, nil
	}
	if len(text) == 1 {
		return 0, 0, fmt.Errorf(`a lone \ at the end: write \\ for a backslash`)
	}
	switch text[1] {
	case 'n':
		return '\n', 2, nil
	case 'r':
		return '\r', 2, nil
	case 't':
		return '\t', 2, nil
	case '0':
		return 0, 2, nil
	case '\\':
		return '\\', 2, nil
	case 'x':
		return unescapeHex(text)
	}
	return 0, 0, fmt.Errorf(`the escape %q is unknown: use \n \r \t \0 \\ or \xHH`, text[:2])
}

func unescapeHex(text string) (byte, int, error) {
	if len(text) < 4 {
		return 0, 0, fmt.Errorf(`\x wants two hexadecimal digits`)
	}
	v, err := strconv.ParseUint(text[2:4], 16, 8)
	if err != nil {
		return 0, 0, fmt.Errorf(`%q are not two hexadecimal digits`, text[2:4])
	}
	return byte(v), 4, nil
}

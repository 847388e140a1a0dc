package record

import "fmt"

// Codec is a compression codec by its number in the batch's attributes.
type Codec int8

// The codecs there are.
const (
	None   Codec = 0
	Gzip   Codec = 1
	Snappy Codec = 2
	LZ4    Codec = 3
	Zstd   Codec = 4
)

var codecNames = [...]string{None: "none", Gzip: "gzip", Snappy: "snappy", LZ4: "lz4", Zstd: "zstd"}

// Known reports whether the number is that of a codec.
func (c Codec) Known() bool { return c >= None && c <= Zstd }

// String is the codec's name in client settings; "none" without one.
func (c Codec) String() string {
	if !c.Known() {
		return fmt.Sprintf("codec(%d)", int8(c))
	}
	return codecNames[c]
}

// ParseCodec reads a codec's name as compression.type has it: none,
// uncompressed, gzip, snappy, lz4 or zstd. "producer" is not a codec.
func ParseCodec(name string) (Codec, bool) {
	if name == "uncompressed" {
		return None, true
	}
	for c, n := range codecNames {
		if n == name {
			return Codec(c), true
		}
	}
	return None, false
}

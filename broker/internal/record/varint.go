package record

// Lengths and deltas inside a record are zig-zag variable-length integers of at
// most 32 or 64 bits. The decoders return the index after the number, or -1 when
// the bytes end first or the number does not fit: longer encodings of a number
// that fits are accepted, as Kafka does, bits beyond its width are not.

// varint reads a 32-bit number at b[i:].
func varint(b []byte, i int) (int32, int) {
	if uint(i) < uint(len(b)) && b[i] < 0x80 {
		return int32(b[i]>>1) ^ -int32(b[i]&1), i + 1
	}
	return varintLong(b, i)
}

func varintLong(b []byte, i int) (int32, int) {
	var u uint32
	for shift := 0; shift < 35; shift += 7 {
		if i >= len(b) {
			return 0, -1
		}
		c := b[i]
		i++
		if shift == 28 && c > 0x0f {
			return 0, -1
		}
		u |= uint32(c&0x7f) << shift
		if c < 0x80 {
			return int32(u>>1) ^ -int32(u&1), i
		}
	}
	return 0, -1
}

// varlong reads a 64-bit number at b[i:].
func varlong(b []byte, i int) (int64, int) {
	if uint(i) < uint(len(b)) && b[i] < 0x80 {
		return int64(b[i]>>1) ^ -int64(b[i]&1), i + 1
	}
	return varlongLong(b, i)
}

func varlongLong(b []byte, i int) (int64, int) {
	var u uint64
	for shift := 0; shift < 70; shift += 7 {
		if i >= len(b) {
			return 0, -1
		}
		c := b[i]
		i++
		if shift == 63 && c > 0x01 {
			return 0, -1
		}
		u |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return int64(u>>1) ^ -int64(u&1), i
		}
	}
	return 0, -1
}

// varintMax and varlongMax are the largest encodings.
const (
	varintMax  = 5
	varlongMax = 10
)

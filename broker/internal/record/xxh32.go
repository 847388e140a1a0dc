package record

import (
	"encoding/binary"
	"math/bits"
)

// xxh32 is the 32-bit xxHash with seed 0, which lz4 frames use for their header
// and their checksums. The zero value is not ready: call reset.
type xxh32 struct {
	v    [4]uint32
	size uint32
	tail [16]byte
	held int // bytes in tail
}

const (
	xxPrime1 uint32 = 2654435761
	xxPrime2 uint32 = 2246822519
	xxPrime3 uint32 = 3266489917
	xxPrime4 uint32 = 668265263
	xxPrime5 uint32 = 374761393
)

func (x *xxh32) reset() {
	prime1 := xxPrime1
	*x = xxh32{v: [4]uint32{prime1 + xxPrime2, xxPrime2, 0, -prime1}}
}

func (x *xxh32) write(b []byte) {
	x.size += uint32(len(b))
	if x.held > 0 {
		n := copy(x.tail[x.held:], b)
		x.held += n
		b = b[n:]
		if x.held < len(x.tail) {
			return
		}
		x.stripes(x.tail[:])
		x.held = 0
	}
	b = x.stripes(b)
	x.held = copy(x.tail[:], b)
}

// stripes takes in whole stripes of 16 bytes and returns the rest.
func (x *xxh32) stripes(b []byte) []byte {
	v := x.v
	for len(b) >= 16 {
		v[0] = xxRound(v[0], binary.LittleEndian.Uint32(b))
		v[1] = xxRound(v[1], binary.LittleEndian.Uint32(b[4:]))
		v[2] = xxRound(v[2], binary.LittleEndian.Uint32(b[8:]))
		v[3] = xxRound(v[3], binary.LittleEndian.Uint32(b[12:]))
		b = b[16:]
	}
	x.v = v
	return b
}

func xxRound(v, lane uint32) uint32 {
	return bits.RotateLeft32(v+lane*xxPrime2, 13) * xxPrime1
}

func (x *xxh32) sum() uint32 {
	h := xxPrime5
	if x.size >= 16 {
		h = bits.RotateLeft32(x.v[0], 1) + bits.RotateLeft32(x.v[1], 7) +
			bits.RotateLeft32(x.v[2], 12) + bits.RotateLeft32(x.v[3], 18)
	}
	h += x.size
	b := x.tail[:x.held]
	for ; len(b) >= 4; b = b[4:] {
		h = bits.RotateLeft32(h+binary.LittleEndian.Uint32(b)*xxPrime3, 17) * xxPrime4
	}
	for _, c := range b {
		h = bits.RotateLeft32(h+uint32(c)*xxPrime5, 11) * xxPrime1
	}
	h = (h ^ h>>15) * xxPrime2
	h = (h ^ h>>13) * xxPrime3
	return h ^ h>>16
}

// xxh32Of is the hash of b.
func xxh32Of(b []byte) uint32 {
	var x xxh32
	x.reset()
	x.write(b)
	return x.sum()
}

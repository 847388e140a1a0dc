package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"

	"github.com/golang/snappy"
	"github.com/klauspost/compress/s2"
)

// Snappy comes in two forms: one raw block, as the C library makes it, and the
// framing of the xerial Java library, a header and blocks behind their sizes.
// Every client writes one of the two and reads both.
var xerialMagic = [8]byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0}

const (
	xerialHeader    = 16 // the magic, a version and the lowest version that can read it
	xerialBlockSize = 32 << 10
)

var errSnappy = errors.New("snappy data is damaged")

// snappyReader inflates snappy data in either form, a block at a time.
type snappyReader struct {
	src    []byte
	framed bool
	limit  int64    // of an inflated block
	block  []byte   // memory for an inflated block
	out    leftover // the part of block not yet read
}

func (z *snappyReader) reset(src []byte, limit int64) error {
	z.out, z.limit = nil, limit
	z.src = src
	z.framed = bytes.HasPrefix(src, xerialMagic[:])
	if !z.framed {
		return z.inflate(src)
	}
	return z.header()
}

func (z *snappyReader) header() error {
	if len(z.src) < xerialHeader {
		return errSnappy
	}
	z.src = z.src[xerialHeader:]
	return nil
}

func (z *snappyReader) Read(p []byte) (int, error) { return z.out.read(p, z.next) }

// next inflates the next block of framed data. Frames may follow one another.
func (z *snappyReader) next() error {
	if !z.framed || len(z.src) == 0 {
		return io.EOF
	}
	if bytes.HasPrefix(z.src, xerialMagic[:]) {
		return z.header()
	}
	if len(z.src) < 4 {
		return errSnappy
	}
	n := binary.BigEndian.Uint32(z.src)
	if int64(n) > int64(len(z.src)-4) {
		return errSnappy
	}
	block := z.src[4 : 4+n]
	z.src = z.src[4+n:]
	return z.inflate(block)
}

// snappyGrowthMax is more than what a snappy block can grow by: three bytes that
// repeat 64 earlier ones.
const snappyGrowthMax = 22

// inflate inflates one block into z.block. What the block says of its size is
// believed only where its bytes could say so much. The decoder is the format's
// own: the one of our other library is slower, and reads an extension (copies
// with offset 0) that no client can.
func (z *snappyReader) inflate(block []byte) error {
	n, err := snappy.DecodedLen(block)
	if err != nil || int64(n) > snappyGrowthMax*int64(len(block)) {
		return errSnappy
	}
	if int64(n) > z.limit {
		return errInflatedSize
	}
	if cap(z.block) < n {
		z.block = make([]byte, n)
	}
	if z.out, err = snappy.Decode(z.block[:n], block); err != nil {
		return errSnappy
	}
	return nil
}

// appendXerial appends raw in the xerial framing, which is what Java clients
// write.
func appendXerial(dst, raw []byte) []byte {
	dst = append(dst, xerialMagic[:]...)
	dst = binary.BigEndian.AppendUint32(dst, 1)
	dst = binary.BigEndian.AppendUint32(dst, 1)
	for len(raw) > 0 {
		block := raw[:min(len(raw), xerialBlockSize)]
		raw = raw[len(block):]
		at := len(dst)
		dst = append(dst, make([]byte, 4+s2.MaxEncodedLen(len(block)))...)
		coded := s2.EncodeSnappy(dst[at+4:], block)
		binary.BigEndian.PutUint32(dst[at:], uint32(len(coded)))
		dst = dst[:at+4+len(coded)]
	}
	return dst
}

package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"

	"github.com/klauspost/compress/snappy"
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
	block  []byte // memory for an inflated block
	out    []byte // the part of block not yet read
}

func (z *snappyReader) reset(src []byte) error {
	z.out = nil
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

func (z *snappyReader) Read(p []byte) (int, error) {
	for len(z.out) == 0 {
		if !z.framed || len(z.src) == 0 {
			return 0, io.EOF
		}
		if err := z.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, z.out)
	z.out = z.out[n:]
	return n, nil
}

// next inflates the next block of framed data. Frames may follow one another.
func (z *snappyReader) next() error {
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

// inflate inflates one block into z.block, whose size it measures first rather
// than believe what the block says.
func (z *snappyReader) inflate(block []byte) error {
	n, ok := snappySize(block)
	if !ok {
		return errSnappy
	}
	if cap(z.block) < n {
		z.block = make([]byte, n)
	}
	out, err := snappy.Decode(z.block[:n], block)
	if err != nil {
		return errSnappy
	}
	z.out = out
	return nil
}

// snappySize walks a block's elements and returns what they inflate to. It is
// false when that is not what the block claims, or when an element is not
// snappy: our library also reads its own extension of the format (copies with
// offset 0), which no other client can.
func snappySize(block []byte) (int, bool) {
	claimed, i := binary.Uvarint(block)
	if i <= 0 || claimed > 1<<32-1 {
		return 0, false
	}
	size := 0
	for i < len(block) {
		tag := block[i]
		n, width := int(tag>>2)+1, 1
		switch tag & 3 {
		case 0:
			if n > 60 {
				n, width = snappyLiteral(block[i:], n-60)
			}
			width += n
		case 1:
			n, width = int(tag>>2&7)+4, 2
			if i+1 < len(block) && tag>>5 == 0 && block[i+1] == 0 {
				return 0, false
			}
		case 2:
			width = 3
			if i+2 < len(block) && block[i+1]|block[i+2] == 0 {
				return 0, false
			}
		case 3:
			width = 5
			if i+4 < len(block) && block[i+1]|block[i+2]|block[i+3]|block[i+4] == 0 {
				return 0, false
			}
		}
		i += width
		size += n
	}
	return size, i == len(block) && uint64(size) == claimed
}

// snappyLiteral reads the length of a literal that is held in the bytes after
// its tag, 1 to 4 of them. It returns no more than one above what b can hold.
func snappyLiteral(b []byte, bytes int) (n, width int) {
	var long uint64
	for k := bytes; k > 0; k-- {
		long <<= 8
		if k < len(b) {
			long |= uint64(b[k])
		}
	}
	return int(min(long, uint64(len(b)))) + 1, 1 + bytes
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
		dst = append(dst, make([]byte, 4+snappy.MaxEncodedLen(len(block)))...)
		coded := snappy.Encode(dst[at+4:], block)
		binary.BigEndian.PutUint32(dst[at:], uint32(len(coded)))
		dst = dst[:at+4+len(coded)]
	}
	return dst
}

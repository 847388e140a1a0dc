package record

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/pierrec/lz4/v4"
)

// An lz4 frame is a magic number, a descriptor, blocks each behind its size, and
// an end mark. We read frames ourselves, since we must know what the Java clients
// can read: they know neither legacy frames nor frames whose blocks refer to the
// blocks before them, and a batch that is stored in such a form stops every Java
// reader of the partition for good (T38).
const (
	lz4Magic       = 0x184D2204
	lz4LegacyMagic = 0x184C2102

	lz4VersionMask  = 0xC0
	lz4Version      = 0x40
	lz4Independent  = 0x20
	lz4BlockSums    = 0x10
	lz4ContentSize  = 0x08
	lz4ContentSum   = 0x04
	lz4ReservedMask = 0x03 // one reserved bit, and the dictionary id that Java cannot read

	lz4Uncompressed = 1 << 31 // in a block's size
)

var (
	errLZ4Frame  = errors.New("no lz4 frame")
	errLZ4Legacy = errors.New("lz4 legacy frame, which Java clients cannot read: send the frame format of lz4 1.5 and later")
	errLZ4Linked = errors.New("lz4 frame with linked blocks, which Java clients cannot read: send independent blocks")
	errLZ4Header = errors.New("lz4 frame header is wrong or has what Java clients cannot read")
	errLZ4Block  = errors.New("lz4 block is damaged")
	errLZ4Sum    = errors.New("lz4 checksum or content size is wrong")
	errAfterEnd  = errors.New("bytes follow the end of the compressed data")
)

// lz4Reader inflates one lz4 frame, a block at a time.
type lz4Reader struct {
	src       []byte   // what has not been inflated yet
	block     []byte   // memory for an inflated block
	out       leftover // the part of block not yet read
	max       int      // the largest block that the frame may have
	flags     byte
	content   uint64 // the claimed size of everything
	inflated  uint64
	sum       xxh32
	endOfData bool
}

// reset begins the frame in src.
func (z *lz4Reader) reset(src []byte) error {
	*z = lz4Reader{block: z.block}
	z.sum.reset()
	switch {
	case len(src) < 7:
		return errLZ4Frame
	case binary.LittleEndian.Uint32(src) == lz4LegacyMagic:
		return errLZ4Legacy
	case binary.LittleEndian.Uint32(src) != lz4Magic:
		return errLZ4Frame
	}
	z.flags = src[4]
	end := 6
	if z.flags&lz4ContentSize != 0 {
		end += 8
	}
	if len(src) <= end || src[end] != byte(xxh32Of(src[4:end])>>8) {
		return errLZ4Header
	}
	if z.flags&lz4ContentSize != 0 {
		z.content = binary.LittleEndian.Uint64(src[6:])
	}
	z.src = src[end+1:]
	return z.describe(src[5])
}

// describe checks the descriptor: the flags and the block size byte.
func (z *lz4Reader) describe(sizes byte) error {
	if z.flags&lz4VersionMask != lz4Version || z.flags&lz4ReservedMask != 0 {
		return errLZ4Header
	}
	if z.flags&lz4Independent == 0 {
		return errLZ4Linked
	}
	if sizes < 0x40 || sizes > 0x70 || sizes&0x0f != 0 {
		return errLZ4Header
	}
	z.max = 1 << (8 + 2*(sizes>>4)) // 64 KiB, 256 KiB, 1 MiB, 4 MiB
	return nil
}

func (z *lz4Reader) Read(p []byte) (int, error) { return z.out.read(p, z.next) }

// next inflates the next block, or reads the end mark.
func (z *lz4Reader) next() error {
	if z.endOfData {
		return io.EOF
	}
	size, err := z.uint32()
	if err != nil {
		return err
	}
	n := int(size &^ lz4Uncompressed)
	if n == 0 {
		z.endOfData = true
		return z.end()
	}
	if n > z.max || n > len(z.src) {
		return errLZ4Block
	}
	raw := z.src[:n]
	z.src = z.src[n:]
	if z.flags&lz4BlockSums != 0 {
		if sum, err := z.uint32(); err != nil || sum != xxh32Of(raw) {
			return errLZ4Sum
		}
	}
	if size&lz4Uncompressed != 0 {
		z.out = raw
	} else if err := z.inflate(raw); err != nil {
		return err
	}
	z.inflated += uint64(len(z.out))
	if z.flags&lz4ContentSum != 0 {
		z.sum.write(z.out)
	}
	return nil
}

// inflate inflates one block into z.block. A byte of lz4 yields at most 255, so
// the memory is bounded by what was really sent, too.
func (z *lz4Reader) inflate(raw []byte) error {
	room := min(z.max, 255*len(raw))
	if cap(z.block) < room {
		z.block = make([]byte, room)
	}
	n, err := lz4.UncompressBlock(raw, z.block[:room])
	if err != nil {
		return errLZ4Block
	}
	z.out = z.block[:n]
	return nil
}

// end checks what follows the end mark: a checksum, if any, and no more.
func (z *lz4Reader) end() error {
	if z.flags&lz4ContentSum != 0 {
		if sum, err := z.uint32(); err != nil || sum != z.sum.sum() {
			return errLZ4Sum
		}
	}
	if z.flags&lz4ContentSize != 0 && z.content != z.inflated {
		return errLZ4Sum
	}
	if len(z.src) > 0 {
		return errAfterEnd
	}
	return nil
}

func (z *lz4Reader) uint32() (uint32, error) {
	if len(z.src) < 4 {
		return 0, io.ErrUnexpectedEOF
	}
	v := binary.LittleEndian.Uint32(z.src)
	z.src = z.src[4:]
	return v, nil
}

// lz4Block is either of the library's compressors.
type lz4Block interface {
	CompressBlock(src, dst []byte) (int, error)
}

// appendLZ4 appends raw as one frame in the form that Kafka's clients write:
// independent blocks of up to 64 KiB, no checksums, no content size.
func appendLZ4(dst, raw []byte, compressor lz4Block) []byte {
	const blockMax = 64 << 10
	dst = binary.LittleEndian.AppendUint32(dst, lz4Magic)
	dst = append(dst, lz4Version|lz4Independent, 0x40)
	dst = append(dst, byte(xxh32Of(dst[len(dst)-2:])>>8))
	for len(raw) > 0 {
		block := raw[:min(len(raw), blockMax)]
		raw = raw[len(block):]
		at := len(dst)
		dst = append(dst, 0, 0, 0, 0)
		dst = appendLZ4Block(dst, block, compressor)
		size := uint32(len(dst) - at - 4)
		if int(size) == len(block) {
			size |= lz4Uncompressed
		}
		binary.LittleEndian.PutUint32(dst[at:], size)
	}
	return append(dst, 0, 0, 0, 0)
}

// appendLZ4Block appends block compressed, or as it is where that is no smaller.
func appendLZ4Block(dst, block []byte, compressor lz4Block) []byte {
	at := len(dst)
	dst = append(dst, block...)
	room := dst[at : at+len(block)-1]
	n, err := compressor.CompressBlock(block, room)
	if err != nil || n == 0 || n >= len(block) {
		copy(dst[at:], block)
		return dst
	}
	return dst[:at+n]
}

package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

const (
	// retainedMax is how much memory of one kind a Decompressors keeps between
	// batches; what a large batch needed beyond it is let go.
	retainedMax = 1 << 20
	// zstdWindowMax is the largest window that the Java clients read, and what
	// their highest levels declare.
	zstdWindowMax = 128 << 20
	// zstdStreamWindowMax is the largest window that is inflated as a stream, for
	// which the decoder allocates the whole window up front.
	zstdStreamWindowMax = 8 << 20
	// zstdBlockMax is the most that a zstd block inflates to, and what the decoder
	// wants of room behind it.
	zstdBlockMax = 128<<10 + 32
	// inflatedMaxDefault is what a batch may inflate to where nothing else is said.
	inflatedMaxDefault = 128 << 20
)

// Decompressors holds one decoder of each codec for re-use, made when first
// needed. It may be used by one goroutine at a time; the zero value is ready.
// It keeps up to about 2 MiB for each codec that it has met.
type Decompressors struct {
	stream stream
	src    bytes.Reader
	gzip   *gzip.Reader
	lz4    lz4Reader
	snappy snappyReader
	// Two zstd decoders, as one allocates what a frame claims to need and the
	// other does not: see openZstd.
	zstd       *zstd.Decoder
	zstdStream *zstd.Decoder
	owner      interface{ room(size int64) } // hears before whole grows; may be nil
	whole      []byte                        // a batch inflated at once
	big        []byte                        // one record larger than a chunk
}

// open begins to inflate a batch's payload. The stream is valid until the next
// call; it inflates at most limit bytes.
func (d *Decompressors) open(codec Codec, payload []byte, limit int64) (*stream, error) {
	s := &d.stream
	var err error
	switch codec {
	case None:
		s.whole(payload)
		return s, nil
	case Gzip:
		err = d.openGzip(payload, limit)
	case Snappy:
		if err = d.snappy.reset(payload, limit); err == nil {
			s.inflating(&d.snappy, limit)
		}
	case LZ4:
		if err = d.lz4.reset(payload); err == nil {
			s.inflating(&d.lz4, limit)
		}
	case Zstd:
		err = d.openZstd(payload, limit)
	default:
		err = fmt.Errorf("unknown %v", codec)
	}
	return s, err
}

// release lets go of the batch and of memory that only a large one needed.
func (d *Decompressors) release() {
	d.stream.buf, d.stream.rd = nil, nil
	d.src.Reset(nil)
	d.lz4.src, d.lz4.out = nil, nil
	d.snappy.src, d.snappy.out = nil, nil
	d.lz4.block = retained(d.lz4.block)
	d.snappy.block = retained(d.snappy.block)
	d.whole = retained(d.whole)
	d.big = retained(d.big)
}

func retained(b []byte) []byte {
	if cap(b) > retainedMax {
		return nil
	}
	return b[:0]
}

func (d *Decompressors) openGzip(payload []byte, limit int64) error {
	d.src.Reset(payload)
	var err error
	if d.gzip == nil {
		d.gzip, err = gzip.NewReader(&d.src)
	} else {
		err = d.gzip.Reset(&d.src)
	}
	if err != nil {
		return noEOF(err)
	}
	d.stream.inflating(gzipReader{d.gzip}, limit)
	return nil
}

// gzipReader tells bytes behind the last member from a damaged one.
type gzipReader struct{ *gzip.Reader }

func (z gzipReader) Read(p []byte) (int, error) {
	n, err := z.Reader.Read(p)
	if errors.Is(err, gzip.ErrHeader) {
		err = errAfterEnd
	}
	return n, err
}

// openZstd inflates the batch at once where that takes no more than 1 MiB, which
// is also the fastest way. A larger batch is inflated as a stream; but there the
// decoder allocates the window that the frame declares, and the highest levels
// declare 128 MiB for a few bytes, so that a frame with such a window is inflated
// at once as well, into memory that doubles as the data really comes.
func (d *Decompressors) openZstd(payload []byte, limit int64) error {
	var head zstd.Header
	if err := head.Decode(payload); err != nil {
		return noEOF(err)
	}
	if d.zstd == nil {
		var err error
		d.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true),
			zstd.WithDecoderMaxWindow(zstdWindowMax), zstd.WithDecoderMaxMemory(1<<40))
		if err != nil {
			return err
		}
	}
	room := roomFor(head, len(payload), limit)
	for {
		if d.owner != nil {
			d.owner.room(int64(room))
		}
		if cap(d.whole) < room {
			d.whole = make([]byte, 0, room)
		}
		out, err := d.zstd.DecodeAll(payload, d.whole[:0])
		// Where the room ends inside a block, the library reports damage.
		full := errors.Is(err, zstd.ErrDecoderSizeExceeded) || cap(d.whole)-len(out) < zstdBlockMax
		switch {
		case err == nil:
			d.stream.whole(out)
			return nil
		case !full:
			return noEOF(err)
		case int64(cap(d.whole)) >= limit:
			return errInflatedSize
		case cap(d.whole) >= retainedMax && head.WindowSize <= zstdStreamWindowMax:
			return d.streamZstd(payload, limit)
		}
		room = int(min(2*int64(cap(d.whole)), limit))
	}
}

// roomFor is a first guess at what a frame inflates to: what it claims, if that
// is modest, else a multiple of what was sent.
func roomFor(head zstd.Header, sent int, limit int64) int {
	room := 8 * int64(sent)
	if head.HasFCS && head.FrameContentSize < retainedMax {
		room = int64(head.FrameContentSize)
	}
	return int(min(max(room, 2*zstdBlockMax), retainedMax, limit))
}

func (d *Decompressors) streamZstd(payload []byte, limit int64) error {
	d.src.Reset(payload)
	if d.zstdStream == nil {
		var err error
		d.zstdStream, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeBuffersBelow(0),
			zstd.WithDecoderMaxWindow(zstdStreamWindowMax))
		if err != nil {
			return err
		}
	}
	if err := d.zstdStream.Reset(&d.src); err != nil {
		return err
	}
	d.stream.inflating(d.zstdStream, limit)
	return nil
}

// noEOF keeps an io.EOF from a codec's header from meaning the end of records.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// leftover is the part of an inflated block that nobody has read yet.
type leftover []byte

// read is an io.Reader's Read over blocks: next puts the next one in u, which may
// be empty, and returns io.EOF behind the last.
func (u *leftover) read(p []byte, next func() error) (int, error) {
	for len(*u) == 0 {
		if err := next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, *u)
	*u = (*u)[n:]
	return n, nil
}

package record

import (
	"bytes"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// Compressors holds the encoders that need memory of their own, one of each
// codec and level last used. It may be used by one goroutine at a time; the zero
// value is ready.
type Compressors struct {
	gzip      *gzip.Writer
	gzipLevel int
	zstd      *zstd.Encoder
	zstdLevel int
	lz4       *lz4.Compressor
	lz4High   *lz4.CompressorHC
}

// append appends raw to dst, compressed as t says and in the form that Kafka's
// own clients write, which every client reads. It returns the codec that it
// used: None for one that is unknown.
func (c *Compressors) append(dst, raw []byte, t Target) ([]byte, Codec) {
	var out []byte
	switch t.Codec {
	case Gzip:
		out = c.appendGzip(dst, raw, t.Level)
	case Snappy:
		out = appendXerial(dst, raw)
	case LZ4:
		out = appendLZ4(dst, raw, c.lz4At(t.Level))
	case Zstd:
		out = c.appendZstd(dst, raw, t.Level)
	}
	if out == nil {
		return append(dst, raw...), None
	}
	return out, t.Codec
}

// appendGzip appends raw in gzip of a level from 1 to 9, or the default one. It
// returns nil when the library refuses, which it has no reason to.
func (c *Compressors) appendGzip(dst, raw []byte, level int) []byte {
	if level < gzip.BestSpeed || level > gzip.BestCompression {
		level = gzip.DefaultCompression
	}
	w := bytes.NewBuffer(dst)
	if c.gzip == nil || c.gzipLevel != level {
		z, err := gzip.NewWriterLevel(w, level)
		if err != nil {
			return nil
		}
		c.gzip, c.gzipLevel = z, level
	}
	c.gzip.Reset(w)
	_, err := c.gzip.Write(raw)
	if closed := c.gzip.Close(); err != nil || closed != nil {
		return nil
	}
	return w.Bytes()
}

// zstdDefaultLevel is compression.zstd.level's default.
const zstdDefaultLevel = 3

// appendZstd appends raw in zstd of one of the C library's levels, mapped to the
// nearest that ours has. It returns nil when the library refuses, which it has no
// reason to.
func (c *Compressors) appendZstd(dst, raw []byte, level int) []byte {
	if level == 0 {
		level = zstdDefaultLevel
	}
	if c.zstd == nil || c.zstdLevel != level {
		z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false),
			zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(level)))
		if err != nil {
			return nil
		}
		c.zstd, c.zstdLevel = z, level
	}
	return c.zstd.EncodeAll(raw, dst)
}

// lz4DefaultLevel is compression.lz4.level's default, which means lz4's fast
// mode; the other levels, 1 to 17, mean the high-compression mode.
const lz4DefaultLevel = 9

func (c *Compressors) lz4At(level int) lz4Block {
	if level == 0 || level == lz4DefaultLevel {
		if c.lz4 == nil {
			c.lz4 = new(lz4.Compressor)
		}
		return c.lz4
	}
	if c.lz4High == nil {
		c.lz4High = new(lz4.CompressorHC)
	}
	// The library's levels 1 to 9 are search depths: powers of two from 2^9 on.
	c.lz4High.Level = lz4.CompressionLevel(1 << (8 + min(max(level, 1), 9)))
	return c.lz4High
}

package producer

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Codec compresses the batches of a producer. Brokers keep them as they come, unless a topic has another compression.type.
type Codec int8

const (
	NoCodec Codec = iota
	Gzip
	Snappy
	LZ4
	Zstd // brokers since Kafka 2.1
)

func (c Codec) check() error {
	if c < NoCodec || c > Zstd {
		return fmt.Errorf("there is no Codec %d: choose NoCodec, Gzip, Snappy, LZ4 or Zstd", c)
	}
	return nil
}

func (c Codec) kgo() kgo.CompressionCodec {
	switch c {
	case Gzip:
		return kgo.GzipCompression()
	case Snappy:
		return kgo.SnappyCompression()
	case LZ4:
		return kgo.Lz4Compression()
	case Zstd:
		return kgo.ZstdCompression()
	}
	return kgo.NoCompression()
}

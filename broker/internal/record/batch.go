package record

import (
	"fmt"
	"hash/crc32"
	"iter"
)

// Batch is the bytes of one whole batch, as [Batches] yields them.
type Batch []byte

// Header decodes the batch's header.
func (b Batch) Header() Header { return decodeHeader(b) }

// Payload is the batch's records, compressed as the header says.
func (b Batch) Payload() []byte { return b[HeaderSize:] }

// Verify compares the checksum with the bytes. The error wraps ErrCorrupt.
func (b Batch) Verify() error {
	want := decodeHeader(b).CRC
	if got := crc32.Checksum(b[attributesAt:], castagnoli); got != want {
		return fmt.Errorf("checksum is %08x, header says %08x: %w", got, want, ErrCorrupt)
	}
	return nil
}

// First cuts the first batch off b. It does not verify the checksum. The error
// wraps ErrTruncated when b ends before the batch does, else ErrCorrupt; the
// header is as far as it could be read.
func First(b []byte) (Batch, Header, error) {
	h, err := ParseHeader(b)
	if err != nil {
		return nil, h, err
	}
	if h.Size() > len(b) {
		return nil, h, fmt.Errorf("%d bytes of a batch of %d: %w", len(b), h.Size(), ErrTruncated)
	}
	return Batch(b[:h.Size():h.Size()]), h, nil
}

// Batches walks the batches of a piece of a segment. A piece that ends inside a
// batch yields that as an error which wraps ErrTruncated, bytes that cannot be a
// batch one that wraps ErrCorrupt; both end the walk. The batches share b's
// memory. Checksums are not verified.
func Batches(b []byte) iter.Seq2[Batch, error] {
	return func(yield func(Batch, error) bool) {
		for len(b) > 0 {
			batch, _, err := First(b)
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(batch, nil) {
				return
			}
			b = b[len(batch):]
		}
	}
}

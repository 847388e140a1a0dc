package record

import (
	"bytes"
	"errors"
	"math"
	"testing"
)

func TestParseHeaderTellsTruncatedFromCorrupt(t *testing.T) {
	good := goldenRecords(NewBuilder(9)).Bytes()
	edit := func(f func(b []byte)) []byte {
		b := bytes.Clone(good)
		f(b)
		return b
	}
	for _, c := range []struct {
		name string
		b    []byte
		want error
	}{
		{"whole", good, nil},
		{"header alone", good[:HeaderSize], nil},
		{"nothing", nil, ErrTruncated},
		{"less than a header", good[:HeaderSize-1], ErrTruncated},
		{"magic 1", edit(func(b []byte) { b[magicAt] = 1 }), ErrCorrupt},
		{"length of less than a header", edit(func(b []byte) { copy(b[lengthAt:], []byte{0, 0, 0, 48}) }), ErrCorrupt},
		{"negative length", edit(func(b []byte) { b[lengthAt] = 0xff }), ErrCorrupt},
		{"zeros", make([]byte, 100), ErrCorrupt},
	} {
		if _, err := ParseHeader(c.b); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

func TestHeaderFields(t *testing.T) {
	h := Header{
		BaseOffset: 1 << 40, Length: 100, LeaderEpoch: 7, Magic: 2, CRC: 0xdeadbeef, Attributes: 0x7b, LastOffsetDelta: 9,
		BaseTimestamp: -1, MaxTimestamp: 5, ProducerID: 1 << 50, ProducerEpoch: 3, BaseSequence: math.MaxInt32 - 3, Count: 10,
	}
	b := make([]byte, HeaderSize)
	h.put(b)
	if got := decodeHeader(b); got != h {
		t.Errorf("got %+v, want %+v", got, h)
	}
	if !h.LogAppendTime() || !h.Transactional() || !h.Control() || !h.HasDeleteHorizon() || h.Codec() != LZ4 || !h.HasProducer() {
		t.Errorf("attributes of %+v", h)
	}
	if h.Size() != 112 || h.LastOffset() != 1<<40+9 {
		t.Errorf("size %d, last offset %d", h.Size(), h.LastOffset())
	}
}

// T16: 0 follows 2^31-1.
func TestSequencesWrap(t *testing.T) {
	for _, c := range []struct{ base, delta, want int32 }{
		{0, 0, 0},
		{5, 4, 9},
		{math.MaxInt32, 0, math.MaxInt32},
		{math.MaxInt32, 1, 0},
		{math.MaxInt32 - 3, 9, 5},
		{-1, 4, -1},
	} {
		h := Header{BaseSequence: c.base, LastOffsetDelta: c.delta}
		if got := h.LastSequence(); got != c.want {
			t.Errorf("base %d, delta %d: %d, want %d", c.base, c.delta, got, c.want)
		}
	}
}

func TestPatchOffsetLeavesTheChecksumRight(t *testing.T) {
	b := goldenRecords(NewBuilder(0)).Bytes()
	PatchOffset(b, 1<<33, 17)
	if err := b.Verify(); err != nil {
		t.Error(err)
	}
	if h := b.Header(); h.BaseOffset != 1<<33 || h.LeaderEpoch != 17 || h.LastOffset() != 1<<33+3 {
		t.Errorf("header %+v", h)
	}
}

func TestVerifyFindsEveryFlippedBitBehindTheChecksum(t *testing.T) {
	b := goldenRecords(NewBuilder(0)).Bytes()
	for i := crcAt; i < len(b); i++ {
		b[i] ^= 0x10
		if err := b.Verify(); !errors.Is(err, ErrCorrupt) {
			t.Errorf("bit flipped in byte %d: %v", i, err)
		}
		b[i] ^= 0x10
	}
}

func TestBatchesWalksAPieceOfASegment(t *testing.T) {
	one := goldenRecords(NewBuilder(10)).Bytes()
	two := NewBuilder(14).Append(1, nil, []byte("v")).Bytes()
	for _, c := range []struct {
		name  string
		piece []byte
		want  int
		err   error
	}{
		{"nothing", nil, 0, nil},
		{"two", bytes.Join([][]byte{one, two}, nil), 2, nil},
		{"a torn tail", bytes.Join([][]byte{one, two[:len(two)-1]}, nil), 1, ErrTruncated},
		{"a torn header", bytes.Join([][]byte{one, two[:20]}, nil), 1, ErrTruncated},
		{"zeros behind", bytes.Join([][]byte{one, make([]byte, 200)}, nil), 1, ErrCorrupt},
	} {
		n := 0
		var err error
		for b, e := range Batches(c.piece) {
			if err = e; err == nil {
				n++
				if len(b) != b.Header().Size() {
					t.Errorf("%s: batch of %d bytes, header says %d", c.name, len(b), b.Header().Size())
				}
			}
		}
		if n != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %d batches, %v", c.name, n, err)
		}
	}
	for range Batches(bytes.Join([][]byte{one, two}, nil)) {
		break
	}
}

package server

import (
	"math/bits"
	"sync"
)

// block is pooled memory. Its header is pooled with it, so that taking and giving back allocate nothing.
type block struct {
	b     []byte
	class int // unpooled when negative
}

// Size classes go from 512 B to 16 MiB in steps of a quarter of a power of two: at most a fifth of a block is unused.
// What is larger is rare, and left to the garbage collector.
const (
	minBlockBits = 9
	maxBlockBits = 24
	unpooled     = -1
)

// pools holds free blocks by size class.
type pools [(maxBlockBits-minBlockBits)*4 + 1]sync.Pool

// sizeClass returns the class of blocks for size bytes, and how large these are.
func sizeClass(size int) (class, blockSize int) {
	switch {
	case size <= 1<<minBlockBits:
		return 0, 1 << minBlockBits
	case size > 1<<maxBlockBits:
		return unpooled, size
	}
	power := bits.Len(uint(size-1)) - 1
	quarter := (size - 1) >> (power - 2) & 3
	return (power-minBlockBits)*4 + quarter + 1, 1<<power + (quarter+1)<<(power-2)
}

// get returns a block of at least size bytes, with whatever they held before.
func (p *pools) get(size int) *block {
	class, n := sizeClass(size)
	if class == unpooled {
		return &block{b: make([]byte, n), class: unpooled}
	}
	if b, ok := p[class].Get().(*block); ok {
		return b
	}
	return &block{b: make([]byte, n), class: class}
}

// put takes b back: nobody may use its bytes any more. A nil block is none.
func (p *pools) put(b *block) {
	if b != nil && b.class != unpooled {
		p[b.class].Put(b)
	}
}

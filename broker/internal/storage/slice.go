package storage

import (
	"os"

	"github.com/skeinstream/skein/internal/vfs"
)

// Slice is whole batches in a segment's file, Len bytes from Pos. It keeps the
// file open until Release, even when the segment is deleted meanwhile. The zero
// Slice is empty and needs no Release, but may have one.
type Slice struct {
	File vfs.File // nil when Len is 0
	Pos  int64
	Len  int
	// Base is the base offset of the first batch, which may be below the offset
	// asked for (T20). End is where a reader goes on: one beyond the last batch.
	Base, End int64

	handle *handle
}

type handle struct{}

// ReadAt reads from the slice, position 0 being its first byte.
func (s Slice) ReadAt(b []byte, off int64) (int, error) { return 0, nil }

// OSFile is the file for sendfile; ok is false when it is not on the real disk.
func (s Slice) OSFile() (file *os.File, ok bool) { return vfs.OSFile(s.File) }

// Release gives the file back. Call it exactly once.
func (s Slice) Release() {}

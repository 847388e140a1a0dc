package storage

import (
	"io"
	"os"

	"github.com/skeinstream/skein/internal/vfs"
)

// Slice is whole batches in a segment's file, Len bytes from Pos. It keeps the
// file open until Release, even when the segment is deleted meanwhile. The zero
// Slice is empty.
type Slice struct {
	File vfs.File // nil when Len is 0
	Pos  int64
	Len  int
	// Base is the base offset of the first batch, which may be below the offset
	// asked for (T20). End is where a reader goes on: all batches of the slice are
	// below it.
	Base, End int64

	handle *handle
}

// ReadAt reads from the slice, position 0 being its first byte.
func (s Slice) ReadAt(b []byte, off int64) (int, error) {
	left := int64(s.Len) - off
	if left <= 0 || off < 0 {
		return 0, io.EOF
	}
	if int64(len(b)) <= left {
		return s.File.ReadAt(b, s.Pos+off)
	}
	n, err := s.File.ReadAt(b[:left], s.Pos+off)
	if err == nil {
		err = io.EOF
	}
	return n, err
}

// OSFile is the file for sendfile; ok is false when it is not on the real disk.
func (s Slice) OSFile() (file *os.File, ok bool) {
	if s.File == nil {
		return nil, false
	}
	return vfs.OSFile(s.File)
}

// Release gives the file back. Call it exactly once for a slice that is not empty.
func (s Slice) Release() {
	if s.handle != nil {
		s.handle.release()
	}
}

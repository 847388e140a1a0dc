package storage

import "github.com/skeinstream/skein/internal/vfs"

// Files keeps the files of sealed segments open, so many at most, for all logs
// of a broker. It may be used by any number of goroutines.
type Files struct {
	fs vfs.FS
}

// NewFiles keeps up to limit files of fs open; limit 0 stands for 512.
func NewFiles(fs vfs.FS, limit int) *Files { return &Files{fs: fs} }

// Close closes what is open and unused.
func (f *Files) Close() error { return nil }

//go:build !linux

package vfs

import "os"

// syncData is a full sync. On darwin the Go library asks for F_FULLFSYNC, since fsync alone leaves the data in the cache
// of the drive; on Windows it is FlushFileBuffers.
func syncData(f *os.File) error { return f.Sync() }

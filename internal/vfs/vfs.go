// Package vfs is the only door to files. The broker's log, the write-ahead log and the catalog take an [FS] and never
// call package os, so that one test can run them over a real disk, over memory, and over memory that loses power.
//
// Four file systems are here. [Disk] is the real one. [Memory] is its twin in memory, which remembers what has not been
// synced and can be cloned as it would look after a power cut. [Faults] wraps either and injects errors. [Overlay] lets a
// program change a disk without changing it.
//
// What a crash may take away, and so what a caller must sync:
//
//   - bytes written since the last [File.Sync] of that file, page by page and in any order, and the size they gave it;
//   - directory entries (creations, renames, removals) since the last [FS.SyncDir] of that directory. Syncing a new file
//     does not make its name durable.
//
// A rename is atomic: after a crash either it happened or it did not.
package vfs

import (
	"errors"
	"io"
	"os"
)

// ErrLocked is what [FS.Lock] wraps when somebody else holds the lock.
var ErrLocked = errors.New("locked by another holder")

// FS is a tree of files. Names are paths as package os takes them. Every method may be called from several goroutines.
// Errors wrap os.ErrNotExist, os.ErrExist and the like, as those of package os do.
type FS interface {
	// Create opens a file for reading and writing, empty: it makes a new one or truncates what is there.
	Create(name string) (File, error)
	// Open opens an existing file for reading only.
	Open(name string) (File, error)
	// OpenFile opens a file for reading and writing, makes it when it is missing, and never truncates it.
	OpenFile(name string) (File, error)
	// Remove deletes a file or an empty directory. Handles that are open stay usable where the system allows it.
	Remove(name string) error
	// RemoveAll deletes a file, or a directory with everything in it. A missing name is no error.
	RemoveAll(name string) error
	// Rename moves a file or directory and replaces a file that has the new name.
	Rename(oldName, newName string) error
	// MkdirAll makes a directory and the parents it needs.
	MkdirAll(dir string) error
	// List returns the base names in a directory, sorted.
	List(dir string) ([]string, error)
	Stat(name string) (Info, error)
	// SyncDir makes the creations, renames and removals in a directory durable.
	SyncDir(dir string) error
	// Lock takes an exclusive advisory lock on a file, which is made when missing, until the closer is closed or the
	// process ends. It does not wait: [ErrLocked] says that another process, or another caller in this one, has it.
	Lock(name string) (io.Closer, error)
	// Space tells how much room the volume that holds dir has.
	Space(dir string) (Space, error)
}

// File is an open file. Reads and writes name their position, so that any number may run at once.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	// Sync makes the data and the size of the file durable. After an error nothing is known about any byte written since
	// the last success, and calling Sync again proves nothing.
	Sync() error
	// Truncate sets the size. Bytes gained read as zero.
	Truncate(size int64) error
	Size() (int64, error)
}

// Info is what Stat tells about a name.
type Info struct {
	Size    int64 // bytes; 0 for a directory
	Dir     bool
	ModTime int64 // last write, in ms since 1970
}

// Space is the room on a volume, in bytes. Free is what this process may still use.
type Space struct {
	Total, Free int64
}

// OSFile returns the *os.File behind f when f is a file of the real disk, for calls such as sendfile that need one. The
// *os.File belongs to f: do not close it.
func OSFile(f File) (*os.File, bool) {
	d, ok := f.(*diskFile)
	if !ok {
		return nil, false
	}
	return d.File, true
}

// ReadFile returns the whole content of a file.
func ReadFile(fs FS, name string) ([]byte, error) {
	f, err := fs.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	b := make([]byte, size)
	n, err := f.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return b[:n], nil
}

// WriteFile puts content into a file and syncs the file. The name is durable only after SyncDir.
func WriteFile(fs FS, name string, content []byte) error {
	f, err := fs.Create(name)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(content, 0)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

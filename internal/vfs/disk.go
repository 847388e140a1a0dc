package vfs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// Disk is the real file system, with paths as they are given.
func Disk() FS { return disk{} }

type disk struct{}

type diskFile struct{ *os.File }

const (
	fileMode = 0o644
	dirMode  = 0o755
)

func openDisk(name string, flag int) (File, error) {
	f, err := os.OpenFile(name, flag, fileMode)
	if err != nil {
		return nil, err
	}
	return &diskFile{f}, nil
}

func (disk) Create(name string) (File, error) {
	return openDisk(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
}
func (disk) Open(name string) (File, error)       { return openDisk(name, os.O_RDONLY) }
func (disk) OpenFile(name string) (File, error)   { return openDisk(name, os.O_RDWR|os.O_CREATE) }
func (disk) Remove(name string) error             { return os.Remove(name) }
func (disk) RemoveAll(name string) error          { return os.RemoveAll(name) }
func (disk) Rename(oldName, newName string) error { return os.Rename(oldName, newName) }
func (disk) MkdirAll(dir string) error            { return os.MkdirAll(dir, dirMode) }
func (disk) SyncDir(dir string) error             { return syncDir(dir) }
func (disk) Space(dir string) (Space, error)      { return space(dir) }

func (disk) List(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir) // sorted by name
	if err != nil {
		return nil, err
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, nil
}

func (disk) Stat(name string) (Info, error) {
	st, err := os.Stat(name)
	if err != nil {
		return Info{}, err
	}
	info := Info{Size: st.Size(), Dir: st.IsDir(), ModTime: st.ModTime().UnixMilli()}
	if info.Dir {
		info.Size = 0
	}
	return info, nil
}

func (disk) Lock(name string) (io.Closer, error) {
	f, err := openLock(os.OpenFile, name)
	if err != nil {
		return nil, err
	}
	if err := lockFile(f); err != nil {
		return nil, errors.Join(fmt.Errorf("locking %s: %w", name, err), f.Close())
	}
	return f, nil // the system drops the lock with the descriptor
}

// openLock opens a file to lock it. On a read-only volume, where who only looks wants to be sure that nobody else writes by
// way of another mount, it has to be there.
func openLock(open func(string, int, os.FileMode) (*os.File, error), name string) (*os.File, error) {
	f, err := open(name, os.O_RDWR|os.O_CREATE, fileMode)
	if errors.Is(err, syscall.EROFS) {
		return open(name, os.O_RDONLY, 0)
	}
	return f, err
}

func (f *diskFile) Sync() error { return syncData(f.File) }

func (f *diskFile) Size() (int64, error) {
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}

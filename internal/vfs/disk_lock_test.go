package vfs

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A look at a data directory on a read-only volume takes the lock too.
func TestALockOnAReadOnlyVolume(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	readOnly := func(name string, flag int, mode os.FileMode) (*os.File, error) {
		if flag&(os.O_RDWR|os.O_CREATE) != 0 {
			return nil, &os.PathError{Op: "open", Path: name, Err: syscall.EROFS}
		}
		return os.OpenFile(name, flag, mode)
	}
	if _, err := openLock(readOnly, name); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("one that is not there: %v", err)
	}
	held, err := Disk().Lock(name)
	if err != nil {
		t.Fatal(err)
	}
	f, err := openLock(readOnly, name)
	if err != nil {
		t.Fatal(err)
	}
	if err := lockFile(f); !errors.Is(err, ErrLocked) {
		t.Errorf("one that somebody has: %v", err)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(lockFile(f), f.Close()); err != nil {
		t.Error(err)
	}
}

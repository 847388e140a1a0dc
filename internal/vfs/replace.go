package vfs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// ErrSync is wrapped by the error of [Settle] and of what is built on it when a sync failed: nobody knows then what the
// disk holds.
var ErrSync = errors.New("sync failed")

// Settle gives a file that was written under a temporary name the name that it is for, durably: after a crash that name is
// of what it was of before, or of this file as a whole. Both names are in one directory. It closes f in any case.
func Settle(fs FS, f File, temporary, name string) error {
	err := synced(f.Sync())
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := fs.Rename(temporary, name); err != nil {
		return err
	}
	return synced(fs.SyncDir(filepath.Dir(name)))
}

func synced(err error) error {
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrSync, err)
	}
	return err
}

// ReplaceFile gives a file new content by way of Settle.
func ReplaceFile(fs FS, name, temporary string, content []byte) error {
	f, err := fs.Create(temporary)
	if err != nil {
		return err
	}
	if _, err := f.WriteAt(content, 0); err != nil {
		return errors.Join(err, f.Close())
	}
	return Settle(fs, f, temporary, name)
}

// damagedSuffix is what files are called that were saved before a repair.
const damagedSuffix = ".damaged"

// SaveAside copies a file that is about to be repaired to a free name beside it, which it returns: the name with .damaged
// behind it, and a number if there is such a file already. The copy is durable.
func SaveAside(fs FS, name string) (string, error) {
	aside := name + damagedSuffix
	for n := 2; ; n++ {
		_, err := fs.Stat(aside)
		if errors.Is(err, os.ErrNotExist) {
			break
		}
		if err != nil {
			return "", err
		}
		aside = fmt.Sprintf("%s%s.%d", name, damagedSuffix, n)
	}
	return aside, copyFile(fs, name, aside)
}

func copyFile(fs FS, from, to string) error {
	in, err := fs.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	size, err := in.Size()
	if err != nil {
		return err
	}
	temporary := to + ".new"
	out, err := fs.Create(temporary)
	if err != nil {
		return err
	}
	if _, err := io.Copy(io.NewOffsetWriter(out, 0), io.NewSectionReader(in, 0, size)); err != nil {
		return errors.Join(fmt.Errorf("copying %s: %w", from, err), out.Close())
	}
	return Settle(fs, out, temporary, to)
}

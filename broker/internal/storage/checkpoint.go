package storage

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/skeinstream/skein/internal/vfs"
)

// ErrSync is wrapped by errors after which nobody knows what the disk holds: a
// sync has failed, or what a failed write left behind could not be taken back.
// Nothing may be tried again, and the log takes no more writes.
var ErrSync = vfs.ErrSync

func syncFile(f vfs.File) error {
	if err := f.Sync(); err != nil {
		return fmt.Errorf("%w: %w", ErrSync, err)
	}
	return nil
}

func syncDir(fs vfs.FS, dir string) error {
	if err := fs.SyncDir(dir); err != nil {
		return fmt.Errorf("%w: %w", ErrSync, err)
	}
	return nil
}

func isNotExist(err error) bool { return errors.Is(err, os.ErrNotExist) }

// ReplaceFile gives a small file new content, durably: after a crash it has the
// old content or the new. The error wraps ErrSync when a sync failed.
func ReplaceFile(fs vfs.FS, dir, name string, content []byte) error {
	path := filepath.Join(dir, name)
	if err := vfs.ReplaceFile(fs, path, path+tmpSuffix, content); err != nil {
		return fmt.Errorf("replacing %s: %w", path, err)
	}
	return nil
}

// bounds is what storage itself keeps of a log whose segments were deleted or
// replaced, in case its owner has persisted less: the log begins at start, and
// everything below durable was durable.
type bounds struct{ start, durable int64 }

// readBounds reads the file skein-bounds, which need not be there.
func readBounds(fs vfs.FS, dir string) (bounds, error) {
	b, err := vfs.ReadFile(fs, filepath.Join(dir, boundsName))
	if isNotExist(err) {
		return bounds{}, nil
	}
	if err != nil {
		return bounds{}, fmt.Errorf("reading bounds: %w", err)
	}
	version, line, _ := strings.Cut(string(b), "\n")
	if n, ok := numbers(strings.TrimSuffix(line, "\n"), 2); ok && version == "0" {
		return bounds{n[0], n[1]}, nil
	}
	return bounds{}, fmt.Errorf("%s of %s is damaged: %q", boundsName, dir, b)
}

// raiseBounds makes the bounds at least what is given, durably.
func raiseBounds(fs vfs.FS, dir string, least bounds) error {
	was, err := readBounds(fs, dir)
	if err != nil {
		return err
	}
	now := bounds{max(was.start, least.start), max(was.durable, least.durable)}
	if now == was {
		return nil
	}
	return ReplaceFile(fs, dir, boundsName, fmt.Appendf(nil, "0\n%d %d\n", now.start, now.durable))
}

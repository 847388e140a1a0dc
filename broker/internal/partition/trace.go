package partition

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/skeinstream/skein/broker/internal/catalog"
	"github.com/skeinstream/skein/internal/vfs"
)

// Trace returns the path of something in dir that only a broker leaves there, empty when there is nothing.
func Trace(fs vfs.FS, dir string) (string, error) {
	names, err := fs.List(dir)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	for _, name := range names {
		path := filepath.Join(dir, name)
		switch name {
		case recoveryPointFile, startOffsetFile, cleanedFile:
			return path, nil
		case walDir:
			if files, err := fs.List(path); err == nil && len(files) > 0 {
				return path, nil
			}
		}
		if !partitionName.MatchString(name) {
			continue
		}
		if owner, err := readMetadata(fs, path); err == nil && owner != (catalog.ID{}) {
			return path, nil
		}
	}
	return "", err
}

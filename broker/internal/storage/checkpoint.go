package storage

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/skeinstream/skein/internal/vfs"
)

// errSync marks errors of syncing, after which nothing may be tried again.
var errSync = errors.New("sync failed")

func syncFile(f vfs.File) error {
	if err := f.Sync(); err != nil {
		return fmt.Errorf("%w: %w", errSync, err)
	}
	return nil
}

func isNotExist(err error) bool { return errors.Is(err, os.ErrNotExist) }

// replaceFile gives a small file new content, durably: after a crash it has the
// old content or the new.
func replaceFile(fs vfs.FS, dir, name string, content []byte) error {
	path := filepath.Join(dir, name)
	f, err := fs.Create(path + tmpSuffix)
	if err == nil {
		_, err = f.WriteAt(content, 0)
		if err == nil {
			err = syncFile(f)
		}
		err = errors.Join(err, f.Close())
	}
	if err == nil {
		err = fs.Rename(path+tmpSuffix, path)
	}
	if err == nil {
		err = fs.SyncDir(dir)
	}
	if err != nil {
		return fmt.Errorf("replacing %s: %w", path, err)
	}
	return nil
}

// readDurable reads the file recovery-point, which says that everything below an
// offset was durable when segments were last replaced. It is 0 without a file.
func readDurable(fs vfs.FS, dir string) (int64, error) {
	b, err := vfs.ReadFile(fs, filepath.Join(dir, durableName))
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("reading recovery point: %w", err)
	}
	lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	if len(lines) == 2 && lines[0] == "0" {
		if n, ok := numbers(lines[1], 1); ok {
			return n[0], nil
		}
	}
	return 0, fmt.Errorf("recovery point of %s is damaged: %q", dir, b)
}

func writeDurable(fs vfs.FS, dir string, offset int64) error {
	return replaceFile(fs, dir, durableName, fmt.Appendf(nil, "0\n%d\n", offset))
}

// WriteMetadata writes partition.metadata, which tells Kafka's tools which topic
// the directory belongs to. The directory must exist. The catalog knows the same,
// so nothing is synced: after a crash, write it again when ReadMetadata fails.
func WriteMetadata(fs vfs.FS, dir string, topicID [16]byte) error {
	f, err := fs.Create(filepath.Join(dir, metadataName))
	if err == nil {
		id := base64.RawURLEncoding.EncodeToString(topicID[:])
		_, err = f.WriteAt(fmt.Appendf(nil, "version: 0\ntopic_id: %s\n", id), 0)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("writing partition metadata: %w", err)
	}
	return nil
}

// ReadMetadata reads partition.metadata. The error wraps os.ErrNotExist when the
// directory has none.
func ReadMetadata(fs vfs.FS, dir string) (topicID [16]byte, err error) {
	path := filepath.Join(dir, metadataName)
	b, err := vfs.ReadFile(fs, path)
	if err != nil {
		return topicID, fmt.Errorf("reading partition metadata: %w", err)
	}
	var version, id string
	for line := range strings.Lines(string(b)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch key {
		case "version":
			version = value
		case "topic_id":
			id = value
		}
	}
	raw, err := base64.RawURLEncoding.DecodeString(id)
	if err != nil || version != "0" || len(raw) != len(topicID) {
		return topicID, fmt.Errorf("partition metadata %s is damaged: %q", path, b)
	}
	return [16]byte(raw), nil
}

package partition

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/skeinstream/skein/broker/internal/commit"
	"github.com/skeinstream/skein/broker/internal/storage"
	"github.com/skeinstream/skein/internal/vfs"
)

// ExamineWAL reads the write-ahead log below dir and returns its damage. With repair a damaged one is made one that opens.
// A repaired log says of the records that it lost that segments have them durably, so all segments are synced before; where
// one does not have them, Examine finds the hole. The caller holds the lock on dir.
func ExamineWAL(ctx context.Context, fs vfs.FS, dir string, repair bool) ([]commit.Damage, error) {
	wal := filepath.Join(dir, walDir)
	_, err := fs.Stat(filepath.Join(dir, cleanFile))
	gone, err := walGone(fs, dir, err == nil)
	if gone && repair {
		err = errors.Join(fs.MkdirAll(wal), fs.SyncDir(dir))
	}
	if gone {
		return []commit.Damage{{File: wal, Bytes: -1, Unknown: true, Reason: walGoneReason}}, err
	}
	if err != nil {
		return nil, err
	}
	damage, err := commit.Salvage(fs, wal, nil)
	if err != nil || len(damage) == 0 || !repair {
		return damage, err
	}
	names, err := fs.List(dir)
	if err != nil {
		return damage, err
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return damage, err
		}
		if !partitionName.MatchString(name) {
			continue
		}
		if err := storage.SyncSegments(fs, filepath.Join(dir, name)); err != nil {
			return damage, fmt.Errorf("syncing the segments of %s: %w", name, err)
		}
	}
	return commit.Repair(fs, wal)
}

const walGoneReason = "it is missing, though the broker had not ended cleanly"

// walGone reports whether there is no write-ahead log though there was one that may have been needed. It is made before the
// checkpoint files are.
func walGone(fs vfs.FS, dir string, clean bool) (bool, error) {
	if _, err := fs.Stat(filepath.Join(dir, walDir)); !errors.Is(err, os.ErrNotExist) {
		return false, err
	}
	_, err := fs.Stat(filepath.Join(dir, recoveryPointFile))
	if clean || errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// salvage reads the write-ahead log as Examine does: as it will be once it is repaired.
func salvage(fs vfs.FS, dir string, yield func(commit.Frame) error) error {
	_, err := commit.Salvage(fs, dir, yield)
	return err
}

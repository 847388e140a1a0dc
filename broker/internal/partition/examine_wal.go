package partition

import (
	"context"
	"fmt"
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

// salvage reads the write-ahead log as Examine does: as it will be once it is repaired.
func salvage(fs vfs.FS, dir string, yield func(commit.Frame) error) error {
	_, err := commit.Salvage(fs, dir, yield)
	return err
}

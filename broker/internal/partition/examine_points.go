package partition

import (
	"path/filepath"

	"github.com/skeinstream/skein/internal/vfs"
)

// CheckpointDamage is a checkpoint file that cannot be read, without which no broker starts.
type CheckpointDamage struct {
	File   string // path
	Reason error
	Means  string // what is lost with it
}

// meaning is what is lost with a checkpoint file.
func meaning(name string) string {
	switch name {
	case recoveryPointFile:
		return "nobody knows how far logs were durable: a repair keeps everything in them that can be read, and the next start reads all of them"
	case startOffsetFile:
		return "records that were deleted by request come back, as far as their segments are still there"
	default:
		return "compacted logs are compacted from their beginning"
	}
}

// ExamineCheckpoints returns the checkpoint files below dir that cannot be read. With repair each is put aside, as .damaged.
// Without a recovery point nothing says what was durable, so the logs are to be repaired before (Examine). The caller holds
// the lock on dir.
func ExamineCheckpoints(fs vfs.FS, dir string, repair bool) (all []CheckpointDamage, err error) {
	o := opener{Table: &Table{opts: Options{FS: fs, Dir: dir}}}
	damaged, err := o.readWhatPoints()
	if err != nil {
		return nil, err
	}
	for _, name := range []string{recoveryPointFile, startOffsetFile, cleanedFile} {
		if damaged[name] == nil {
			continue
		}
		d := CheckpointDamage{File: filepath.Join(dir, name), Reason: damaged[name], Means: meaning(name)}
		all = append(all, d)
		if repair {
			if err := setAside(fs, d.File); err != nil {
				return all, err
			}
		}
	}
	return all, nil
}

// setAside takes a file out of the way, and keeps a copy.
func setAside(fs vfs.FS, name string) error {
	if _, err := vfs.SaveAside(fs, name); err != nil {
		return err
	}
	if err := fs.Remove(name); err != nil {
		return err
	}
	return fs.SyncDir(filepath.Dir(name))
}

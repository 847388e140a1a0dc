package partition

import (
	"errors"
	"math"
	"path/filepath"

	"github.com/skeinstream/skein/broker/internal/record"
	"github.com/skeinstream/skein/internal/vfs"
)

// damagedRescue reports whether an error of readRescued says that the file has bytes which are no batch.
func damagedRescue(err error) bool {
	return errors.Is(err, record.ErrCorrupt) || errors.Is(err, record.ErrTruncated)
}

// repairRescued writes the file of rescued batches anew without what is no batch, after it has saved a copy of it beside it.
// It returns the offset behind the last batch of which at least the header is whole: all below was promised.
func repairRescued(fs vfs.FS, dir string) (promised int64, err error) {
	name := filepath.Join(dir, rescuedFile)
	b, err := vfs.ReadFile(fs, name)
	if err != nil {
		return 0, err
	}
	good, promised := wholeBatches(b)
	if _, err := vfs.SaveAside(fs, name); err != nil {
		return promised, err
	}
	return promised, vfs.ReplaceFile(fs, name, name+".tmp", good)
}

// wholeBatches is the batches of b that are whole and ascend. Where only the records of one are damaged the next one is
// where its header says, else wherever one is found.
func wholeBatches(b []byte) (good []byte, end int64) {
	for len(b) > 0 {
		batch, h, err := record.First(b)
		switch {
		case err != nil || h.BaseOffset < end || h.BaseOffset > math.MaxInt64-math.MaxInt32 || h.LastOffsetDelta < 0:
			b = b[1:]
		case batch.Verify() == nil:
			good, end, b = append(good, batch...), h.LastOffset()+1, b[len(batch):]
		case wholeAt(b[len(batch):], h.LastOffset()+1):
			end, b = h.LastOffset()+1, b[len(batch):]
		default:
			b = b[1:]
		}
	}
	return good, end
}

// wholeAt reports whether b is at its end or begins with a whole batch of offset next or above.
func wholeAt(b []byte, next int64) bool {
	if len(b) == 0 {
		return true
	}
	batch, h, err := record.First(b)
	return err == nil && h.BaseOffset >= next && batch.Verify() == nil
}

package commit

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/skeinstream/skein/internal/vfs"
)

// Reserve watches the room on a volume, so that partitions can refuse appends while the disk is nearly full instead of
// finding out in the middle of a write. Its zero value watches nothing and always has room.
type Reserve struct {
	FS    vfs.FS
	Dir   string
	Bytes int64         // below so much free space there is no room; 0: never
	Every time.Duration // between two looks; default 1 s
	After func(time.Duration) <-chan time.Time

	low atomic.Bool
}

// Low says that the last look found less than the reserve.
func (r *Reserve) Low() bool { return r.low.Load() }

// Look asks the file system now. A volume that does not tell is taken to have room.
func (r *Reserve) Look() {
	if r.FS == nil {
		return
	}
	space, err := r.FS.Space(r.Dir)
	r.low.Store(err == nil && space.Free < r.Bytes)
}

// Run looks until ctx ends.
func (r *Reserve) Run(ctx context.Context) {
	after := r.After
	if after == nil {
		after = time.After
	}
	for {
		r.Look()
		select {
		case <-after(orDefault(r.Every, time.Second)):
		case <-ctx.Done():
			return
		}
	}
}

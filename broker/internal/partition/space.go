package partition

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/skeinstream/skein/internal/vfs"
)

// spaceInterval is how old the knowledge of the free space may be.
const spaceInterval = 100 * time.Millisecond

// space watches the free space, so that writes are refused before the disk is full: a full disk could not even take the
// record of what to delete. It looks only while there are appends, and until there is room again.
type space struct {
	table *Table
	alarm alarm
	full  atomic.Bool
	free  atomic.Int64
}

func newSpace(t *Table) *space { return &space{table: t, alarm: newAlarm()} }

// low reports whether there is too little space to write.
func (s *space) low() bool {
	full := s.full.Load()
	s.alarm.arm()
	return full
}

// failure is the result of an append that is refused for want of space.
func (s *space) failure() Result {
	r := failure(kerr.KafkaStorageError.Code)
	r.Message = fmt.Sprintf("the disk has %d bytes left, skein.disk.reserve.bytes is %d", s.free.Load(), s.table.opts.Broker().DiskReserveBytes)
	return r
}

// look measures the free space. A file system that does not tell is taken to have enough.
func (s *space) look() {
	got, err := s.table.opts.FS.Space(s.table.opts.Dir)
	if err != nil {
		return
	}
	s.free.Store(got.Free)
	reserve := s.table.opts.Broker().DiskReserveBytes
	full := got.Free < reserve
	if s.full.Swap(full) == full {
		return
	}
	if full {
		s.table.opts.Logger.Error("the disk is nearly full, writes are refused", "free", got.Free, "reserve", reserve)
	} else {
		s.table.opts.Logger.Info("the disk has room again, writes are taken", "free", got.Free, "reserve", reserve)
	}
}

// watch looks while there is something to watch, until ctx ends.
func (s *space) watch(ctx context.Context) error {
	for s.alarm.wait(ctx) {
		for s.look(); s.full.Load() && pause(ctx, spaceInterval); s.look() {
		}
		if !pause(ctx, spaceInterval) {
			return nil
		}
		s.alarm.disarm()
	}
	return nil
}

// Space is the room on the disk that holds the partitions.
func (t *Table) Space() (vfs.Space, error) { return t.opts.FS.Space(t.opts.Dir) }

// Dir is the directory that holds the partitions.
func (t *Table) Dir() string { return t.opts.Dir }

// alarm wakes one goroutine, for the first of many who arm it until it is disarmed. Arming an armed one costs a load.
type alarm struct {
	armed *atomic.Bool
	wake  chan struct{}
}

func newAlarm() alarm { return alarm{armed: new(atomic.Bool), wake: make(chan struct{}, 1)} }

func (a alarm) arm() {
	if !a.armed.Load() && !a.armed.Swap(true) {
		a.hurry()
	}
}

// hurry wakes the goroutine though it may be awake.
func (a alarm) hurry() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// disarm lets the next arm wake again. What arms from here on is seen by the next wait.
func (a alarm) disarm() { a.armed.Store(false) }

// wait waits for the alarm, and reports false when ctx ends first.
func (a alarm) wait(ctx context.Context) bool {
	select {
	case <-a.wake:
		return true
	case <-ctx.Done():
		return false
	}
}

// pause waits, and reports false when ctx ends first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

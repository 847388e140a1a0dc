package commit

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/skeinstream/skein/internal/vfs"
)

// A log that was replayed is freed as soon as the segments have been synced, without waiting for more to be written: else
// a broker with little to do would replay it at every start.
func TestARecoveredLogIsFreedAtOnce(t *testing.T) {
	fs := vfs.NewMemory()
	writeFrames(t, fs, 2)
	freed := make(chan int, 1)
	c, err := Open(fs, "wal", Config{
		SyncSegments: func() error { return nil },
		Events:       Events{Checkpoint: func(files int, _ time.Duration, _ error) { freed <- files }},
	}, nil)
	check(t, err)
	ran := make(chan error, 1)
	go func() { ran <- c.Run(context.Background()) }()
	if n := <-freed; n != 1 {
		t.Errorf("%d files became free", n)
	}
	check(t, c.Shutdown(context.Background()))
	check(t, <-ran)
	check(t, Read(fs, "wal", func(f Frame) error { return fmt.Errorf("frame %d is left", f.Seq) }))
}

// What a partition cannot take at the start stays, in its file and in those after it, over checkpoints and starts.
func TestAFrameThatMustBeKeptStays(t *testing.T) {
	fs := vfs.NewMemory()
	for range 3 {
		writeFrames(t, fs, 2)
	}
	first := 4 // the frame that must stay: the second of the second file
	for range 2 {
		var seen []uint64
		c, err := Open(fs, "wal", Config{SyncSegments: func() error { return nil }}, func(f Frame) error {
			seen = append(seen, f.Seq)
			if len(seen) == first {
				return fmt.Errorf("%w: the partition is offline", ErrKeep)
			}
			return nil
		})
		check(t, err)
		ran := make(chan error, 1)
		go func() { ran <- c.Run(context.Background()) }()
		check(t, c.Checkpoint(context.Background(), func() error { return nil }))
		check(t, c.Shutdown(context.Background()))
		check(t, <-ran)
		var left []uint64
		check(t, Read(fs, "wal", func(f Frame) error {
			left = append(left, f.Seq)
			return nil
		}))
		if want := seen[len(seen)-4:]; !slices.Equal(left, want) {
			t.Fatalf("left are %x, want %x", left, want)
		}
		first = 2 // the first file is gone
	}
}

// writeFrames adds a file with so many frames to the log, as a process that is killed leaves it.
func writeFrames(t *testing.T, fs *vfs.Memory, frames int) {
	t.Helper()
	c, err := Open(fs, "wal", Config{}, nil)
	check(t, err)
	check(t, c.wal.begin())
	for i := range frames {
		check(t, c.wal.add(frameHeader{kind: Data, count: 1, base: int64(i), last: int64(i), position: -1}, []byte("batch")))
	}
	_, err = c.wal.finish()
	check(t, err)
	check(t, c.wal.sync())
	check(t, c.wal.file.Close())
}

package storage

import (
	"errors"
	"syscall"
	"testing"

	"github.com/skeinstream/skein/internal/vfs"
)

// A system tells of a failed sync once, to whoever asks first. The second asker must not take its success for a promise.
func TestAfterAFailedSyncNothingIsDurableAnyMore(t *testing.T) {
	for _, name := range []string{"*.log", "*.index", "*.tmp", "topic-0"} {
		t.Run(name, func(t *testing.T) {
			l, faults, _ := faulty(t, small())
			fill(t, l, 30, 3)
			faults.Fail(vfs.Rule{Op: vfs.OpSync | vfs.OpSyncDir, Name: name, Err: syscall.EIO, Times: 1})
			for range 3 {
				if err := l.Sync(); !errors.Is(err, ErrSync) || !errors.Is(err, syscall.EIO) {
					t.Fatal(err)
				}
			}
			if err := l.Write(batch(l, 1), 0); !errors.Is(err, ErrSync) {
				t.Errorf("a write after a failed sync: %v", err)
			}
			contents(t, l, 0, 1<<20) // reads go on
			if err := l.Close(); !errors.Is(err, ErrSync) {
				t.Errorf("the log was closed cleanly: %v", err)
			}
			expect(t, "recovery point", l.RecoveryPoint(), 0)
		})
	}
}

// What a failed write leaves is gone before anybody is told: others may get its offsets in a write-ahead log, and a crash
// must not show it instead.
func TestAFailedWriteIsTakenBackAtOnce(t *testing.T) {
	l, faults, disk := faulty(t, wide())
	write(t, l, batch(l, 1))
	must(t, l.Sync())
	faults.Fail(vfs.Rule{Op: vfs.OpWrite, Name: "*.log", Err: syscall.ENOSPC, Short: -1, Times: 1})
	if err := l.Write(batch(l, 2, 2), 0); !errors.Is(err, syscall.ENOSPC) || errors.Is(err, ErrSync) {
		t.Fatal(err)
	}
	for seed := range uint64(20) {
		after, _ := open(t, NewFiles(disk.CrashClone(seed), 4), wide(), Recovery{DurableTo: 1})
		expect(t, "end after a crash", after.EndOffset(), 1)
	}
}

func TestAFailedWriteThatCannotBeTakenBackIsFinal(t *testing.T) {
	for _, op := range []vfs.Op{vfs.OpSync, vfs.OpTruncate} {
		l, faults, _ := faulty(t, wide())
		write(t, l, batch(l, 1))
		faults.Fail(vfs.Rule{Op: vfs.OpWrite, Name: "*.log", Err: syscall.ENOSPC, Short: 80, Times: 1})
		faults.Fail(vfs.Rule{Op: op, Name: "*.log", Err: syscall.EIO, Times: 1})
		for range 2 {
			if err := l.Write(batch(l, 2), 0); !errors.Is(err, ErrSync) {
				t.Fatal(err)
			}
		}
		if err := l.Sync(); !errors.Is(err, ErrSync) {
			t.Error(err)
		}
	}
}

// The directory of a log may be its owner's work: the name of the first segment in it must last all the same, also when
// nothing else can be written there.
func TestTheNameOfTheFirstSegmentIsDurable(t *testing.T) {
	disk, _ := memory(t)
	must(t, disk.MkdirAll(dir))
	must(t, disk.SyncDir("data"))
	must(t, disk.SyncDir("."))
	faults := vfs.NewFaults(disk)
	faults.Fail(vfs.Rule{Op: vfs.OpCreate, Name: "*.tmp", Err: syscall.ENOSPC})
	l, _ := open(t, NewFiles(faults, 4), wide(), Recovery{})
	write(t, l, batch(l, 1))
	must(t, l.Sync())
	for seed := range uint64(20) {
		after, _ := open(t, NewFiles(disk.CrashClone(seed), 4), wide(), Recovery{})
		expect(t, "end after a crash", after.EndOffset(), 1)
	}
}

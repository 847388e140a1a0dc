package storage

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"syscall"
	"testing"

	"github.com/skeinstream/skein/broker/internal/record"
	"github.com/skeinstream/skein/internal/vfs"
)

// faulty is an empty log on a disk that can be made to fail.
func faulty(t *testing.T, cfg Config) (*Log, *vfs.Faults, *vfs.Memory) {
	disk, _ := memory(t)
	faults := vfs.NewFaults(disk)
	l, _ := open(t, NewFiles(faults, 4), cfg, Recovery{})
	return l, faults, disk
}

func TestAFailedWriteLeavesNoTrace(t *testing.T) {
	l, faults, disk := faulty(t, wide())
	write(t, l, batch(l, 1, 2, 3))
	must(t, l.Sync())
	lost := batchAt(3, 7, 7, 7)
	for _, short := range []int{0, 1, 70, -1} {
		stop := faults.Fail(vfs.Rule{Op: vfs.OpWrite, Name: "*.log", Err: syscall.ENOSPC, Short: short, Times: 1})
		if err := l.Write(lost, 0); !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
		stop()
		expect(t, "end", l.EndOffset(), 3)
		if got := bases(t, contents(t, l, 0, 1<<20)); !slices.Equal(got, []int64{0}) {
			t.Fatal(got)
		}
	}
	// What is written in its place is what a crash may show, not the lost batch.
	kept := batchAt(3, 8, 8, 8)
	write(t, l, kept)
	for seed := range uint64(50) {
		after, _ := open(t, NewFiles(disk.CrashClone(seed), 4), wide(), Recovery{DurableTo: 3})
		if after.EndOffset() > 3 && !bytes.Equal(contents(t, after, 3, 1<<20), kept) {
			t.Fatal("a batch that was refused is in the log, seed", seed)
		}
	}
	must(t, l.Sync())
	reopen(t, l)
}

func TestAFullDiskRefusesAndGoesOn(t *testing.T) {
	cfg := small()
	cfg.IndexInterval = 0
	l, faults, _ := faulty(t, cfg)
	var all oracle
	w := newWorkload(1)
	for i := range 400 {
		table, _ := all.producers()
		b := w.next(all.end(), table)
		stop := func() {}
		if i%5 == 4 { // anything may be what does not fit any more, but cutting a file needs no room
			stop = faults.Fail(vfs.Rule{Op: vfs.OpWrite | vfs.OpCreate, Skip: i % 3, Err: syscall.ENOSPC, Short: i % 90})
		}
		err := l.Write(b, 0)
		stop()
		if err == nil {
			all = append(all, b)
		} else if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
	}
	all.check(t, l)
	must(t, l.Sync())
	all.check(t, reopen(t, l))
}

// Batches that are durable stay so when the disk is too full for what is derived
// from them; the recovery point waits.
func TestSyncForgivesAFullDisk(t *testing.T) {
	l, faults, disk := faulty(t, small())
	fill(t, l, 40, 3)
	stop := faults.Fail(vfs.Rule{Op: vfs.OpWrite | vfs.OpCreate, Name: "*[xt]", Err: syscall.ENOSPC})
	must(t, l.Sync())
	expect(t, "recovery point", l.RecoveryPoint(), 0)
	if !errors.Is(l.Trouble(), syscall.ENOSPC) {
		t.Fatal(l.Trouble())
	}
	after, _ := open(t, NewFiles(disk.CrashClone(1), 4), small(), Recovery{})
	expect(t, "end after a crash", after.EndOffset(), 120)
	stop()
	must(t, l.Sync())
	expect(t, "recovery point", l.RecoveryPoint(), 120)
	must(t, l.Trouble())
}

func TestAFailedSyncIsFinal(t *testing.T) {
	for _, name := range []string{"*.log", "*.index", "*.timeindex", "*.txnindex", "*.snapshot", "*.tmp"} {
		t.Run(name, func(t *testing.T) {
			l, faults, _ := faulty(t, small())
			all := oracle{}
			for w := newWorkload(3); l.Segments() < 4; {
				table, _ := all.producers()
				all = append(all, w.next(all.end(), table))
				write(t, l, all[len(all)-1])
			}
			faults.Fail(vfs.Rule{Op: vfs.OpSync, Name: name, Err: syscall.EIO, Times: 1})
			if err := l.Sync(); !errors.Is(err, syscall.EIO) {
				t.Fatal(err)
			}
			if point := l.RecoveryPoint(); point > 0 {
				t.Fatal("the recovery point moved to", point)
			}
		})
	}
}

func TestWriteWantsTheNextOffset(t *testing.T) {
	l, _ := fresh(t, wide())
	write(t, l, batch(l, 1, 2))
	for _, b := range []record.Batch{batchAt(0, 1), batchAt(1, 1), batchAt(3, 1)} {
		if l.Write(b, 0) == nil {
			t.Fatal("a batch at the wrong offset was written")
		}
	}
	two := append(batchAt(2, 1), batchAt(3, 1)...)
	if err := l.Write(append(two, batchAt(3, 1)...), 0); err == nil {
		t.Fatal("a batch at the wrong offset was written")
	}
	expect(t, "end", l.EndOffset(), 4)
	if err := l.Write(two[:70], 0); !errors.Is(err, record.ErrTruncated) {
		t.Fatal(err)
	}
}

func TestAClosedLogRefuses(t *testing.T) {
	l, _ := fresh(t, wide())
	write(t, l, batch(l, 1))
	s, err := l.Read(0, 1, 100, true)
	must(t, err)
	must(t, l.Close())
	must(t, l.Close())
	_, readErr := l.Read(0, 1, 100, true)
	_, _, timeErr := l.OffsetForTime(0, 1)
	_, abortErr := l.AbortedTransactions(0, 1)
	_, deleteErr := l.DeleteOldSegments(0, 1)
	for _, err := range []error{readErr, timeErr, abortErr, deleteErr, l.Write(batchAt(1, 1), 0), l.Sync()} {
		if !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	}
	expect(t, "batches in a slice from before", len(bases(t, bytesOf(t, s))), 1)
}

func TestDeleteRemovesTheDirectory(t *testing.T) {
	l, fs := fresh(t, wide())
	write(t, l, batch(l, 1))
	s, err := l.Read(0, 1, 100, true)
	must(t, err)
	must(t, l.Delete())
	if _, err := fs.Stat(dir); !isNotExist(err) {
		t.Fatal(err)
	}
	l, _ = open(t, l.files, wide(), Recovery{}) // the same name again
	expect(t, "end of the new log", l.EndOffset(), 0)
	expect(t, "batches of the old one", len(bases(t, bytesOf(t, s))), 1)
}

func TestOpenCanBeCancelled(t *testing.T) {
	l, fs := fresh(t, small())
	fill(t, l, 20, 3)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := Open(ctx, NewFiles(fs, 4), dir, small(), Recovery{}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

package partition

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/skeinstream/skein/internal/vfs"
)

const (
	firstSegment = dataDir + "/t-0/00000000000000000000.log"
	versionAt    = 16 // of the first batch in a segment
)

// damaged is a disk with a partition whose first batch, durable in its segment, cannot be read, and whose others, from
// offset 2 up to 8, are in the write-ahead log alone.
func damaged(t *testing.T) *vfs.Memory {
	t.Helper()
	fs := vfs.NewMemory()
	w := newWorld(t, fs).start()
	p := w.create("t", 1).Partition(0)
	w.create("other", 1)
	w.appended(p, batch(2), 0)
	if err := w.committing.Checkpoint(context.Background(), w.syncSegments); err != nil {
		t.Fatal(err)
	}
	for i := range int32(3) {
		w.appended(p, from(7, 0, 2*i, 2), 0)
		w.appended(w.partition("other"), batch(1), 0)
	}
	crashed := fs.CrashClone(1)
	w.kill()
	flip(t, crashed, firstSegment, versionAt)
	return crashed
}

// mended undoes the damage and checks that every record is there.
func mended(t *testing.T, fs *vfs.Memory) {
	t.Helper()
	flip(t, fs, firstSegment, versionAt)
	w := newWorld(t, fs).start()
	p := w.partition("t")
	if p.Offline() != nil {
		t.Fatal(p.Offline())
	}
	if got := w.read(p, 0); len(got) < 4 || !slices.Equal(got[:4], []int64{0, 2, 4, 6}) {
		t.Fatalf("read %v", got)
	}
	if r := w.appended(p, from(7, 0, 4, 2), 0); r.BaseOffset != 6 || !r.Duplicate {
		t.Errorf("a duplicate: %+v", r)
	}
	if _, err := fs.Stat(filepath.Join(p.dir, rescuedFile)); err == nil {
		t.Error("what was rescued is still there")
	}
	w.restart()
	if got := w.read(w.partition("t"), 0); !slices.Equal(got[:4], []int64{0, 2, 4, 6}) {
		t.Fatalf("read %v", got)
	}
	w.stop()
}

// TestNothingOfAPartitionIsLostWhileItIsOffline: the write-ahead log is freed meanwhile, over several starts.
func TestNothingOfAPartitionIsLostWhileItIsOffline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := damaged(t)
		for range 3 {
			w := newWorld(t, fs).start()
			w.appended(w.partition("t"), batch(1), kerr.KafkaStorageError.Code)
			w.appended(w.partition("other"), batch(1), 0)
			w.settle(time.Second)
			w.stop()
			if left := frames(t, fs); left > 0 {
				t.Errorf("%d frames stay in the write-ahead log", left)
			}
		}
		mended(t, fs)
	})
}

// frames counts what the write-ahead log has.
func frames(t *testing.T, fs vfs.FS) (n int) {
	t.Helper()
	names, err := fs.List(filepath.Join(dataDir, walDir))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		b, err := vfs.ReadFile(fs, filepath.Join(dataDir, walDir, name))
		if err != nil {
			t.Fatal(err)
		}
		n += countFrames(b)
	}
	return n
}

func countFrames(b []byte) (n int) {
	for i := 0; i+4 < len(b); i++ {
		if string(b[i:i+4]) == "SKFR" {
			n++
		}
	}
	return n
}

// TestWhatCannotBeRescuedStaysInTheWriteAheadLog, as on a full disk.
func TestWhatCannotBeRescuedStaysInTheWriteAheadLog(t *testing.T) {
	for _, rule := range []vfs.Rule{
		{Op: vfs.OpCreate | vfs.OpWrite, Name: rescuedFile + ".tmp", Err: syscall.ENOSPC},
		{Op: vfs.OpRename, Name: rescuedFile + ".tmp", Err: syscall.ENOSPC},
		{Op: vfs.OpSync, Name: rescuedFile + ".tmp", Err: syscall.EIO},
	} {
		synctest.Test(t, func(t *testing.T) {
			fs := damaged(t)
			for range 2 {
				faults := vfs.NewFaults(fs)
				faults.Fail(rule)
				w := newWorld(t, faults).start()
				w.appended(w.partition("other"), batch(1), 0)
				w.settle(time.Second)
				w.stop()
			}
			mended(t, fs)
		})
	}
}

// TestCrashesWhileRecordsAreRescued at every change of the disk, and again while they are put back.
func TestCrashesWhileRecordsAreRescued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := damaged(t)
		crashes := eachCrash(disk, func(fs vfs.FS) {
			w := newWorld(t, fs).start()
			w.settle(time.Second)
			w.stop()
		})
		for i, crashed := range crashes {
			if i%stride != 0 {
				continue
			}
			fs := crashed.KillClone()
			mended(t, fs)
			if i%31 > 0 {
				continue
			}
			flip(t, crashed, firstSegment, versionAt)
			for j, again := range eachCrash(crashed, func(fs vfs.FS) {
				w := newWorld(t, fs).start()
				w.settle(time.Second)
				w.stop()
			}) {
				if (i+j)%5 == 0 {
					flip(t, again, firstSegment, versionAt) // mended undoes it
					mended(t, again)
				}
			}
		}
		t.Logf("%d crashes", len(crashes))
	})
}

// eachCrash is the disk as a crash leaves it before every change that do makes.
func eachCrash(disk *vfs.Memory, do func(vfs.FS)) (crashes []*vfs.Memory) {
	faults := vfs.NewFaults(disk)
	var mu sync.Mutex
	faults.BeforeMutation(func(n int, _ vfs.Op, _ string) {
		mu.Lock()
		defer mu.Unlock()
		crashes = append(crashes, disk.KillClone(), disk.CrashClone(uint64(n)), disk.CrashCloneTorn(uint64(n)))
	})
	do(faults)
	return crashes
}

// TestDamageBelowTheWriteAheadLogIsNotCut: where it goes on with a partition, everything before was durable. Batches of
// the direct road are acknowledged long before a checkpoint says so.
func TestDamageBelowTheWriteAheadLogIsNotCut(t *testing.T) {
	for n := range int64(2) {
		t.Run(fmt.Sprintf("batch %d", n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				large := batchOf(300<<10, 1)
				fs := vfs.NewMemory()
				w := newWorld(t, fs).start()
				p := w.create("t", 1).Partition(0)
				for range 2 {
					w.appended(p, slices.Clone(large), 0)
				}
				w.appended(p, batch(1), 0)
				crashed := fs.CrashClone(1)
				w.kill()
				flip(t, crashed, firstSegment, n*int64(len(large))+versionAt)
				before := content(t, crashed, firstSegment)
				w = newWorld(t, crashed).start()
				if w.partition("t").Offline() == nil {
					t.Errorf("online with a high watermark of %d", w.partition("t").HighWatermark())
				}
				w.stop()
				if content(t, crashed, firstSegment) != before {
					t.Error("the segment was changed")
				}
			})
		})
	}
}

// TestARepairGoesOnWithWhatWasRescued: the damaged batch is gone, and nothing else.
func TestARepairGoesOnWithWhatWasRescued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := damaged(t)
		for range 2 {
			w := newWorld(t, fs).start()
			w.settle(time.Second)
			w.stop()
		}
		if err := Examine(t.Context(), fs, dataDir, nil, true, func(x Examination) {
			if damaged := x.Name == "t-0"; damaged != x.Repaired || damaged != (x.Offline != nil) || x.Err != nil {
				t.Errorf("%s: repaired %v, offline %v, %v", x.Name, x.Repaired, x.Offline, x.Err)
			}
		}); err != nil {
			t.Fatal(err)
		}
		w := newWorld(t, fs).start()
		p := w.partition("t")
		if got := w.read(p, 0); !slices.Equal(got, []int64{2, 4, 6}) {
			t.Errorf("read %v, offline %v", got, p.Offline())
		}
		if r := w.appended(p, from(7, 0, 6, 1), 0); r.BaseOffset != 8 {
			t.Errorf("the producer goes on at %+v", r)
		}
		w.stop()
	})
}

// What was rescued may be damaged in its turn: a repair keeps what can be read of it, and its offsets are not given again.
func TestARepairOfWhatWasRescued(t *testing.T) {
	file := filepath.Join(dataDir, "t-0", rescuedFile)
	synctest.Test(t, func(t *testing.T) {
		fs := damaged(t)
		newWorld(t, fs).start().stop()
		flip(t, fs, firstSegment, versionAt) // only what was rescued is damaged from here on
		size := int64(len(content(t, fs, file)))
		each := size / 3 // offsets 2, 4 and 6
		for at := int64(0); at < size; at += 7 {
			if in := at % each; in < 8 || in >= 12 && in < 16 { // offset and leader epoch have no checksum
				continue
			}
			disk := fs.KillClone()
			flip(t, disk, file, at)
			names := map[string]Examination{}
			note := func(x Examination) { names[x.Name] = x }
			if err := Examine(t.Context(), disk, dataDir, nil, false, note); err != nil || !names["t-0"].Lost || names["t-0"].Offline == nil {
				t.Fatalf("byte %d: %+v, %v", at, names["t-0"], err)
			}
			if err := Examine(t.Context(), disk, dataDir, nil, true, note); err != nil || !names["t-0"].Repaired {
				t.Fatalf("byte %d: %+v, %v", at, names["t-0"], err)
			}
			w := newWorld(t, disk).start()
			p := w.partition("t")
			if p.Offline() != nil {
				t.Fatalf("byte %d: %v", at, p.Offline())
			}
			want := slices.Delete([]int64{0, 2, 4, 6}, int(1+at/each), int(2+at/each))
			if got := w.read(p, 0); !slices.Equal(got, want) {
				t.Fatalf("byte %d: read %v, want %v", at, got, want)
			}
			if r := w.appended(p, batch(1), 0); r.BaseOffset < 8 && at%each >= 61 {
				t.Errorf("byte %d: offset %d is given a second time", at, r.BaseOffset)
			}
			w.stop()
		}
	})
}

package partition

import (
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skeinstream/skein/broker/internal/catalog"
	"github.com/skeinstream/skein/internal/vfs"
)

// TestCheckpointsOfADeletedTopicDoNotMeetItsSuccessor: the files know names only. The crash comes when the catalog has the
// deletion and the files do not.
func TestCheckpointsOfADeletedTopicDoNotMeetItsSuccessor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := vfs.NewMemory()
		w := newWorld(t, fs).start()
		topic := w.create("t", 1)
		w.appended(topic.Partition(0), batch(9), 0)
		if start, code := topic.Partition(0).DeleteRecords(7); start != 7 || code != 0 {
			t.Fatal(start, code)
		}
		w.stop() // leaves a recovery point of 9 and a start of 7
		if err := w.open(); err != nil {
			t.Fatal(err)
		}
		table := w.Table
		w.Table = nil
		w.deleteTopic(topic)
		crashed := fs.CrashClone(1)
		w.Table = table
		w.run()
		w.kill()

		w = newWorld(t, crashed).start()
		w.appended(w.create("t", 1).Partition(0), batch(2), 0)
		crashed = crashed.CrashClone(2)
		w.kill()
		w = newWorld(t, crashed).start()
		p := w.partition("t")
		if at, code := p.Earliest(); code != 0 || at.Offset != 0 || p.HighWatermark() != 2 {
			t.Fatalf("code %d, starts at %d, high watermark %d, offline %v", code, at.Offset, p.HighWatermark(), p.Offline())
		}
		if got := w.read(p, 0); !slices.Equal(got, []int64{0}) {
			t.Errorf("read %v", got)
		}
		w.stop()
	})
}

// TestDeletionOnAFullDisk makes room instead of ending the broker, and still nothing of the old topic meets a new one.
func TestDeletionOnAFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := vfs.NewMemory()
		faults := vfs.NewFaults(disk)
		w := newWorld(t, faults).start()
		topic := w.create("t", 1)
		w.appended(topic.Partition(0), batch(9), 0)
		w.restart() // leaves a recovery point
		heal := faults.Fail(vfs.Rule{Op: vfs.OpWrite | vfs.OpCreate, Name: "*.tmp", Err: syscall.ENOSPC})
		w.deleteTopic(w.Topic("t"))
		fresh := w.create("t", 1)
		w.settle(2 * tidyInterval)
		select {
		case err := <-w.runs:
			t.Fatal(err)
		default:
		}
		heal()
		w.settle(2 * tidyInterval)
		w.appended(fresh.Partition(0), batch(2), 0)
		crashed := disk.CrashClone(1)
		w.stop()
		w = newWorld(t, crashed).start()
		if p := w.partition("t"); p.Offline() != nil || p.HighWatermark() != 2 {
			t.Errorf("offline %v, high watermark %d", p.Offline(), p.HighWatermark())
		}
		w.stop()
	})
}

// TestATopicMadeOnAFullDiskWorksOnceThereIsRoom without a restart.
func TestATopicMadeOnAFullDiskWorksOnceThereIsRoom(t *testing.T) {
	for _, rule := range []vfs.Rule{
		{Op: vfs.OpMkdir, Name: "t-?"},
		{Op: vfs.OpCreate | vfs.OpWrite, Name: metadataFile},
	} {
		synctest.Test(t, func(t *testing.T) {
			faults := vfs.NewFaults(vfs.NewMemory())
			w := newWorld(t, faults).start()
			rule.Err = syscall.ENOSPC
			heal := faults.Fail(rule)
			topic := w.create("t", 2)
			if topic.Partition(1).Offline() == nil {
				t.Error("it is online")
			}
			w.settle(2 * tidyInterval)
			heal()
			w.settle(2 * tidyInterval)
			w.appended(topic.Partition(1), batch(1), 0)
			w.restart()
			if got := w.read(w.Topic("t").Partition(1), 0); !slices.Equal(got, []int64{0}) {
				t.Errorf("read %v", got)
			}
			w.stop()
		})
	}
}

// TestOnlyDirectoriesOfDeletedTopicsAreDeleted: whatever else stands in the way is put aside, with all its files.
func TestOnlyDirectoriesOfDeletedTopicsAreDeleted(t *testing.T) {
	for _, when := range []string{"at the start", "at the creation"} {
		t.Run(when, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fs := vfs.NewMemory()
				w := newWorld(t, fs).start()
				if when == "at the start" {
					w.create("t", 1)
				}
				w.stop()
				stranger := catalog.ID{1, 2, 3}
				dir := filepath.Join(dataDir, "t-0")
				if err := fs.RemoveAll(dir); err != nil {
					t.Fatal(err)
				}
				put(t, fs, filepath.Join(dir, metadataFile), metadataHead+stranger.String()+"\n")
				put(t, fs, filepath.Join(dir, "precious"), "records")
				put(t, fs, filepath.Join(dataDir, "u-1.0123456789abcdef0123456789abcdef"+deleteSuffix, "precious"), "records")
				w = newWorld(t, fs).start()
				if when == "at the creation" {
					w.create("t", 1)
				}
				w.appended(w.partition("t"), batch(1), 0)
				w.settle(10 * time.Minute)
				kept := 0
				for _, name := range dirs(t, fs) {
					if got, err := vfs.ReadFile(fs, filepath.Join(dataDir, name, "precious")); err == nil && string(got) == "records" {
						kept++
					}
				}
				if kept != 2 {
					t.Errorf("%d of 2 directories are left: %q", kept, dirs(t, fs))
				}
				if !w.logs.has("t-0."+strings.ToLower("01020300")) || !w.logs.has("u-1.") {
					t.Error("they are not reported")
				}
				w.restart()
				if got := w.read(w.partition("t"), 0); !slices.Equal(got, []int64{0}) {
					t.Errorf("read %v", got)
				}
				w.stop()
			})
		})
	}
}

func put(t *testing.T, fs vfs.FS, name, content string) {
	t.Helper()
	if err := fs.MkdirAll(filepath.Dir(name)); err != nil {
		t.Fatal(err)
	}
	if err := vfs.WriteFile(fs, name, []byte(content)); err != nil {
		t.Fatal(err)
	}
}

// TestWhatACrashBringsBackOfADeletedTopicGoes: the catalog forgets a topic only when its files are durably gone.
func TestWhatACrashBringsBackOfADeletedTopicGoes(t *testing.T) {
	for seed := range uint64(30) {
		synctest.Test(t, func(t *testing.T) {
			fs := vfs.NewMemory()
			w := newWorld(t, fs).start()
			w.deleteTopic(w.create("t", 2, "file.delete.delay.ms", "0"))
			w.settle(time.Second)
			if n := len(w.catalog.Snapshot().Deleted()); n > 0 {
				t.Errorf("%d topics are remembered", n)
			}
			crashed := fs.CrashClone(seed)
			w.kill()
			w = newWorld(t, crashed).start()
			w.settle(time.Second)
			if got := dirs(t, crashed); len(got) > 0 {
				t.Errorf("seed %d: %q are left", seed, got)
			}
			w.stop()
		})
	}
}

// TestTheCatalogForgetsLater when it cannot be written now.
func TestTheCatalogForgetsLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := vfs.NewFaults(vfs.NewMemory())
		w := newWorld(t, faults).start()
		topic := w.create("t", 1, "file.delete.delay.ms", "1000")
		w.deleteTopic(topic)
		heal := faults.Fail(vfs.Rule{Op: vfs.OpWrite, Name: "catalog.log", Err: syscall.ENOSPC})
		w.settle(2 * buryAgain)
		heal()
		w.settle(2 * buryAgain)
		if n := len(w.catalog.Snapshot().Deleted()); n > 0 {
			t.Errorf("%d topics are remembered", n)
		}
		w.stop()
	})
}

// TestNoCleanEndWithAPartitionOffline: the next start would take its log as it is.
func TestNoCleanEndWithAPartitionOffline(t *testing.T) {
	inBubble(t, func(w *world) {
		w.start()
		w.create("t", 1)
		w.create("other", 1)
		w.appended(w.partition("t"), batch(2), 0)
		w.stop()
		flip(t, w.fs, filepath.Join(dataDir, "t-0", "00000000000000000000.log"), 16) // the version
		if err := w.fs.Remove(filepath.Join(dataDir, cleanFile)); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			w.start()
			if w.partition("t").Offline() == nil {
				t.Error("it is online")
			}
			if w.partition("other").Offline() != nil {
				t.Error("the other is offline")
			}
			w.stop()
		}
	})
}

// flip changes one bit of a file, durably.
func flip(t testing.TB, fs vfs.FS, name string, at int64) {
	t.Helper()
	f, err := fs.OpenFile(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, 1)
	if _, err := f.ReadAt(b, at); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 1
	if _, err := f.WriteAt(b, at); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
}

// TestAMissingDirectoryIsDamage when something in it was durable.
func TestAMissingDirectoryIsDamage(t *testing.T) {
	inBubble(t, func(w *world) {
		w.start()
		w.create("t", 1)
		w.appended(w.partition("t"), batch(2), 0)
		w.stop()
		if err := w.fs.RemoveAll(filepath.Join(dataDir, "t-0")); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			w.start()
			if w.partition("t").Offline() == nil {
				t.Errorf("it is online, and its high watermark is %d", w.partition("t").HighWatermark())
			}
			w.stop()
		}
	})
}

// TestAReplayedLogIsNotReplayedForEver: a checkpoint follows by itself.
func TestAReplayedLogIsNotReplayedForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := vfs.NewMemory()
		w := newWorld(t, fs).start()
		w.appended(w.create("t", 1).Partition(0), batch(2), 0)
		killed := fs.KillClone()
		w.kill()
		w = newWorld(t, killed).start()
		w.settle(time.Second)
		killed = killed.KillClone()
		w.kill()
		w = newWorld(t, killed)
		if err := w.open(); err != nil {
			t.Fatal(err)
		}
		p := w.partition("t")
		if got := w.read(p, 0); !slices.Equal(got, []int64{0}) {
			t.Errorf("read %v", got)
		}
		if p.log.RecoveryPoint() != 2 {
			t.Errorf("recovery point %d", p.log.RecoveryPoint())
		}
		w.run()
		w.stop()
	})
}

// TestWhatIsShownAfterAKillOutlivesAPowerCut: a batch of the direct road that was not synced when the broker was killed
// is there for readers of the next one, so it must stay.
func TestWhatIsShownAfterAKillOutlivesAPowerCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := vfs.NewMemory()
		faults := vfs.NewFaults(disk)
		w := newWorld(t, faults).start()
		p := w.create("t", 1).Partition(0)
		w.appended(p, batch(1), 0)
		var killed *vfs.Memory
		faults.BeforeMutation(func(_ int, op vfs.Op, name string) {
			if op == vfs.OpSync && filepath.Ext(name) == ".log" && killed == nil {
				killed = disk.KillClone()
			}
		})
		w.appended(p, batchOf(300<<10, 1), 0)
		w.kill()
		w = newWorld(t, killed)
		if err := w.open(); err != nil {
			t.Fatal(err)
		}
		shown := w.partition("t").HighWatermark()
		for seed := range uint64(20) {
			after := newWorld(t, killed.CrashClone(seed))
			if err := after.open(); err != nil {
				t.Fatal(err)
			}
			if got := after.partition("t").HighWatermark(); got < shown {
				t.Errorf("seed %d: %d was shown, now the log ends at %d", seed, shown, got)
			}
			after.run()
			after.stop()
		}
		w.run()
		w.stop()
	})
}

// TestRecordsDeletedUpToTheMiddleOfABatch: nothing of the segments is on the disk yet, so that the whole batch comes from
// the write-ahead log again.
func TestRecordsDeletedUpToTheMiddleOfABatch(t *testing.T) {
	for seed := range uint64(40) {
		synctest.Test(t, func(t *testing.T) {
			fs := vfs.NewMemory()
			w := newWorld(t, fs).start()
			p := w.create("t", 1, "segment.ms", "10").Partition(0)
			for range 4 {
				w.appended(p, batch(5), 0)
				w.settle(20 * time.Millisecond)
			}
			if start, code := p.DeleteRecords(12); start != 12 || code != 0 {
				t.Fatal(start, code)
			}
			if err := w.SaveStarts(); err != nil {
				t.Fatal(err)
			}
			crashed := fs.CrashClone(seed)
			w.kill()
			w = newWorld(t, crashed).start()
			p = w.partition("t")
			if p.Offline() != nil || p.HighWatermark() != 20 || p.StartOffset() != 12 {
				t.Fatalf("seed %d: offline %v, from %d to %d", seed, p.Offline(), p.StartOffset(), p.HighWatermark())
			}
			if got := w.read(p, 12); !slices.Equal(got, []int64{10, 15}) {
				t.Errorf("seed %d: read %v", seed, got)
			}
			w.stop()
		})
	}
}

// TestWhatIsKnownOfAnOfflineLogStaysKnown, also when the checkpoint file that says it cannot be read again: else the next
// start would take the damage for a torn end, and cut it.
func TestWhatIsKnownOfAnOfflineLogStaysKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := vfs.NewFaults(vfs.NewMemory())
		w := newWorld(t, faults).start()
		w.create("t", 1)
		w.appended(w.partition("t"), batch(2), 0)
		w.appended(w.partition("t"), batch(2), 0)
		w.stop()
		flip(t, faults, firstSegment, versionAt)
		if err := faults.Remove(filepath.Join(dataDir, cleanFile)); err != nil {
			t.Fatal(err)
		}
		before := content(t, faults, firstSegment)
		for range 3 {
			w.start()
			heal := faults.Fail(vfs.Rule{Op: vfs.OpOpen | vfs.OpRead, Name: "*-checkpoint", Err: syscall.EIO})
			if w.partition("t").Offline() == nil {
				t.Error("it is online")
			}
			w.stop()
			heal()
		}
		if content(t, faults, firstSegment) != before {
			t.Error("the segment was changed")
		}
	})
}

// TestADirectoryThatCannotBeReadKeepsNobodyFromStarting.
func TestADirectoryThatCannotBeReadKeepsNobodyFromStarting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := vfs.NewFaults(vfs.NewMemory())
		w := newWorld(t, faults).start()
		w.create("t", 1)
		w.stop()
		put(t, faults, filepath.Join(dataDir, "stray-0", metadataFile), "whatever")
		faults.Fail(vfs.Rule{Op: vfs.OpOpen, Name: dataDir + "/stray-0/*", Err: syscall.EIO})
		w.start()
		w.appended(w.partition("t"), batch(1), 0)
		if !w.logs.has("stray-0") {
			t.Error("it is not reported")
		}
		w.stop()
	})
}

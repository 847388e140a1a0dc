package partition

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/skeinstream/skein/broker/internal/catalog/catalogtest"
	"github.com/skeinstream/skein/internal/vfs"
)

// TestRestartKeepsEverything in every mode, after a clean end and after a kill, which leaves the page cache.
func TestRestartKeepsEverything(t *testing.T) {
	for _, mode := range []string{"always", "interval", "os"} {
		for _, end := range []string{"stop", "kill"} {
			t.Run(mode+" "+end, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					fs := vfs.NewMemory()
					w := newWorld(t, fs).start()
					p := w.create("t", 1, "skein.durability", mode).Partition(0)
					w.appended(p, from(7, 0, 0, 2), 0)
					w.appended(p, batch(3), 0)
					if end == "stop" {
						w.stop()
					} else {
						clone := fs.KillClone()
						w.kill()
						fs = clone
					}
					w = newWorld(t, fs).start()
					p = w.partition("t")
					if got := w.read(p, 0); !slices.Equal(got, []int64{0, 2}) || p.HighWatermark() != 5 {
						t.Errorf("read %v, high watermark %d", got, p.HighWatermark())
					}
					if r := w.appended(p, from(7, 0, 0, 2), 0); r.BaseOffset != 0 || !r.Duplicate {
						t.Errorf("a duplicate: %+v", r)
					}
					if r := w.appended(p, from(7, 0, 2, 1), 0); r.BaseOffset != 5 {
						t.Errorf("the next: %+v", r)
					}
					w.stop()
				})
			})
		}
	}
}

// TestPowerCutLosesNothingThatWasAnswered in mode always, whatever part of the un-synced writes survives.
func TestPowerCutLosesNothingThatWasAnswered(t *testing.T) {
	for seed := range uint64(40) {
		synctest.Test(t, func(t *testing.T) {
			fs := vfs.NewMemory()
			w := newWorld(t, fs).start()
			topic := w.create("t", 3)
			for range 4 {
				for _, p := range topic.Partitions() {
					w.appended(p, batch(2), 0)
				}
			}
			w.appended(topic.Partition(1), batchOf(300<<10, 1), 0) // by the direct road
			w.appended(topic.Partition(1), batch(1), 0)
			clone := fs.CrashCloneTorn(seed)
			w.kill()
			w = newWorld(t, clone).start()
			for i, want := range []int64{8, 10, 8} {
				if got := w.Topic("t").Partition(int32(i)).HighWatermark(); got != want {
					t.Errorf("seed %d: partition %d has high watermark %d, want %d", seed, i, got, want)
				}
				w.read(w.Topic("t").Partition(int32(i)), 0)
			}
			w.stop()
		})
	}
}

// TestCleanEndIsMarkedAndTheMarkGoes before anything can be written.
func TestCleanEndIsMarkedAndTheMarkGoes(t *testing.T) {
	inBubble(t, func(w *world) {
		marked := func() bool {
			_, err := w.fs.Stat(filepath.Join(dataDir, cleanFile))
			return err == nil
		}
		w.start()
		w.create("t", 1)
		w.appended(w.partition("t"), batch(1), 0)
		w.stop()
		if !marked() {
			t.Error("no mark after a clean end")
		}
		w.start()
		if marked() {
			t.Error("the mark is still there")
		}
		w.stop()
	})
}

// TestDeletedRecordsStayDeleted once SaveStarts has returned.
func TestDeletedRecordsStayDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := vfs.NewMemory()
		w := newWorld(t, fs).start()
		p := w.create("t", 1).Partition(0)
		w.appended(p, batch(4), 0)
		if start, code := p.DeleteRecords(3); start != 3 || code != 0 {
			t.Fatal(start, code)
		}
		if err := w.SaveStarts(); err != nil {
			t.Fatal(err)
		}
		clone := fs.CrashClone(1)
		w.kill()
		w = newWorld(t, clone).start()
		if at, _ := w.partition("t").Earliest(); at.Offset != 3 {
			t.Errorf("starts at %d", at.Offset)
		}
		w.stop()
	})
}

// TestHoleInTheLogTakesThePartitionOffline: records between the log and the write-ahead log are gone, so nothing is made up.
func TestHoleInTheLogTakesThePartitionOffline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := vfs.NewMemory()
		w := newWorld(t, fs).start()
		w.create("t", 1)
		w.create("other", 1)
		w.appended(w.partition("t"), batch(2), 0)
		if err := w.committing.Checkpoint(context.Background(), w.syncSegments); err != nil {
			t.Fatal(err)
		}
		w.appended(w.partition("t"), batch(2), 0)
		w.appended(w.partition("other"), batch(2), 0)
		clone := fs.KillClone()
		w.kill()
		for _, name := range []string{recoveryPointFile, "t-0/00000000000000000000.log"} {
			if err := clone.Remove(filepath.Join(dataDir, name)); err != nil {
				t.Fatal(err)
			}
		}
		w = newWorld(t, clone).start()
		p := w.partition("t")
		if p.Offline() == nil || !w.logs.has("a partition is offline") {
			t.Errorf("offline: %v", p.Offline())
		}
		w.appended(p, batch(1), kerr.KafkaStorageError.Code)
		if got := w.read(w.partition("other"), 0); !slices.Equal(got, []int64{0}) {
			t.Errorf("the other one: %v", got)
		}
		w.stop()
	})
}

// TestDamagedLogIsOffline and is left as it is; the others work.
func TestDamagedLogIsOffline(t *testing.T) {
	inBubble(t, func(w *world) {
		w.start()
		w.create("t", 1)
		w.create("other", 1)
		w.appended(w.partition("t"), batch(2), 0)
		w.stop()
		name := filepath.Join(dataDir, "t-0", "00000000000000000000.log")
		f, err := w.fs.OpenFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Truncate(40); err != nil {
			t.Fatal(err)
		}
		if err := w.fs.Remove(filepath.Join(dataDir, cleanFile)); err != nil {
			t.Fatal(err)
		}
		w.start()
		if w.partition("t").Offline() == nil {
			t.Error("it is online")
		}
		w.appended(w.partition("other"), batch(1), 0)
		w.stop()
	})
}

// TestCheckpointFilesHaveKafkasFormat.
func TestCheckpointFilesHaveKafkasFormat(t *testing.T) {
	inBubble(t, func(w *world) {
		w.start()
		w.create("with-dash", 2)
		w.appended(w.Topic("with-dash").Partition(1), batch(5), 0)
		if _, code := w.Topic("with-dash").Partition(1).DeleteRecords(2); code != 0 {
			t.Fatal(code)
		}
		w.stop()
		for name, want := range map[string]string{
			recoveryPointFile: "0\n1\nwith-dash 1 5\n",
			startOffsetFile:   "0\n1\nwith-dash 1 2\n",
			cleanedFile:       "0\n0\n",
		} {
			if got := content(t, w.fs, filepath.Join(dataDir, name)); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
		if got := content(t, w.fs, filepath.Join(dataDir, "with-dash-1", metadataFile)); !strings.HasPrefix(got, metadataHead) || !strings.HasSuffix(got, "\n") {
			t.Errorf("%s: %q", metadataFile, got)
		}
	})
}

func content(t *testing.T, fs vfs.FS, name string) string {
	t.Helper()
	b, err := vfs.ReadFile(fs, name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestParseOffsets(t *testing.T) {
	for _, text := range []string{"", "1\n0\n", "0\n", "0\n2\nt 0 1\n", "0\n1\nt 0\n", "0\n1\nt x 1\n", "0\n1\nt 0 -1\n", "0\n1\nt 0 1 2\n"} {
		if _, err := parseOffsets(text); err == nil {
			t.Errorf("%q was read", text)
		}
	}
	o, err := parseOffsets("0\n2\nt 0 1\na-b 12 345\n")
	if err != nil || o["t-0"] != 1 || o["a-b-12"] != 345 {
		t.Errorf("%v, %v", o, err)
	}
}

// TestDeletion: gone at once, the files after their delay, and then from the catalog.
func TestDeletion(t *testing.T) {
	inBubble(t, func(w *world) {
		w.start()
		topic := w.create("t", 2, "file.delete.delay.ms", "60000")
		p := topic.Partition(0)
		w.appended(p, batch(1), 0)
		r := p.Read(ReadOptions{MaxBytes: 1 << 20, LeaderEpoch: -1, LastFetchedEpoch: -1})
		w.deleteTopic(topic)
		if w.Topic("t") != nil || !p.Deleted() {
			t.Error("it is still there")
		}
		w.appended(p, batch(1), kerr.UnknownTopicOrPartition.Code)
		if _, err := r.Records.ReadAt(make([]byte, 10), 0); err != nil {
			t.Errorf("who was reading: %v", err)
		}
		r.Records.Release()
		if got := dirs(t, w.fs); len(got) != 2 || !strings.HasSuffix(got[0], deleteSuffix) {
			t.Errorf("directories %q", got)
		}
		w.settle(50 * time.Second)
		if len(dirs(t, w.fs)) != 2 || len(w.catalog.Snapshot().Deleted()) != 1 {
			t.Error("the files went too early")
		}
		w.settle(20 * time.Second)
		if got := dirs(t, w.fs); len(got) != 0 || len(w.catalog.Snapshot().Deleted()) != 0 {
			t.Errorf("directories %q, deleted topics %v", got, w.catalog.Snapshot().Deleted())
		}
		w.stop()
	})
}

// dirs are the partitions' directories.
func dirs(t *testing.T, fs vfs.FS) (found []string) {
	t.Helper()
	names, err := fs.List(dataDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if info, err := fs.Stat(filepath.Join(dataDir, name)); err == nil && info.Dir && name != walDir {
			found = append(found, name)
		}
	}
	return found
}

// TestRecreatedTopicIsEmpty, at once and after a restart: nothing of the old topic, also of its checkpoints, is taken for
// the new one's.
func TestRecreatedTopicIsEmpty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := vfs.NewMemory()
		w := newWorld(t, fs).start()
		old := w.create("t", 1)
		w.appended(old.Partition(0), batch(9), 0)
		w.restart() // leaves checkpoints behind
		w.deleteTopic(w.Topic("t"))
		fresh := w.create("t", 1)
		if fresh.ID == old.ID {
			t.Fatal("the id is the same")
		}
		w.appended(fresh.Partition(0), batch(2), 0)
		clone := fs.CrashClone(3)
		w.kill()
		w = newWorld(t, clone).start()
		p := w.partition("t")
		if p.Offline() != nil || p.HighWatermark() != 2 {
			t.Errorf("offline %v, high watermark %d", p.Offline(), p.HighWatermark())
		}
		w.stop()
	})
}

// TestCrashInTheMiddleOfADeletion: what a deleted topic has left under its old name goes after the restart.
func TestCrashInTheMiddleOfADeletion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := vfs.NewMemory()
		w := newWorld(t, fs).start()
		topic := w.create("t", 1)
		w.appended(topic.Partition(0), batch(2), 0)
		w.stop()
		// The catalog has the deletion, the partitions do not know yet.
		if err := w.open(); err != nil {
			t.Fatal(err)
		}
		table := w.Table
		w.Table = nil
		w.deleteTopic(topic)
		clone := fs.KillClone()
		w.Table = table
		w.run()
		w.kill()
		w = newWorld(t, clone).start()
		if w.Topic("t") != nil {
			t.Error("it is still there")
		}
		w.settle(time.Second)
		if got := dirs(t, clone); len(got) != 0 || len(w.catalog.Snapshot().Deleted()) != 0 {
			t.Errorf("directories %q, deleted topics %v", got, w.catalog.Snapshot().Deleted())
		}
		w.stop()
	})
}

func TestDirectoryOfNobodyIsReportedAndLeftAlone(t *testing.T) {
	inBubble(t, func(w *world) {
		if err := w.fs.MkdirAll(filepath.Join(dataDir, "stray-0")); err != nil {
			t.Fatal(err)
		}
		w.start()
		if !w.logs.has("stray-0") {
			t.Error("it is not reported")
		}
		if got := dirs(t, w.fs); !slices.Equal(got, []string{"stray-0"}) {
			t.Errorf("directories %q", got)
		}
		w.stop()
	})
}

func TestMorePartitions(t *testing.T) {
	inBubble(t, func(w *world) {
		w.start()
		topic := w.create("t", 1)
		first := topic.Partition(0)
		if err := catalogtest.AddPartitions(context.Background(), w.catalog, topic.ID, 3); err != nil {
			t.Fatal(err)
		}
		if topic.Partition(0) != first || topic.Partition(2) == nil || topic.Partition(3) != nil || topic.Partition(-1) != nil {
			t.Error("wrong partitions")
		}
		w.appended(topic.Partition(2), batch(1), 0)
		w.stop()
	})
}

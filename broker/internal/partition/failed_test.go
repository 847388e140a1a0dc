package partition

import (
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/skeinstream/skein/broker/internal/record"
	"github.com/skeinstream/skein/internal/vfs"
)

// TestAFailureLeavesTheAppendsBelowItUnderWay: a batch that is durable in the write-ahead log, but not in its segment yet,
// must be remembered when a later one fails, or its retry would be taken for news.
func TestAFailureLeavesTheAppendsBelowItUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := vfs.NewFaults(vfs.NewMemory())
		w := newWorld(t, faults).start()
		p := w.create("t", 1).Partition(0)
		healSegment := faults.Fail(vfs.Rule{Op: vfs.OpWrite | vfs.OpCreate, Name: "*.log", Err: syscall.ENOSPC})
		durable := send(p, from(7, 0, 0, 1))
		synctest.Wait()
		healLog := faults.Fail(vfs.Rule{Op: vfs.OpWrite, Name: "*.wal", Err: syscall.ENOSPC})
		p.stuck.Store(false) // as if those to come had come before the first attempt failed
		w.appended(p, from(7, 0, 1, 1), kerr.KafkaStorageError.Code)
		repeat, early := send(p, from(7, 0, 0, 1)), send(p, from(7, 0, 2, 1))
		synctest.Wait()
		if repeat.count() != 0 {
			t.Errorf("a repeat of a batch under way was answered: %+v", repeat.Result)
		}
		if early.Result.Code != kerr.OutOfOrderSequenceNumber.Code {
			t.Errorf("a batch behind the one that failed: %+v", early.Result)
		}
		w.appended(p, from(7, 0, 1, 1), kerr.KafkaStorageError.Code) // and again with a repeat that waits
		healLog()
		w.settle(2 * time.Second)                                                               // the committer tries again
		if r := w.appended(p, from(7, 0, 1, 1), kerr.KafkaStorageError.Code); r.Message == "" { // until the segment can be written
			t.Error("no word about the reason")
		}
		p.stuck.Store(false)
		next := send(p, from(7, 0, 1, 1))
		healSegment()
		w.settle(5 * time.Second)
		for name, f := range map[string]*waitFor{"the durable one": durable, "its repeat": repeat} {
			if f.count() != 1 || f.Result.Code != 0 || f.Result.BaseOffset != 0 {
				t.Errorf("%s: told %d times, %+v", name, f.count(), f.Result)
			}
		}
		if next.count() != 1 || next.Result.BaseOffset != 1 || next.Result.Duplicate {
			t.Errorf("the one that failed, again: %+v", next.Result)
		}
		if r := w.appended(p, from(7, 0, 1, 1), 0); !r.Duplicate || r.BaseOffset != 1 {
			t.Errorf("its repeat: %+v", r)
		}
		if got := w.read(p, 0); !slices.Equal(got, []int64{0, 1}) {
			t.Errorf("read %v", got)
		}
		if len(p.overlay.entries) != 0 || p.pending != 0 {
			t.Errorf("%d entries, %d appends stay pending", len(p.overlay.entries), p.pending)
		}
		w.stop()
	})
}

// TestAFailedSyncIsFatal whoever finds it, and in any mode.
func TestAFailedSyncIsFatal(t *testing.T) {
	for _, test := range []struct {
		name, mode, file string
		op               vfs.Op
		act              func(w *world, p *Partition)
	}{
		{"of a write taken back", "always", "*.log", vfs.OpSync, func(w *world, p *Partition) {
			w.fs.(*vfs.Faults).Fail(vfs.Rule{Op: vfs.OpWrite, Name: "*.log", Err: syscall.ENOSPC, Short: 70, Times: 1})
			send(p, batch(1))
		}},
		{"of a relaxed write taken back", "os", "*.log", vfs.OpSync, func(w *world, p *Partition) {
			w.fs.(*vfs.Faults).Fail(vfs.Rule{Op: vfs.OpWrite, Name: "*.log", Err: syscall.ENOSPC, Short: 70, Times: 1})
			send(p, batch(1))
		}},
		{"of a flush", "interval", "*.log", vfs.OpSync, func(w *world, p *Partition) {
			send(p, batch(1))
			w.settle(2 * time.Second)
		}},
		{"of the starts", "always", "*.tmp", vfs.OpSync, func(w *world, p *Partition) { _ = w.SaveStarts() }},
		{"of a directory", "always", "data", vfs.OpSyncDir, func(w *world, p *Partition) { _ = w.SaveStarts() }},
		{"of retention", "always", "*", vfs.OpSyncDir, func(w *world, p *Partition) {
			w.configure(p.topic, "retention.bytes", "0")
			w.settle(6 * time.Minute)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				faults := vfs.NewFaults(vfs.NewMemory())
				w := newWorld(t, faults).start()
				p := w.create("t", 1, "skein.durability", test.mode).Partition(0)
				w.appended(p, batch(1), 0)
				w.settle(2 * time.Second)
				faults.Fail(vfs.Rule{Op: test.op, Name: test.file, Err: syscall.EIO, Times: 1})
				test.act(w, p)
				synctest.Wait()
				select {
				case err := <-w.runs:
					if err == nil {
						t.Error("Run ended without an error")
					}
				default:
					t.Error("Run goes on")
				}
				if f := send(p, batch(1)); f.count() != 1 || f.Result.Code != kerr.KafkaStorageError.Code {
					t.Errorf("an append after it: told %d times, %+v", f.count(), f.Result)
				}
				if got := w.read(p, 0); !slices.Equal(got[:1], []int64{0}) {
					t.Errorf("read %v", got)
				}
				_ = w.Shutdown(t.Context())
				if _, err := faults.Stat(dataDir + "/" + cleanFile); err == nil {
					t.Error("the end is marked as clean")
				}
			})
		})
	}
}

// TestAnUnknownProducersSecondBatchDoesNotOvertakeItsFirst, which could not be written: not while the committer fails what
// it has, not on a full disk, and in no mode.
func TestAnUnknownProducersSecondBatchDoesNotOvertakeItsFirst(t *testing.T) {
	for _, mode := range []string{"always", "os"} {
		synctest.Test(t, func(t *testing.T) {
			faults := vfs.NewFaults(vfs.NewMemory())
			faults.FakeSpace(&vfs.Space{Total: 1 << 30, Free: 1 << 29})
			w := newWorld(t, faults).start()
			p := w.create("t", 1, "skein.durability", mode).Partition(0)
			heal := faults.Fail(vfs.Rule{Op: vfs.OpWrite, Name: map[string]string{"always": "*.wal", "os": "*.log"}[mode], Err: syscall.ENOSPC})
			w.appended(p, from(7, 0, 4, 1), kerr.KafkaStorageError.Code)
			heal()
			w.appended(p, from(7, 0, 5, 1), kerr.OutOfOrderSequenceNumber.Code)
			w.appended(p, from(7, 0, 4, 1), 0)
			w.appended(p, from(7, 0, 5, 1), 0)
			faults.FakeSpace(&vfs.Space{Total: 1 << 30, Free: 1})
			w.space.look()
			w.appended(p, from(8, 0, 0, 1), kerr.KafkaStorageError.Code)
			faults.FakeSpace(&vfs.Space{Total: 1 << 30, Free: 1 << 29})
			w.space.look()
			w.appended(p, from(8, 0, 1, 1), kerr.OutOfOrderSequenceNumber.Code)
			w.appended(p, from(8, 1, 1, 1), 0) // another epoch is another story
			if len(p.awaited) != 0 {
				t.Errorf("%d batches are awaited", len(p.awaited))
			}
			w.stop()
		})
	}
}

func TestAwaitedHasABound(t *testing.T) {
	var w awaited
	for id := range int64(3 * awaitedMax) {
		w.failed(record.Header{ProducerID: id})
	}
	if len(w) > awaitedMax {
		t.Errorf("%d producers are awaited", len(w))
	}
}

// TestARelaxedModeEndsBeforeAnybodyHearsOfIt: who has been told that the mode is always relies on it at once.
func TestARelaxedModeEndsBeforeAnybodyHearsOfIt(t *testing.T) {
	inBubble(t, func(w *world) {
		if err := w.open(); err != nil { // the housekeeper does not run yet
			t.Fatal(err)
		}
		topic := w.create("t", 1, "skein.durability", "os")
		p := topic.Partition(0)
		w.appended(p, batch(1), 0)
		w.configure(topic, "skein.durability", "always")
		parked := send(p, batch(1))
		if parked.count() != 0 {
			t.Errorf("an append was answered that is not on the disk: %+v", parked.Result)
		}
		w.configure(topic, "skein.durability", "os") // and back, before the change was made
		w.run()
		if parked.count() != 1 || parked.Result.BaseOffset != 1 {
			t.Errorf("told %d times, %+v", parked.count(), parked.Result)
		}
		w.appended(p, batch(1), 0)
		if !p.relaxed || p.changing {
			t.Errorf("relaxed %v, changing %v", p.relaxed, p.changing)
		}
		w.stop()
	})
}

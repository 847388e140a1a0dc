package partition

import (
	"context"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/skeinstream/skein/broker/internal/record"
	"github.com/skeinstream/skein/internal/vfs"
)

// TestAppendInEveryMode: offsets follow each other and what is answered can be read, whatever the durability.
func TestAppendInEveryMode(t *testing.T) {
	for _, mode := range []string{"always", "interval", "os"} {
		t.Run(mode, func(t *testing.T) {
			inBubble(t, func(w *world) {
				w.start()
				p := w.create("t", 1, "skein.durability", mode).Partition(0)
				for i := range int64(3) {
					r := w.appended(p, batch(2), 0)
					if r.BaseOffset != 2*i || r.LogAppendTime != -1 || r.StartOffset != 0 {
						t.Errorf("append %d: %+v", i, r)
					}
				}
				if p.HighWatermark() != 6 || p.LastStableOffset() != 6 {
					t.Errorf("high watermark %d, last stable offset %d, want 6", p.HighWatermark(), p.LastStableOffset())
				}
				if got := w.read(p, 0); !slices.Equal(got, []int64{0, 2, 4}) {
					t.Errorf("read %v", got)
				}
				w.stop()
			})
		})
	}
}

// TestAppendAfterCheck: what Check has found is not looked for again, and is of that one append alone.
func TestAppendAfterCheck(t *testing.T) {
	inBubble(t, func(w *world) {
		w.start()
		p := w.create("t", 1).Partition(0)
		expect := func(what string, a *waitFor, told int, want int16) {
			t.Helper()
			synctest.Wait()
			if a.count() != told || a.Result.Code != want {
				t.Errorf("%s: told %d times, %+v", what, a.count(), a.Result)
			}
		}
		torn := batch(1)
		torn[len(torn)-1] ^= 1
		a := &waitFor{}
		a.Records, a.Done = torn, a
		p.Check(&a.Append)
		torn[len(torn)-1] ^= 1 // mended too late
		p.Append(&a.Append)
		expect("damaged when it was checked", a, 1, kerr.CorruptMessage.Code)
		p.Append(&a.Append)
		expect("used again", a, 2, 0)
		a.Records = batch(1)
		p.Check(&a.Append)
		p.setState(offline, nil)
		p.Append(&a.Append)
		expect("offline", a, 3, kerr.KafkaStorageError.Code)
		p.setState(online, nil)
		torn[len(torn)-1] ^= 1
		a.Records = torn
		p.Append(&a.Append)
		expect("damaged, and not checked", a, 4, kerr.CorruptMessage.Code)
		w.stop()
	})
}

// TestLeaderEpochIsStamped: the epoch is this start's (T10).
func TestLeaderEpochIsStamped(t *testing.T) {
	inBubble(t, func(w *world) {
		w.start()
		w.create("t", 1)
		w.appended(w.partition("t"), batch(1), 0)
		w.restart()
		p := w.partition("t")
		w.appended(p, batch(1), 0)
		if p.LeaderEpoch() != 1 {
			t.Errorf("leader epoch %d after one restart", p.LeaderEpoch())
		}
		if epoch, end, code := p.EndOffsetForEpoch(-1, 0); epoch != 0 || end != 1 || code != 0 {
			t.Errorf("epoch 0 ended at %d of epoch %d, code %d", end, epoch, code)
		}
		if epoch, end, _ := p.EndOffsetForEpoch(1, 1); epoch != 1 || end != 2 {
			t.Errorf("the current epoch ends at %d of epoch %d", end, epoch)
		}
		w.stop()
	})
}

// TestHighWatermarkMovesOnlyToTheDurableOffset: before the commit round ends nothing is shown and nobody is answered.
func TestHighWatermarkMovesOnlyToTheDurableOffset(t *testing.T) {
	inBubble(t, func(w *world) {
		if err := w.open(); err != nil { // nothing commits yet
			t.Fatal(err)
		}
		p := w.create("t", 1).Partition(0)
		f := send(p, batch(3))
		if f.count() != 0 || p.HighWatermark() != 0 {
			t.Fatalf("told %d times, high watermark %d", f.count(), p.HighWatermark())
		}
		if got := w.read(p, 0); len(got) != 0 {
			t.Fatalf("read %v", got)
		}
		w.run()
		if f.count() != 1 || p.HighWatermark() != 3 {
			t.Errorf("told %d times, high watermark %d", f.count(), p.HighWatermark())
		}
		w.stop()
	})
}

// TestAnswersComeInOrderOfOffsets also within one commit round.
func TestAnswersComeInOrderOfOffsets(t *testing.T) {
	inBubble(t, func(w *world) {
		if err := w.open(); err != nil {
			t.Fatal(err)
		}
		p := w.create("t", 1).Partition(0)
		var order []int64
		for range 5 {
			f := &waitFor{order: &order}
			f.Records, f.Done = batch(1), f
			p.Append(&f.Append)
		}
		w.run()
		if !slices.Equal(order, []int64{0, 1, 2, 3, 4}) {
			t.Errorf("order %v", order)
		}
		w.stop()
	})
}

// TestDuplicate is T15: the answer is the original's, and not before the original is durable.
func TestDuplicate(t *testing.T) {
	inBubble(t, func(w *world) {
		if err := w.open(); err != nil {
			t.Fatal(err)
		}
		p := w.create("t", 1).Partition(0)
		first := from(7, 0, 0, 2)
		original := send(p, slices.Clone(first))
		second := send(p, from(7, 0, 2, 1))
		early := send(p, slices.Clone(first))
		if early.count() != 0 {
			t.Fatal("a duplicate was answered before its original was durable")
		}
		w.run()
		late := w.appended(p, slices.Clone(first), 0)
		h := record.Batch(first).Header()
		for name, r := range map[string]Result{"early": early.Result, "late": late} {
			if r.BaseOffset != 0 || r.LogAppendTime != h.MaxTimestamp || !r.Duplicate {
				t.Errorf("%s duplicate: %+v", name, r)
			}
		}
		if original.count() != 1 || second.Result.BaseOffset != 2 || p.HighWatermark() != 3 {
			t.Errorf("the originals: %+v, %+v", original.Result, second.Result)
		}
		w.stop()
	})
}

// TestSequencesOfPendingBatchesCount: the overlay knows what the log does not yet (T15, T16).
func TestSequencesOfPendingBatchesCount(t *testing.T) {
	inBubble(t, func(w *world) {
		if err := w.open(); err != nil {
			t.Fatal(err)
		}
		p := w.create("t", 1).Partition(0)
		send(p, from(7, 1, 0, 2))
		for _, test := range []struct {
			name string
			b    []byte
			code int16
		}{
			{"a gap", from(7, 1, 5, 1), kerr.OutOfOrderSequenceNumber.Code},
			{"an old epoch", from(7, 0, 2, 1), kerr.InvalidProducerEpoch.Code},
			{"a new epoch that does not begin at 0", from(7, 2, 2, 1), kerr.OutOfOrderSequenceNumber.Code},
		} {
			f := send(p, test.b)
			if f.Result.Code != test.code || f.Result.StartOffset != 0 || f.Result.BaseOffset != -1 {
				t.Errorf("%s: %+v, want code %d", test.name, f.Result, test.code)
			}
		}
		next := send(p, from(7, 2, 0, 1))
		w.run()
		if next.Result.Code != 0 || next.Result.BaseOffset != 2 {
			t.Errorf("a new epoch: %+v", next.Result)
		}
		if entries, _ := p.Producers(); len(entries) != 1 || entries[0].Epoch != 2 {
			t.Errorf("producers %+v", entries)
		}
		if len(p.overlay.entries) != 0 {
			t.Errorf("the overlay keeps %d entries", len(p.overlay.entries))
		}
		w.stop()
	})
}

func TestLogAppendTime(t *testing.T) {
	inBubble(t, func(w *world) {
		w.start()
		p := w.create("t", 1, "message.timestamp.type", "LogAppendTime").Partition(0)
		if r := w.appended(p, batch(1), 0); r.LogAppendTime != w.now() {
			t.Errorf("log append time %d, want %d", r.LogAppendTime, w.now())
		}
		w.stop()
	})
}

func TestRefusalNamesTheStartUnlessTheLogWasNotLookedAt(t *testing.T) {
	inBubble(t, func(w *world) {
		w.start()
		p := w.create("t", 1, "cleanup.policy", "compact").Partition(0)
		keyless := record.NewBuilder(0)
		keyless.Append(1, nil, []byte("v"))
		r := w.appended(p, keyless.Bytes(), kerr.InvalidRecord.Code)
		if r.StartOffset != 0 || len(r.Records) != 1 || r.Message == "" {
			t.Errorf("a keyless record (T18): %+v", r)
		}
		corrupt := batch(1)
		corrupt[len(corrupt)-1] ^= 1
		if r := w.appended(p, corrupt, kerr.CorruptMessage.Code); r.StartOffset != -1 {
			t.Errorf("a flipped bit (T14): %+v", r)
		}
		w.stop()
	})
}

// TestFullDiskFailsTheRoundAndServiceGoesOn: offsets, sequences and duplicates are as if the lost appends had never been.
func TestFullDiskFailsTheRoundAndServiceGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := vfs.NewFaults(vfs.NewMemory())
		w := newWorld(t, faults)
		if err := w.open(); err != nil {
			t.Fatal(err)
		}
		p := w.create("t", 1).Partition(0)
		heal := faults.Fail(vfs.Rule{Op: vfs.OpWrite, Name: "*.wal", Err: syscall.ENOSPC})
		first := from(7, 0, 0, 1)
		lost := []*waitFor{send(p, slices.Clone(first)), send(p, from(7, 0, 1, 1)), send(p, slices.Clone(first))}
		w.run()
		for i, f := range lost {
			if f.count() != 1 || f.Result.Code != kerr.KafkaStorageError.Code || f.Result.BaseOffset != -1 {
				t.Errorf("append %d: told %d times, %+v", i, f.count(), f.Result)
			}
		}
		heal()
		if r := w.appended(p, slices.Clone(first), 0); r.BaseOffset != 0 || r.Duplicate {
			t.Errorf("the retry: %+v", r)
		}
		if r := w.appended(p, from(7, 0, 1, 1), 0); r.BaseOffset != 1 {
			t.Errorf("the next: %+v", r)
		}
		if got := w.read(p, 0); !slices.Equal(got, []int64{0, 1}) {
			t.Errorf("read %v", got)
		}
		w.stop()
	})
}

// TestFailedSyncEndsRun: after it nobody knows what is on the disk.
func TestFailedSyncEndsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := vfs.NewFaults(vfs.NewMemory())
		w := newWorld(t, faults).start()
		p := w.create("t", 1).Partition(0)
		faults.Fail(vfs.Rule{Op: vfs.OpSync, Name: "*.wal", Err: syscall.EIO})
		f := send(p, batch(1))
		if err := <-w.runs; err == nil {
			t.Error("Run ended without an error")
		}
		if f.count() != 1 || f.Result.Code != kerr.KafkaStorageError.Code {
			t.Errorf("told %d times, %+v", f.count(), f.Result)
		}
		if g := send(p, batch(1)); g.Result.Code != kerr.KafkaStorageError.Code {
			t.Errorf("after it: %+v", g.Result)
		}
		if p.HighWatermark() != 0 {
			t.Errorf("high watermark %d", p.HighWatermark())
		}
		_ = w.Shutdown(context.Background())
		if _, err := faults.Stat(dataDir + "/" + cleanFile); err == nil {
			t.Error("the end is marked as clean")
		}
	})
}

// TestDiskReserve: writes are refused before the disk is full, reads go on, and writing resumes by itself.
func TestDiskReserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := vfs.NewFaults(vfs.NewMemory())
		faults.FakeSpace(&vfs.Space{Total: 1 << 30, Free: 1 << 29})
		w := newWorld(t, faults).start()
		p := w.create("t", 1).Partition(0)
		w.appended(p, batch(1), 0)
		faults.FakeSpace(&vfs.Space{Total: 1 << 30, Free: 1 << 20})
		w.settle(2 * spaceInterval)
		w.appended(p, batch(1), 0) // what is known is old, and this makes it be looked at
		w.settle(2 * spaceInterval)
		r := w.appended(p, batch(1), kerr.KafkaStorageError.Code)
		if r.BaseOffset != -1 || r.Message == "" {
			t.Errorf("%+v", r)
		}
		if got := w.read(p, 0); !slices.Equal(got, []int64{0, 1}) {
			t.Errorf("read %v", got)
		}
		faults.FakeSpace(&vfs.Space{Total: 1 << 30, Free: 1 << 29})
		w.settle(2 * spaceInterval)
		if r := w.appended(p, batch(1), 0); r.BaseOffset != 2 {
			t.Errorf("%+v", r)
		}
		w.stop()
	})
}

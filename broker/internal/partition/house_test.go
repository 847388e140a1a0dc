package partition

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skeinstream/skein/broker/internal/record"
	"github.com/skeinstream/skein/internal/vfs"
)

// wakeCount counts how often it is woken.
type wakeCount struct{ n int }

func (w *wakeCount) Wake() { w.n++ }

func TestWaitersWakeOncePerRound(t *testing.T) {
	inBubble(t, func(w *world) {
		w.start()
		p := w.create("t", 1).Partition(0)
		var count wakeCount
		waiter := &Waiter{Offset: 0, Waker: &count}
		if !p.Wait(waiter) {
			t.Fatal("there is nothing to read yet")
		}
		far := &Waiter{Offset: 100, Waker: &count}
		p.Wait(far)
		for range 3 {
			send(p, batch(1))
		}
		synctest.Wait()
		if count.n != 1 {
			t.Errorf("woken %d times", count.n)
		}
		if p.Wait(&Waiter{Offset: 2, Waker: &count}) {
			t.Error("waits though there is something to read")
		}
		p.Unwait(waiter) // was taken out already
		p.Unwait(far)
		if p.waiters.first != nil {
			t.Error("somebody still waits")
		}
		w.stop()
	})
}

// TestManyWaiters: all of them, and those in the middle of the list can leave.
func TestManyWaiters(t *testing.T) {
	inBubble(t, func(w *world) {
		w.start()
		p := w.create("t", 1).Partition(0)
		counts, waiters := make([]wakeCount, 20), make([]Waiter, 20)
		for i := range waiters {
			waiters[i] = Waiter{Offset: int64(i % 2), Committed: i%3 == 0, Waker: &counts[i]}
			p.Wait(&waiters[i])
		}
		for _, i := range []int{0, 7, 19} {
			p.Unwait(&waiters[i])
		}
		w.appended(p, batch(1), 0)
		for i, c := range counts {
			if want := i%2 == 0 && i != 0; (c.n == 1) != want {
				t.Errorf("waiter %d was woken %d times", i, c.n)
			}
		}
		w.deleteTopic(w.Topic("t"))
		if p.waiters.first != nil || counts[1].n != 1 {
			t.Error("deletion did not wake everybody")
		}
		if p.Wait(&Waiter{Waker: &counts[0]}) {
			t.Error("one can wait for a deleted partition")
		}
		w.stop()
	})
}

// TestRetentionDeletesOldSegments and the start offset follows.
func TestRetentionDeletesOldSegments(t *testing.T) {
	inBubble(t, func(w *world) {
		w.static["log.retention.check.interval.ms"] = "60000"
		w.start()
		p := w.create("t", 1, "retention.ms", "3600000", "segment.ms", "600000").Partition(0)
		for range 4 {
			w.appended(p, batch(1), 0)
			w.settle(20 * time.Minute)
		}
		w.settle(5 * time.Minute)
		at, _ := p.Earliest()
		if at.Offset == 0 || p.HighWatermark() != 4 {
			t.Errorf("starts at %d, high watermark %d", at.Offset, p.HighWatermark())
		}
		w.stop()
	})
}

// TestDeletedRecordsLeaveTheDisk with the next round of retention.
func TestDeletedRecordsLeaveTheDisk(t *testing.T) {
	inBubble(t, func(w *world) {
		w.static["log.retention.check.interval.ms"] = "60000"
		w.start()
		p := w.create("t", 1, "segment.ms", "1000", "file.delete.delay.ms", "1000").Partition(0)
		for range 3 {
			w.appended(p, batch(1), 0)
			w.settle(2 * time.Second)
		}
		before := p.Size()
		if _, code := p.DeleteRecords(2); code != 0 {
			t.Fatal(code)
		}
		w.settle(2 * time.Minute)
		if after := p.Size(); after >= before {
			t.Errorf("%d bytes, %d before", after, before)
		}
		w.stop()
	})
}

// TestCompaction is P7.13: a cleaner that works within seconds.
func TestCompaction(t *testing.T) {
	inBubble(t, func(w *world) {
		w.static["log.cleaner.backoff.ms"] = "1000"
		w.start()
		p := w.create("t", 1, "cleanup.policy", "compact", "segment.ms", "500", "min.cleanable.dirty.ratio", "0.01").Partition(0)
		for i := range 6 {
			b := record.NewBuilder(0).Append(time.Now().UnixMilli(), []byte{byte('a' + i%2)}, []byte("v"))
			w.appended(p, b.Bytes(), 0)
			w.settle(time.Second)
		}
		w.settle(5 * time.Second)
		if got := w.read(p, 0); !slices.Equal(got, []int64{3, 4, 5}) {
			t.Errorf("read %v, want the last of each key and the active segment", got)
		}
		if p.cleaned.Load() == 0 || content(t, w.fs, dataDir+"/"+cleanedFile) == "0\n0\n" {
			t.Error("what is clean is not recorded")
		}
		w.restart()
		if w.partition("t").cleaned.Load() == 0 {
			t.Error("what is clean was forgotten")
		}
		w.stop()
	})
}

func TestProducersExpire(t *testing.T) {
	inBubble(t, func(w *world) {
		w.static["producer.id.expiration.ms"] = "60000"
		w.start()
		p := w.create("t", 1).Partition(0)
		w.appended(p, from(7, 0, 0, 1), 0)
		w.settle(11 * time.Minute)
		if entries, _ := p.Producers(); len(entries) != 0 {
			t.Errorf("%d producers are remembered", len(entries))
		}
		w.stop()
	})
}

func TestSettingsOfATopicReachItsPartitions(t *testing.T) {
	inBubble(t, func(w *world) {
		w.start()
		topic := w.create("t", 1)
		w.configure(topic, "retention.ms", "5", "max.message.bytes", "10")
		if got := topic.Partition(0).log.Config().RetentionMs; got != 5 {
			t.Errorf("retention.ms is %d in the log", got)
		}
		w.appended(topic.Partition(0), batch(1), 10) // MESSAGE_TOO_LARGE
		w.stop()
	})
}

// TestCheckpointLetsTheLogGo: after it a restart has nothing to replay.
func TestCheckpointLetsTheLogGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := vfs.NewMemory()
		w := newWorld(t, fs).start()
		p := w.create("t", 1).Partition(0)
		w.appended(p, batch(3), 0)
		if err := w.committing.Checkpoint(t.Context(), w.syncSegments); err != nil {
			t.Fatal(err)
		}
		if got := p.log.RecoveryPoint(); got != 3 {
			t.Errorf("recovery point %d", got)
		}
		if got := content(t, fs, dataDir+"/"+recoveryPointFile); got != "0\n1\nt 0 3\n" {
			t.Errorf("%q", got)
		}
		w.stop()
	})
}

// TestDurationsWithoutEnd: the largest ones that settings take must not come around to the past.
func TestDurationsWithoutEnd(t *testing.T) {
	inBubble(t, func(w *world) {
		const ever = "9223372036854775807"
		for _, name := range []string{"log.retention.check.interval.ms", "skein.durability.interval.ms", "log.cleaner.backoff.ms", "log.retention.ms"} {
			w.static[name] = ever
		}
		w.start()
		kept := w.create("t", 1, "file.delete.delay.ms", ever, "skein.durability", "interval", "segment.ms", ever)
		p := kept.Partition(0)
		w.appended(p, batch(1), 0)
		w.deleteTopic(kept)
		w.settle(24 * time.Hour) // does not return while something spins
		if n := len(w.catalog.Snapshot().Deleted()); n != 1 {
			t.Errorf("%d topics wait for the removal of their files, want one for ever", n)
		}
		w.stop()
	})
}

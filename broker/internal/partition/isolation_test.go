package partition

import (
	"testing"
	"testing/synctest"

	"github.com/skeinstream/skein/broker/internal/record"
)

// write puts a batch of a coordinator or a transaction into the log, as an atomic group will.
func (w *world) write(p *Partition, b []byte) int64 {
	w.t.Helper()
	var woken wakes
	p.mu.Lock()
	base := p.next
	record.PatchOffset(b, base, p.epoch)
	err := p.log.Write(b, p.table.now())
	p.next = p.log.EndOffset()
	p.advance(p.next, &woken)
	p.mu.Unlock()
	woken.wake()
	if err != nil {
		w.t.Fatal(err)
	}
	return base
}

func transactional(producer int64, sequence int32) []byte {
	b := record.NewBuilder(0)
	b.ProducerID, b.ProducerEpoch, b.BaseSequence, b.Transactional = producer, 0, sequence, true
	return b.Append(1, []byte("k"), []byte("v")).Bytes()
}

func (w *world) readAs(p *Partition, offset int64, committed bool) ReadResult {
	r := p.Read(ReadOptions{Offset: offset, MaxBytes: 1 << 20, Committed: committed, LeaderEpoch: -1, LastFetchedEpoch: -1})
	r.Records.Release()
	return r
}

// TestLastStableOffset is min(first open transaction, high watermark); committed readers stop there, wake there, and get
// the aborted transactions that overlap what they read, by first offset (T23). Control batches travel.
func TestLastStableOffset(t *testing.T) {
	inBubble(t, func(w *world) {
		w.start()
		p := w.create("t", 1, "skein.durability", "os").Partition(0)
		w.appended(p, batch(1), 0)      // 0
		w.write(p, transactional(8, 0)) // 1
		w.write(p, transactional(9, 0)) // 2
		w.appended(p, batch(1), 0)      // 3
		w.write(p, abortMarker(9))      // 4
		if p.LastStableOffset() != 1 || p.HighWatermark() != 5 {
			t.Fatalf("last stable offset %d, high watermark %d", p.LastStableOffset(), p.HighWatermark())
		}
		if r := w.readAs(p, 0, true); r.Records.End != 1 || len(r.Aborted) != 0 {
			t.Errorf("committed, while one is open: to %d, aborted %v", r.Records.End, r.Aborted)
		}
		if r := w.readAs(p, 0, false); r.Records.End != 5 || r.Aborted != nil {
			t.Errorf("uncommitted: to %d, aborted %v", r.Records.End, r.Aborted)
		}
		if at, _ := p.Latest(true); at.Offset != 1 {
			t.Errorf("latest for committed readers: %d", at.Offset)
		}
		var all, committed wakeCount
		for _, waiter := range []*Waiter{{Offset: 5, Waker: &all}, {Offset: 1, Committed: true, Waker: &committed}} {
			if !p.Wait(waiter) {
				t.Fatal("there is nothing to read yet")
			}
		}
		w.appended(p, batch(1), 0) // 5
		if all.n != 1 || committed.n != 0 {
			t.Errorf("behind an open transaction: %d and %d woken", all.n, committed.n)
		}
		w.write(p, abortMarker(8)) // 6
		synctest.Wait()
		if committed.n != 1 || p.LastStableOffset() != 7 {
			t.Errorf("%d woken, last stable offset %d", committed.n, p.LastStableOffset())
		}
		r := w.readAs(p, 0, true)
		if r.Records.End != 7 || len(r.Aborted) != 2 || r.Aborted[0].FirstOffset != 1 || r.Aborted[1].FirstOffset != 2 || r.Aborted[0].ProducerID != 8 {
			t.Errorf("to %d, aborted %+v", r.Records.End, r.Aborted)
		}
		if r := w.readAs(p, 3, true); len(r.Aborted) != 2 {
			t.Errorf("from inside of both: aborted %+v", r.Aborted)
		}
		if r := w.readAs(p, 5, true); len(r.Aborted) != 1 || r.Aborted[0].ProducerID != 8 {
			t.Errorf("from behind the first to end: aborted %+v", r.Aborted)
		}
		w.restart()
		p = w.partition("t")
		if r := w.readAs(p, 0, true); len(r.Aborted) != 2 || p.LastStableOffset() != 7 {
			t.Errorf("after a restart: aborted %+v, last stable offset %d", r.Aborted, p.LastStableOffset())
		}
		w.stop()
	})
}

func abortMarker(producer int64) []byte {
	return record.ControlMarker(record.Abort, producer, 0, 0, 1)
}

// TestOpenTransactionSurvivesARestart: nobody has ended it, so committed readers still stop before it.
func TestOpenTransactionSurvivesARestart(t *testing.T) {
	inBubble(t, func(w *world) {
		w.start()
		p := w.create("t", 1, "skein.durability", "os").Partition(0)
		w.appended(p, batch(2), 0)
		w.write(p, transactional(8, 0))
		w.restart()
		p = w.partition("t")
		if p.LastStableOffset() != 2 || p.HighWatermark() != 3 {
			t.Errorf("last stable offset %d, high watermark %d", p.LastStableOffset(), p.HighWatermark())
		}
		if _, code := p.DeleteRecords(-1); code != 0 || p.LastStableOffset() != 3 {
			t.Errorf("after its records were deleted: code %d, last stable offset %d", code, p.LastStableOffset())
		}
		w.stop()
	})
}

//go:build synctests

package consumer

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

func TestSeek(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 2)
		w.writes("t", 0, 10)
		cfg := w.config()
		cfg.MaxPollRecords = 4
		r := w.reader(cfg, tp("t", 0), tp("t", 1))
		if b, err := r.Poll(context.Background()); b.Len() != 4 || err != nil { // the rest is held
			t.Errorf("%d records, %v", b.Len(), err)
		}
		w.ok(r.Seek(tp("t", 0), 8))
		if o, ok := r.Position(tp("t", 0)); o.At != 8 || !ok {
			t.Errorf("position %+v %v", o, ok)
		}
		r.expect("t", 0, 8, 10)
		w.ok(r.Seek(tp("t", 0), 7))
		r.expect("t", 0, 7, 10)
		ctx := context.Background()
		w.ok(r.SeekToBeginning(ctx, tp("t", 0)))
		r.expect("t", 0, 0, 10)
		w.ok(r.SeekToBeginning(ctx))
		w.ok(r.SeekToEnd(ctx))
		r.expect("t", 0, 0, 0)
		w.writes("t", 1, 2)
		r.expect("t", 1, 0, 2)
		if err := r.Seek(tp("u", 0), 1); !errors.Is(err, ErrNotOwned) {
			t.Errorf("seeking in a partition of somebody else: %v", err)
		}
		if err := r.Seek(tp("t", 0), -1); err == nil {
			t.Error("sought an offset below 0")
		}
		r.ends()
	})
}

// TestACommitAfterASeekIsOfTheNewPosition: as Kafka's own consumer has it.
func TestACommitAfterASeekIsOfTheNewPosition(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 1)
		w.writes("t", 0, 10)
		r := w.reader(w.config(), tp("t", 0))
		r.expect("t", 0, 0, 10)
		w.ok(r.Seek(tp("t", 0), 3))
		ctx := context.Background()
		w.ok(r.Commit(ctx))
		if got, err := r.Committed(ctx); err != nil || got[tp("t", 0)].At != 3 {
			t.Errorf("committed %v, %v", got, err)
		}
		r.ends()
	})
}

// TestSeekInTheAssignedCallback: the usual place for offsets that are kept elsewhere.
func TestSeekInTheAssignedCallback(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 1)
		w.writes("t", 0, 10)
		cfg := w.config()
		var m *member
		ready := make(chan struct{})
		cfg.Listener.Assigned = func(_ context.Context, r Rebalance) error {
			<-ready
			for _, p := range r.Partitions {
				w.ok(m.Seek(p, 6))
			}
			return nil
		}
		m = w.member("a", cfg, "t")
		close(ready)
		pass(10 * time.Second)
		if m.count() != 4 {
			t.Errorf("handled %d records, want the 4 from 6 on", m.count())
		}
		m.close()
	})
}

func TestAPauseKeepsRecordsBack(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 2)
		w.writes("t", 0, 6)
		cfg := w.config()
		cfg.MaxPollRecords = 2
		r := w.reader(cfg, tp("t", 0), tp("t", 1))
		if b, err := r.Poll(context.Background()); b.Len() != 2 || err != nil {
			t.Errorf("%d records, %v", b.Len(), err)
		}
		r.Pause(tp("t", 0), tp("u", 7)) // FR-D6: what is not owned is passed over
		if got := r.Paused(); !slices.Equal(got, []TopicPartition{tp("t", 0)}) {
			t.Errorf("paused %v", got)
		}
		w.writes("t", 1, 2)
		w.writes("t", 0, 1) // its value is that of the first again
		r.expect("t", 1, 0, 2)
		w.ok(r.Seek(tp("t", 0), 3)) // it stays paused
		r.expect("t", 1, 0, 0)
		r.Resume(tp("t", 0))
		want := []string{"t-0 #3", "t-0 #4", "t-0 #5", "t-0 #0"}
		if got := r.reads(10 * time.Second); !slices.Equal(got, want) {
			t.Errorf("after the pause came %q, want %q", got, want)
		}
		if got := r.Paused(); len(got) > 0 {
			t.Errorf("paused %v", got)
		}
		r.ends()
	})
}

// TestResumeIsNoticedByAPollThatWaits: its records may have been there before.
func TestResumeIsNoticedByAPollThatWaits(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 1)
		w.writes("t", 0, 4)
		cfg := w.config()
		cfg.MaxPollRecords = 2
		r := w.reader(cfg, tp("t", 0))
		if b, err := r.Poll(context.Background()); b.Len() != 2 || err != nil {
			t.Errorf("%d records, %v", b.Len(), err)
		}
		r.Pause(tp("t", 0))
		polled := make(chan Batch)
		go func() {
			b, err := r.Poll(context.Background())
			w.ok(err)
			polled <- b
		}()
		pass(time.Second)
		began := time.Now()
		r.Resume(tp("t", 0))
		if b := <-polled; b.Len() != 2 || time.Since(began) > time.Second {
			t.Errorf("%d records after %v", b.Len(), time.Since(began))
		}
		r.ends()
	})
}

// TestPausesInARebalance: FR-D4, FR-D5, R-B5. What is kept stays paused, what goes away and comes back is not.
func TestPausesInARebalance(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 4)
		a := w.member("a", w.config(), "t")
		pass(5 * time.Second)
		all := a.Assignment()
		a.Pause(all...)
		b := w.member("b", w.config(), "t")
		pass(20 * time.Second)
		kept := a.Assignment()
		if got := a.Paused(); len(kept) != 2 || !slices.Equal(got, kept) {
			t.Errorf("paused %v, kept %v", got, kept)
		}
		b.close()
		pass(20 * time.Second)
		if got := a.Paused(); !slices.Equal(got, kept) || len(a.Assignment()) != 4 {
			t.Errorf("paused %v, kept %v", got, kept)
		}
		for p := range int32(4) {
			w.writes("t", p, 5)
		}
		pass(5 * time.Second)
		if a.count() != 10 {
			t.Errorf("%d records came, want those of the 2 partitions that have come back", a.count())
		}
		a.Resume(all...)
		pass(10 * time.Second)
		if a.count() != 20 {
			t.Errorf("%d records came, want all", a.count())
		}
		a.close()
	})
}

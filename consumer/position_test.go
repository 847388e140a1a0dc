//go:build synctests

package consumer

import (
	"context"
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

func (w *world) deletesBefore(topic string, partition int32, at int64) {
	w.t.Helper()
	var offsets kadm.Offsets
	offsets.AddOffset(topic, partition, at, -1)
	resp, err := kadm.NewClient(w.admin).DeleteRecords(context.Background(), offsets)
	if err == nil {
		err = resp.Error()
	}
	w.ok(err)
}

// lags compares what the consumer knows, and what the brokers say.
func (r reader) lags(p TopicPartition, known, asked int64) {
	r.w.t.Helper()
	if lag, ok := r.Lag(p); lag != known || !ok {
		r.w.t.Errorf("lag %d %v, want %d", lag, ok, known)
	}
	if all, err := r.Lags(context.Background(), p); err != nil || all[p] != asked {
		r.w.t.Errorf("asked for the lag: %v, %v, want %d", all, err, asked)
	}
}

func TestLag(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 1)
		w.writes("t", 0, 10)
		cfg := w.config()
		cfg.MaxPollRecords = 4
		r := w.reader(cfg, tp("t", 0))
		if lag, ok := r.Lag(tp("t", 0)); ok {
			t.Errorf("a lag of %d is known before anything has come", lag)
		}
		_, err := r.Poll(context.Background())
		w.ok(err)
		r.lags(tp("t", 0), 6, 6)
		w.writes("t", 0, 3)
		r.lags(tp("t", 0), 6, 9)
		w.deletesBefore("t", 0, 12) // what is not there any more is nothing that one is behind by (FR-C18)
		r.lags(tp("t", 0), 6, 1)
		if _, ok := r.Lag(tp("t", 7)); ok {
			t.Error("a lag of a partition that is not owned")
		}
		r.ends()
	})
}

// TestAnOpenTransactionIsNoLag: what cannot be read yet is nothing to be behind by (FR-C18).
func TestAnOpenTransactionIsNoLag(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 1)
		w.writes("t", 0, 4)
		open := w.transaction("t", 5)
		cfg := w.config()
		cfg.Group, cfg.ReadCommitted, cfg.MaxPollRecords = "", true, 1
		committed := w.reader(cfg, tp("t", 0))
		cfg.ReadCommitted = false
		all := w.reader(cfg, tp("t", 0))
		for _, r := range []reader{committed, all} {
			_, err := r.Poll(context.Background())
			w.ok(err)
		}
		committed.lags(tp("t", 0), 3, 3)
		all.lags(tp("t", 0), 8, 8)
		if ends, err := committed.EndOffsets(context.Background(), tp("t", 0)); err != nil || ends[tp("t", 0)] != 4 {
			t.Errorf("the end is at %v, %v", ends, err)
		}
		w.ok(open.EndTransaction(context.Background(), kgo.TryCommit))
		open.Close()
		if lags, err := committed.Lags(context.Background()); err != nil || lags[tp("t", 0)] != 9 { // 8 records and the marker
			t.Errorf("after the commit: %v, %v", lags, err)
		}
		committed.count(8)
		committed.lags(tp("t", 0), 0, 0) // the marker is passed over
		committed.ends()
		all.ends()
	})
}

// count reads until nothing more comes.
func (r reader) count(n int) {
	r.w.t.Helper()
	if got := r.reads(10 * time.Second); len(got) != n {
		r.w.t.Errorf("got %q, want %d", got, n)
	}
}

func TestPositionAndCommitted(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 2)
		w.writes("t", 0, 5)
		ctx := context.Background()
		cfg := w.config()
		cfg.ManualCommit = true
		r := w.reader(cfg, tp("t", 0), tp("t", 1))
		r.expect("t", 0, 0, 5)
		if o, ok := r.Position(tp("t", 0)); !ok || o.At != 5 || o.LeaderEpoch < 0 { // FR-C19
			t.Errorf("position %+v %v", o, ok)
		}
		if _, ok := r.Position(tp("u", 0)); ok {
			t.Error("a position of a partition that is not owned")
		}
		w.ok(r.CommitOffsets(ctx, Offsets{tp("t", 0): {At: 3, LeaderEpoch: 0, Metadata: "half"}}))
		got, err := r.Committed(ctx)
		if want := (Offsets{tp("t", 0): {At: 3, LeaderEpoch: 0, Metadata: "half"}}); err != nil || !maps.Equal(got, want) {
			t.Errorf("committed %v, %v", got, err)
		}
		r.ends()
		lags, err := func() (map[TopicPartition]int64, error) { // of a consumer that owns nothing
			c, err := New(w.config())
			w.ok(err)
			defer func() { w.ok(c.Close(ctx)) }()
			return c.Lags(ctx, tp("t", 0), tp("t", 1))
		}()
		if want := map[TopicPartition]int64{tp("t", 0): 2}; err != nil || !maps.Equal(lags, want) {
			t.Errorf("lags %v, %v, want %v", lags, err, want)
		}
	})
}

func TestCommittedWithoutAGroup(t *testing.T) {
	inBubble(t, func(w *world) {
		cfg := w.config()
		cfg.Group = ""
		r := w.reader(cfg)
		if _, err := r.Committed(context.Background(), tp("t", 0)); !errors.Is(err, ErrNoGroup) {
			t.Errorf("got %v", err)
		}
		r.ends()
	})
}

func TestOffsetsOfTimesAndEnds(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 2)
		w.writes("t", 0, 5)
		pass(time.Minute)
		noon := time.Now()
		w.writes("t", 0, 5)
		w.deletesBefore("t", 0, 2)
		ctx := context.Background()
		cfg := w.config()
		cfg.Group = ""
		r := w.reader(cfg)
		times := map[TopicPartition]time.Time{tp("t", 0): noon, tp("t", 1): noon}
		if got, err := r.OffsetsForTimes(ctx, times); err != nil || len(got) != 1 || got[tp("t", 0)].At != 5 {
			t.Errorf("for noon: %v, %v", got, err)
		}
		times[tp("t", 0)] = time.Now().Add(time.Hour)
		if got, err := r.OffsetsForTimes(ctx, times); err != nil || len(got) != 0 {
			t.Errorf("for later: %v, %v", got, err)
		}
		if _, err := r.OffsetsForTimes(ctx, map[TopicPartition]time.Time{tp("t", 0): {}}); err == nil {
			t.Error("the year 1 was asked for")
		}
		both := []TopicPartition{tp("t", 0), tp("t", 1)}
		if got, err := r.BeginningOffsets(ctx, both...); err != nil || got[both[0]] != 2 || got[both[1]] != 0 || len(got) != 2 {
			t.Errorf("the beginnings: %v, %v", got, err)
		}
		if got, err := r.EndOffsets(ctx, both...); err != nil || got[both[0]] != 10 || got[both[1]] != 0 || len(got) != 2 {
			t.Errorf("the ends: %v, %v", got, err)
		}
		began := time.Now()
		if _, err := r.EndOffsets(ctx, tp("missing", 3)); err == nil || time.Since(began) > 2*askTimeout {
			t.Errorf("the end of what is not there: %v after %v", err, time.Since(began))
		}
		r.ends()
	})
}

func TestPartitionsFor(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 3)
		cfg := w.config()
		cfg.Group = ""
		r := w.reader(cfg)
		list, err := r.PartitionsFor(context.Background(), "t")
		if err != nil || len(list) != 3 {
			t.Errorf("%+v, %v", list, err)
		}
		for i, p := range list {
			if p.TopicPartition != tp("t", int32(i)) || p.Leader < 0 || len(p.Replicas) != 1 || len(p.InSync) != 1 {
				t.Errorf("%+v", p)
			}
		}
		began := time.Now()
		if _, err := r.PartitionsFor(context.Background(), "missing"); !errors.Is(err, kerr.UnknownTopicOrPartition) || time.Since(began) > time.Second {
			t.Errorf("a topic that is not there: %v after %v", err, time.Since(began))
		}
		r.ends()
	})
}

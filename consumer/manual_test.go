//go:build synctests

package consumer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// reader is a consumer whose partitions are assigned by hand, which the test polls itself.
type reader struct {
	*Consumer
	w *world
}

func (w *world) reader(cfg Config, list ...TopicPartition) reader {
	w.t.Helper()
	c, err := New(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := c.Assign(list...); err != nil {
		w.t.Fatal(err)
	}
	return reader{c, w}
}

func tp(topic string, partition int32) TopicPartition {
	return TopicPartition{Topic: topic, Partition: partition}
}

// reads polls for some time and returns what came: "t-0 #17".
func (r reader) reads(within time.Duration) (values []string) {
	r.w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	for {
		b, err := r.Poll(ctx)
		if err != nil {
			if ctx.Err() == nil {
				r.w.t.Error(err)
			}
			return values
		}
		for record := range b.Records() {
			values = append(values, string(record.Value))
		}
	}
}

// expect polls until nothing more comes, and compares with "t-0 #17" of those numbers.
func (r reader) expect(topic string, partition int32, from, to int) {
	r.w.t.Helper()
	var want []string
	for i := from; i < to; i++ {
		want = append(want, fmt.Sprintf("%s-%d #%d", topic, partition, i))
	}
	if got := r.reads(5 * time.Second); !slices.Equal(got, want) {
		r.w.t.Errorf("got %q, want %q", got, want)
	}
}

func (r reader) ends() {
	r.w.t.Helper()
	if err := r.Close(context.Background()); err != nil {
		r.w.t.Error(err)
	}
}

func (w *world) ok(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Error(err)
	}
}

// TestPartitionsThatAreAssignedByHandAreRead: without a group, and none is joined (R-B21).
func TestPartitionsThatAreAssignedByHandAreRead(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 3)
		for p := range int32(3) {
			w.writes("t", p, 3)
		}
		cfg := w.config()
		cfg.Group = ""
		r := w.reader(cfg, tp("t", 1))
		r.expect("t", 1, 0, 3)
		w.ok(r.Assign(tp("t", 1), tp("t", 2))) // what stays goes on where it is
		r.expect("t", 2, 0, 3)
		if got := r.Assignment(); !slices.Equal(got, []TopicPartition{tp("t", 1), tp("t", 2)}) {
			t.Errorf("assigned %v", got)
		}
		owned := r.PartitionContext(tp("t", 1))
		w.ok(r.Assign(tp("t", 2)))
		if context.Cause(owned) != ErrRevoked {
			t.Errorf("the context of a partition that is gone says %v", context.Cause(owned))
		}
		w.writes("t", 1, 3)
		if got := r.reads(5 * time.Second); len(got) > 0 {
			t.Errorf("read %q of a partition that is gone", got)
		}
		if err := r.Commit(context.Background()); !errors.Is(err, ErrNoGroup) {
			t.Errorf("committing without a group: %v", err)
		}
		if g := r.GroupMetadata(); g.Generation != -1 || g.Member != "" {
			t.Errorf("metadata %+v", g)
		}
		r.ends()
	})
}

// TestCommitsOfNobody: with a group, partitions begin at its offsets, which are those of no generation (R-B21).
func TestCommitsOfNobody(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 1)
		w.writes("t", 0, 6)
		cfg := w.config()
		cfg.MaxPollRecords = 3
		r := w.reader(cfg, tp("t", 0))
		b, err := r.Poll(context.Background())
		if b.Len() != 3 || err != nil {
			t.Errorf("%d records, %v", b.Len(), err)
		}
		w.ok(r.Unsubscribe(context.Background())) // done with what was handed out
		if got := r.Assignment(); len(got) > 0 {
			t.Errorf("still assigned: %v", got)
		}
		w.ok(r.Assign(tp("t", 0)))
		r.expect("t", 0, 3, 6)
		r.ends()
		r = w.reader(cfg, tp("t", 0))
		if got := r.reads(5 * time.Second); len(got) > 0 {
			t.Errorf("read again: %q", got)
		}
		r.ends()
	})
}

func TestAGroupThatHasMembersRefusesCommitsOfNobody(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 1)
		w.writes("t", 0, 1)
		a := w.member("a", w.config(), "t")
		pass(5 * time.Second)
		cfg := w.config()
		cfg.ManualCommit = true
		r := w.reader(cfg, tp("t", 0))
		if err := r.CommitOffsets(context.Background(), Offsets{tp("t", 0): {At: 0, LeaderEpoch: -1}}); err == nil {
			t.Error("a commit of nobody went into a group that has members")
		}
		r.ends()
		a.close()
	})
}

func TestSubscribeAndAssignDoNotGoTogether(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 1)
		r := w.reader(w.config(), tp("t", 0))
		if err := r.Subscribe("t"); !errors.Is(err, ErrAssigned) {
			t.Errorf("subscribing after Assign: %v", err)
		}
		w.ok(r.Assign()) // none: the assignment ends
		w.ok(r.Subscribe("t"))
		if err := r.Assign(tp("t", 0)); !errors.Is(err, ErrAssigned) {
			t.Errorf("assigning after Subscribe: %v", err)
		}
		r.ends()
	})
}

// transaction is an open one with n records in a partition.
func (w *world) transaction(topic string, n int) *kgo.Client {
	w.t.Helper()
	c := w.client(kgo.TransactionalID("x"), kgo.DefaultProduceTopic(topic), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	w.ok(c.BeginTransaction())
	for i := range n {
		w.ok(c.ProduceSync(context.Background(), kgo.StringRecord(fmt.Sprintf("in doubt #%d", i))).FirstErr())
	}
	return c
}

//go:build synctests

package consumer

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// offsets polls until it has n records, and returns the offsets of them, or how many it has after a while.
func (m *member) offsets(n int) (list []int64) {
	m.w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	for len(list) < n {
		b, err := m.Poll(ctx)
		if err != nil {
			break
		}
		for r := range b.Records() {
			list = append(list, r.Offset)
		}
	}
	return list
}

// TestRewindGoesBackToWhatIsCommitted is FR-H7: after an abort the position is the group's committed offset, of each partition that is
// kept, and nothing that was fetched before is handed out out of turn.
func TestRewindGoesBackToWhatIsCommitted(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 2)
		w.writes("t", 0, 10)
		cfg := w.config()
		cfg.ManualCommit, cfg.MaxPollRecords = true, 4
		a := w.idler("a", cfg, "t")
		if got := a.offsets(4); len(got) != 4 {
			t.Fatalf("read %v", got)
		}
		if err := a.Commit(context.Background()); err != nil {
			t.Fatal(err)
		}
		a.offsets(4)
		a.Rewind()
		if got := a.offsets(6); len(got) != 6 || got[0] != 4 || got[5] != 9 {
			t.Errorf("after the commit at 4 it read %v", got)
		}
		a.close()
	})
}

// TestRewindWithoutACommittedOffset goes back to where the partition began: a reset would pass over what was handed out.
func TestRewindWithoutACommittedOffset(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 1)
		w.writes("t", 0, 5)
		cfg := w.config()
		cfg.ManualCommit, cfg.Reset = true, Latest
		a := w.idler("a", cfg, "t")
		a.pollsFor(3 * time.Second)
		w.writes("t", 0, 3)
		if got := a.offsets(3); len(got) != 3 || got[0] != 5 {
			t.Fatalf("read %v", got)
		}
		if at := a.Uncommitted()[TopicPartition{Topic: "t"}]; at.At != 8 {
			t.Errorf("not committed is %v", at)
		}
		a.Rewind(TopicPartition{Topic: "t"}, TopicPartition{Topic: "t", Partition: 7})
		if got := a.offsets(3); len(got) != 3 || got[0] != 5 {
			t.Errorf("then it read %v", got)
		}
		a.MarkCommitted(Offsets{{Topic: "t"}: a.Uncommitted()[TopicPartition{Topic: "t"}]})
		if left := a.Uncommitted(); len(left) > 0 {
			t.Errorf("not committed is %v", left)
		}
		a.close()
	})
}

// TestRewindOfWhatIsGivenUp: a partition that goes while its transaction is aborted has no progress that its callback might commit.
func TestRewindOfWhatIsGivenUp(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 2)
		w.writes("t", 0, 10)
		cfg := w.config()
		cfg.ManualCommit = true
		var a *member
		var before, after Offsets
		cfg.Listener.Revoked = func(context.Context, Rebalance) error {
			before = a.Uncommitted()
			a.Rewind(TopicPartition{Topic: "t"})
			after = a.Uncommitted()
			return nil
		}
		a = w.idler("a", cfg, "t")
		a.offsets(10)
		a.close()
		if at := before[TopicPartition{Topic: "t"}]; at.At != 10 {
			t.Errorf("before, not committed is %v", before)
		}
		if at, there := after[TopicPartition{Topic: "t"}]; there {
			t.Errorf("afterwards, not committed is %v", at)
		}
	})
}

// TestASeekWinsOverRewind: where the user wants to be is not overruled.
func TestASeekWinsOverRewind(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 1)
		w.writes("t", 0, 10)
		cfg := w.config()
		cfg.ManualCommit = true
		a := w.idler("a", cfg, "t")
		a.offsets(10)
		a.Rewind()
		if err := a.Seek(TopicPartition{Topic: "t"}, 8); err != nil {
			t.Fatal(err)
		}
		if got := a.offsets(2); len(got) != 2 || got[0] != 8 {
			t.Errorf("read %v", got)
		}
		a.close()
	})
}

// TestWhoAttendsIsNotAway: callbacks run, the group is kept up for longer than PollInterval, and nothing is handed out.
func TestWhoAttendsIsNotAway(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 2)
		w.writes("t", 0, 10)
		cfg := w.config()
		cfg.ManualCommit, cfg.PollInterval = true, 10*time.Second
		a := w.idler("a", cfg, "t")
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := a.Attend(ctx); err != nil {
			t.Fatal(err)
		}
		a.did("assigned [t-0 t-1]")
		b := w.member("b", cfg, "t")
		calls := 0
		for a.Attend(ctx) == nil {
			calls++
		}
		if !errors.Is(ctx.Err(), context.DeadlineExceeded) || calls == 0 || calls > 4 {
			t.Errorf("it came back %d times, and %v", calls, ctx.Err())
		}
		a.forget("assigned []")
		a.did("revoked [t-1]")
		if at, _ := a.Position(TopicPartition{Topic: "t"}); at.At != 0 {
			t.Errorf("it has handed out records up to %d", at.At)
		}
		b.close()
		a.close()
	})
}

// TestRewindOfAPartitionInTrouble: one that is not fetched at the moment, since a broker has called it unknown or its position out of range, is sent
// back like any other. It would return to where it was, past the records of the transaction that was aborted, else.
func TestRewindOfAPartitionInTrouble(t *testing.T) {
	for _, trouble := range []*kerr.Error{kerr.UnknownTopicOrPartition, kerr.OffsetOutOfRange} {
		t.Run(trouble.Message, func(t *testing.T) {
			inBubble(t, func(w *world) {
				w.topic("t", 1)
				w.writes("t", 0, 8)
				var down atomic.Bool
				cfg := w.config()
				cfg.ManualCommit, cfg.MaxPollRecords = true, 4
				cfg.Cluster.Dial = w.meddles(func(resp kmsg.Response) {
					switch r := resp.(type) {
					case *kmsg.FetchResponse:
						for i := range r.Topics {
							for j := range r.Topics[i].Partitions {
								if p := &r.Topics[i].Partitions[j]; down.Load() {
									p.ErrorCode, p.RecordBatches, p.HighWatermark = trouble.Code, nil, -1
								}
							}
						}
					case *kmsg.ListOffsetsResponse:
						for i := range r.Topics {
							for j := range r.Topics[i].Partitions {
								if down.Load() {
									r.Topics[i].Partitions[j].ErrorCode = kerr.NotLeaderForPartition.Code
								}
							}
						}
					}
				})
				a := w.idler("a", cfg, "t")
				if got := a.offsets(4); len(got) != 4 {
					t.Fatalf("read %v", got)
				}
				if err := a.Commit(context.Background()); err != nil {
					t.Fatal(err)
				}
				a.offsets(4)
				down.Store(true)
				w.writes("t", 0, 1) // which ends the fetch that waits
				a.pollsFor(100 * time.Millisecond)
				if p := a.table.partitions[TopicPartition{Topic: "t"}]; p.placed {
					t.Fatal("it is not in trouble")
				}
				a.Rewind()
				if left := a.Uncommitted(); len(left) > 0 {
					t.Errorf("not committed is %v", left)
				}
				down.Store(false)
				if got := a.offsets(5); len(got) != 5 || got[0] != 4 || got[4] != 8 {
					t.Errorf("after the commit at 4 it read %v", got)
				}
				a.close()
			})
		})
	}
}

// TestRewindWhileItIsAsked: an offset that the group was asked for before is of no use. What was committed in between would be done again.
func TestRewindWhileItIsAsked(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 1)
		w.writes("t", 0, 10)
		a := w.idler("a", w.config(), "t")
		a.offsets(4)
		p := a.table.partitions[TopicPartition{Topic: "t"}]
		a.table.displace(p)
		asked := a.table.asked([]*partition{p})
		a.table.rewind([]TopicPartition{p.TopicPartition})
		a.beginAsked(asked, map[*partition]placement{p: {place{3, 0}, true}})
		if p.placed {
			t.Errorf("it is at %v", p.position)
		}
		a.close()
	})
}

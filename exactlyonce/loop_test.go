//go:build synctests

package exactlyonce

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/skeinstream/skein/assign"
	"github.com/skeinstream/skein/consumer"
	"github.com/skeinstream/skein/producer"
)

func TestEachRecordHasItsEffectOnce(t *testing.T) {
	inBubble(t, 4, func(w *world) {
		w.writes(50)
		n := w.runs("a", w.config(), nil)
		pass(5 * time.Second)
		w.writes(50)
		pass(5 * time.Second)
		w.judges()
		if s := n.Stats(); s.RecordsIn != 400 || s.RecordsOut != 400 || s.Committed == 0 || len(s.Aborted) > 0 || s.Renewed != 1 || s.Took.Count == 0 {
			t.Errorf("the figures are %+v", s)
		}
		n.ends()
	})
}

// protocols are both.
var protocols = map[string]assign.Assignor{"eager": assign.Range{}, "cooperative": assign.CooperativeSticky{}}

// TestRebalancesRepeatNothing is R-F7 and FR-H21: members come and go while records flow. A member that is asked to leave finishes what it
// has begun, and partitions that stay are not disturbed.
func TestRebalancesRepeatNothing(t *testing.T) {
	for name, assignor := range protocols {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 8, func(w *world) {
				cfg := w.config()
				cfg.Consumer.Assignors, cfg.Consumer.StaticProtocol = []assign.Assignor{assignor}, true
				nodes := []*node{w.runs("a", cfg, nil)}
				for round := range 12 {
					w.writes(10)
					switch {
					case round%3 == 2:
						nodes[0].ends()
						nodes = nodes[1:]
					default:
						nodes = append(nodes, w.runs(fmt.Sprint("n", round), cfg, nil))
					}
					for range 10 {
						w.writes(2)
						pass(170 * time.Millisecond)
					}
				}
				pass(10 * time.Second)
				w.judges()
				for _, n := range nodes {
					if words := n.words(); len(words) > 0 {
						t.Errorf("%s has not committed everything at once: %v", n.name, words)
					}
					n.ends()
				}
			})
		})
	}
}

// TestACrashIsTakenOver: what the dead member has open is aborted, and others go on from where the group is.
func TestACrashIsTakenOver(t *testing.T) {
	inBubble(t, 4, func(w *world) {
		a, b := w.runs("a", w.config(), nil), w.runs("b", w.config(), nil)
		pass(5 * time.Second)
		for range 20 {
			w.writes(3)
			pass(33 * time.Millisecond)
		}
		a.crashes()
		for range 20 {
			w.writes(3)
			pass(time.Second)
		}
		w.judges()
		a.quit()
		b.ends()
		w.ok(<-a.err)
	})
}

// TestANetworkThatComesBack: a member that was away, and given up, does nothing twice when it is back.
func TestANetworkThatComesBack(t *testing.T) {
	for _, away := range []time.Duration{200 * time.Millisecond, 3 * time.Second, 20 * time.Second} {
		t.Run(away.String(), func(t *testing.T) {
			inBubble(t, 4, func(w *world) {
				a, b := w.runs("a", w.config(), nil), w.runs("b", w.config(), nil)
				pass(5 * time.Second)
				for round := range 6 {
					w.writes(5)
					pass(time.Duration(round*13) * time.Millisecond)
					a.crashes()
					pass(away)
					a.mends()
					w.writes(5)
					pass(5 * time.Second)
				}
				pass(30 * time.Second)
				w.judges()
				a.ends()
				b.ends()
			})
		})
	}
}

// TestAPeacefulEndInTheMiddleOfABatch: what is being processed is finished and committed, and the group goes on at once.
func TestAPeacefulEndInTheMiddleOfABatch(t *testing.T) {
	inBubble(t, 1, func(w *world) {
		w.writes(10)
		var calls atomic.Int32
		a := w.runs("a", w.config(), func(ctx context.Context, b consumer.Batch, out *Out) error {
			calls.Add(1)
			<-time.After(2 * time.Second)
			return copies(ctx, b, out)
		})
		pass(time.Second)
		began := time.Now()
		a.ends()
		if took := time.Since(began); calls.Load() != 1 || took > 3*time.Second {
			t.Errorf("%d calls, and the end took %v", calls.Load(), took)
		}
		w.judges()
	})
}

// TestAnEndThatCannotWait: a function that does not end is told to, and its transaction aborted; the next one does the work.
func TestAnEndThatCannotWait(t *testing.T) {
	inBubble(t, 1, func(w *world) {
		w.writes(10)
		cfg := w.config()
		cfg.DrainTimeout, cfg.Producer.TransactionTimeout = time.Second, time.Minute
		why := make(chan error, 1)
		a := w.runs("a", cfg, func(ctx context.Context, b consumer.Batch, out *Out) error {
			_ = copies(ctx, b, out)
			<-ctx.Done()
			why <- context.Cause(ctx)
			return ctx.Err()
		})
		pass(time.Second)
		a.ends()
		if err := <-why; err != ErrHalted {
			t.Errorf("it was told to end for %v", err)
		}
		b := w.runs("b", w.config(), nil)
		pass(70 * time.Second)
		w.judges()
		b.ends()
	})
}

// TestConcurrency: calls run side by side in one transaction; records of a partition, or of a key, keep their order.
func TestConcurrency(t *testing.T) {
	for name, by := range map[string]By{"by partition": ByPartition, "by key": ByKey} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 4, func(w *world) {
				w.writes(40)
				cfg := w.config()
				cfg.Concurrency, cfg.By = 4, by
				var now, most atomic.Int32
				n := w.runs("a", cfg, func(ctx context.Context, b consumer.Batch, out *Out) error {
					most.Store(max(most.Load(), now.Add(1)))
					defer now.Add(-1)
					for r := range b.Records() {
						<-time.After(time.Millisecond)
						out.Send(&producer.Record{Topic: "out", Key: fmt.Appendf(nil, "%d/%s", r.Partition, r.Key), Value: r.Value})
					}
					return nil
				})
				pass(10 * time.Second)
				w.judges()
				if got := most.Load(); got < 2 || got > 4 {
					t.Errorf("%d calls at once", got)
				}
				_, records := w.reads("out")
				inOrder(t, records)
				n.ends()
			})
		})
	}
}

// inOrder says whether the outputs of each key are in the order of their inputs.
func inOrder(t *testing.T, records []*kgo.Record) {
	t.Helper()
	last := map[string]int{}
	for _, r := range records {
		var p, i int
		if _, err := fmt.Sscanf(string(r.Value), "%d#%d", &p, &i); err != nil {
			t.Fatal(err)
		}
		if before, known := last[string(r.Key)]; known && i < before {
			t.Errorf("of key %s, %d came after %d", r.Key, i, before)
		}
		last[string(r.Key)] = i
	}
}

// TestTransactionsWithoutOutput commit their offsets all the same.
func TestTransactionsWithoutOutput(t *testing.T) {
	inBubble(t, 2, func(w *world) {
		w.writes(10)
		n := w.runs("a", w.config(), func(context.Context, consumer.Batch, *Out) error { return nil })
		pass(5 * time.Second)
		offsets, err := kadm.NewClient(w.admin).FetchOffsets(context.Background(), "g")
		w.ok(err)
		if at, _ := offsets.Lookup("in", 1); at.At != 10 {
			t.Errorf("the group is at %d", at.At)
		}
		if s := n.Stats(); s.RecordsIn != 20 || s.RecordsOut != 0 {
			t.Errorf("the figures are %+v", s)
		}
		n.ends()
	})
}

// TestEndsOfTransactionsAreCommitted: a group that has read everything has no lag, though the log ends with the end of a transaction (FR-C18).
func TestEndsOfTransactionsAreCommitted(t *testing.T) {
	inBubble(t, 1, func(w *world) {
		tx := w.kafka(kgo.TransactionalID("upstream"), kgo.RecordPartitioner(kgo.ManualPartitioner()))
		defer tx.Close()
		n := w.runs("a", w.config(), nil)
		pass(5 * time.Second)
		w.ok(tx.BeginTransaction())
		w.ok(tx.ProduceSync(context.Background(), &kgo.Record{Topic: "in", Value: []byte("0#0")}).FirstErr())
		pass(time.Second)
		w.ok(tx.EndTransaction(context.Background(), kgo.TryCommit))
		pass(15 * time.Second)
		offsets, err := kadm.NewClient(w.admin).FetchOffsets(context.Background(), "g")
		w.ok(err)
		if at, _ := offsets.Lookup("in", 0); at.At != 2 {
			t.Errorf("the group is at %d, the log ends at 2", at.At)
		}
		n.ends()
	})
}

// TestWhereAGroupBegins is FR-C16: a member that has read nothing commits where it begins, so that the next one does not begin elsewhere.
func TestWhereAGroupBegins(t *testing.T) {
	inBubble(t, 1, func(w *world) {
		w.writes(100)
		cfg := w.config()
		cfg.Consumer.Reset = consumer.Latest
		a := w.runs("a", cfg, nil)
		pass(2 * time.Second)
		a.ends()
		w.writes(5)
		b := w.runs("b", cfg, nil)
		pass(5 * time.Second)
		if counts, _ := w.reads("out"); len(counts) != 5 {
			t.Errorf("%d records were processed of 5 that came after the group had begun", len(counts))
		}
		b.ends()
	})
}

// TestErrorsOfTheFunctionEndRun, and nothing of that transaction is seen.
func TestErrorsOfTheFunctionEndRun(t *testing.T) {
	inBubble(t, 1, func(w *world) {
		w.writes(10)
		trouble := errors.New("the database is gone")
		n := w.runs("a", w.config(), func(ctx context.Context, b consumer.Batch, out *Out) error {
			return errors.Join(copies(ctx, b, out), trouble)
		})
		if err := <-n.err; !errors.Is(err, trouble) {
			t.Errorf("Run returned %v", err)
		}
		if counts, _ := w.reads("out"); len(counts) > 0 {
			t.Errorf("%d records are seen", len(counts))
		}
		if words := n.words(); !slices.Equal(words, []string{"aborted: failed"}) {
			t.Errorf("it told of %q", words)
		}
	})
}

// TestAnOutThatOutlivesItsCall is an error that is not overlooked.
func TestAnOutThatOutlivesItsCall(t *testing.T) {
	inBubble(t, 1, func(w *world) {
		w.writes(10)
		n := w.runs("a", w.config(), func(_ context.Context, b consumer.Batch, out *Out) error {
			go func() {
				<-time.After(10 * time.Millisecond)
				out.Send(&producer.Record{Topic: "out"})
			}()
			return nil
		})
		if err := <-n.err; err == nil || !strings.Contains(err.Error(), "after the call") {
			t.Errorf("Run returned %v", err)
		}
	})
}

//go:build synctests

package exactlyonce

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/client"
	"github.com/skeinstream/skein/consumer"
	"github.com/skeinstream/skein/producer"
)

// TestAGenerationThatChangesUnderATransactionAbortsNothing is R-F7, between the end of a JoinGroup and its answer: the group is in its next
// generation, and the member does not know it yet. What was kept is committed as soon as it does.
func TestAGenerationThatChangesUnderATransactionAbortsNothing(t *testing.T) {
	inBubble(t, 4, func(w *world) {
		var longest atomic.Int64
		cfg := w.config()
		cfg.Consumer.StaticProtocol = true
		cfg.Hooks.Committed = func(t Transaction) { longest.Store(max(longest.Load(), int64(t.Took))) }
		slow := &thief{key: kmsg.JoinGroup, slow: 2 * time.Second, node: &node{w: w}}
		cfg.Consumer.Cluster.Dial = slow.dial
		a := w.runs("a", cfg, nil)
		pass(10 * time.Second)
		b := w.runs("b", w.config(), nil)
		for range 100 {
			w.writes(1)
			pass(70 * time.Millisecond)
		}
		pass(10 * time.Second)
		w.judges()
		if words := a.words(); len(words) > 0 {
			t.Errorf("it was %v", words)
		}
		if took := time.Duration(longest.Load()); took < time.Second {
			t.Errorf("no transaction has waited for the new generation: the longest took %v", took)
		}
		a.ends()
		b.ends()
	})
}

// TestAbortsAndRebalances is FR-H7: 50 partitions, every third transaction aborted, and 20 rebalances.
func TestAbortsAndRebalances(t *testing.T) {
	inBubble(t, 50, func(w *world) {
		cfg := w.config()
		cfg.Poison = PoisonPolicy{Retries: -1, Backoff: time.Millisecond, BackoffMax: time.Millisecond}
		cfg.Consumer.MaxPollRecords = 60
		var calls atomic.Int32
		process := func(ctx context.Context, b consumer.Batch, out *Out) error {
			_ = copies(ctx, b, out)
			if calls.Add(1)%3 == 0 {
				return Poison(b.Partitions[0].Records[0], errPoison)
			}
			return nil
		}
		nodes := []*node{w.runs("a", cfg, process), w.runs("b", cfg, process)}
		for round := range 20 {
			w.writes(2)
			pass(time.Duration(50*round) * time.Millisecond)
			if round%2 == 0 {
				nodes = append(nodes, w.runs(fmt.Sprint("n", round), cfg, process))
			} else {
				nodes[0].ends()
				nodes = nodes[1:]
			}
		}
		pass(30 * time.Second)
		w.judges()
		for _, n := range nodes {
			n.ends()
		}
	})
}

// TestAStallBeyondTheTransactionTimeout is FR-H5: the broker aborts the transaction meanwhile, and the program goes on with another.
func TestAStallBeyondTheTransactionTimeout(t *testing.T) {
	inBubble(t, 2, func(w *world) {
		w.writes(20)
		var calls atomic.Int32
		n := w.runs("a", w.config(), func(ctx context.Context, b consumer.Batch, out *Out) error {
			_ = copies(ctx, b, out)
			if calls.Add(1) == 1 {
				<-time.After(25 * time.Second) // and listens to nobody
			}
			return nil
		})
		pass(time.Minute)
		w.judges()
		if words := n.words(); len(words) != 1 {
			t.Errorf("it was %v", words)
		}
		n.ends()
	})
}

// TestBatchesThatTakeTooLong become smaller: a slow function gets through all the same.
func TestBatchesThatTakeTooLong(t *testing.T) {
	inBubble(t, 2, func(w *world) {
		w.writes(10)
		cfg := w.config()
		cfg.Producer.TransactionTimeout = 5 * time.Second
		n := w.runs("a", cfg, func(ctx context.Context, b consumer.Batch, out *Out) error {
			for r := range b.Records() {
				out.Send(&producer.Record{Topic: "out", Value: r.Value})
				select {
				case <-time.After(time.Second):
				case <-ctx.Done():
					if context.Cause(ctx) != ErrTooLong {
						t.Errorf("it was told to end for %v", context.Cause(ctx))
					}
					return ctx.Err()
				}
			}
			return nil
		})
		pass(2 * time.Minute)
		w.judges()
		n.ends()
	})
}

// TestOneRecordThatTakesTooLong ends Run, and says what to change.
func TestOneRecordThatTakesTooLong(t *testing.T) {
	inBubble(t, 1, func(w *world) {
		w.writes(4)
		n := w.runs("a", w.config(), func(ctx context.Context, _ consumer.Batch, _ *Out) error {
			<-ctx.Done()
			return ctx.Err()
		})
		if err := <-n.err; !errors.Is(err, ErrTooLong) || !strings.Contains(err.Error(), "TransactionTimeout") {
			t.Errorf("Run returned %v", err)
		}
	})
}

// TestWhoIsGivenUpWhileProcessingIsTold is FR-D1: there is nothing left to do for it, and what it returns is not taken for a failure.
func TestWhoIsGivenUpWhileProcessingIsTold(t *testing.T) {
	inBubble(t, 1, func(w *world) {
		w.writes(10)
		cfg := w.config()
		cfg.Producer.TransactionTimeout = 5 * time.Minute
		why := make(chan error, 10)
		var calls atomic.Int32
		a := w.runs("a", cfg, func(ctx context.Context, b consumer.Batch, out *Out) error {
			_ = copies(ctx, b, out)
			if calls.Add(1) > 1 {
				return nil
			}
			<-ctx.Done()
			why <- context.Cause(ctx)
			return errors.New("given up half way")
		})
		pass(time.Second)
		a.crashes()
		b := w.runs("b", w.config(), nil)
		pass(20 * time.Second)
		a.mends()
		if err := <-why; err != consumer.ErrExpelled {
			t.Errorf("it was told to end for %v", err)
		}
		pass(time.Minute)
		w.judges()
		b.ends()
		a.ends()
	})
}

// TestAProducerThatIsFencedFromOutside is FR-H20: another of the same transactional id comes between poll and commit.
func TestAProducerThatIsFencedFromOutside(t *testing.T) {
	inBubble(t, 2, func(w *world) {
		cfg := w.config()
		cfg.Producer.TransactionalID = "one"
		fences := make(chan struct{}, 1)
		n := w.runs("a", cfg, func(ctx context.Context, b consumer.Batch, out *Out) error {
			_ = copies(ctx, b, out)
			select {
			case <-fences:
				other := w.kafka(kgo.TransactionalID("one"))
				defer other.Close()
				_, _, err := other.ProducerID(ctx)
				w.ok(err)
			default:
			}
			return nil
		})
		for range 5 {
			fences <- struct{}{}
			w.writes(10)
			pass(5 * time.Second)
		}
		pass(30 * time.Second)
		w.judges()
		if s := n.Stats(); s.Renewed < 5 {
			t.Errorf("%d producers were made, for 5 that were fenced", s.Renewed)
		}
		n.ends()
	})
}

// TestAStaticMemberIsFencedByItsRestart: the id follows from InstanceID, so that nothing waits for the old one's timeout.
func TestAStaticMemberIsFencedByItsRestart(t *testing.T) {
	inBubble(t, 2, func(w *world) {
		cfg := w.config()
		cfg.Consumer.InstanceID, cfg.Consumer.SessionTimeout, cfg.Producer.TransactionTimeout = "host-1", 5*time.Minute, 5*time.Minute
		a := w.runs("a", cfg, func(ctx context.Context, b consumer.Batch, out *Out) error {
			_ = copies(ctx, b, out)
			<-ctx.Done() // with what it has sent in an open transaction
			return ctx.Err()
		})
		w.writes(10)
		pass(5 * time.Second)
		a.crashes()
		a.quit()
		w.ok(<-a.err)
		b := w.runs("b", cfg, nil)
		pass(10 * time.Second)
		w.judges()
		b.ends()
	})
}

// TestABrokerThatIsNotThere is waited for, and the wait ends with ctx.
func TestABrokerThatIsNotThere(t *testing.T) {
	inBubble(t, 1, func(w *world) {
		n := &node{w: w, cut: true}
		cfg := w.config()
		cfg.Consumer.Cluster.Dial = n.dial
		a := w.runs("a", cfg, nil)
		pass(time.Minute)
		w.writes(5)
		n.mends()
		pass(30 * time.Second)
		w.judges()
		a.ends()
		n.crashes()
		b := w.runs("b", cfg, nil)
		pass(time.Minute)
		began := time.Now()
		b.ends()
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("the end took %v", took)
		}
	})
}

// TestAnOutputTopicThatCannotBe ends Run, and is named.
func TestAnOutputTopicThatCannotBe(t *testing.T) {
	inBubble(t, 1, func(w *world) {
		w.writes(5)
		cfg := w.config()
		n := w.runs("a", cfg, func(_ context.Context, b consumer.Batch, out *Out) error {
			for range b.Records() {
				out.Send(&producer.Record{Topic: "a b c", Value: []byte("!")})
			}
			return nil
		})
		if err := <-n.err; err == nil || !strings.Contains(err.Error(), "a b c") {
			t.Errorf("Run returned %v", err)
		}
	})
}

// unclosable is fenced, and says so when it is closed.
type unclosable struct{ producing }

func (unclosable) close(context.Context) error { return producer.ErrFenced }

// TestAFencedProducerIsClosedWithoutAWord: it had nothing open that counts, so that Run has ended well.
func TestAFencedProducerIsClosedWithoutAWord(t *testing.T) {
	inBubble(t, 1, func(w *world) {
		cfg := w.config()
		cfg.Consumer.Cluster = client.Config{Brokers: []string{"skein:9092"}, Dial: w.b.Dialer()}
		p, err := New(cfg, copies)
		if err != nil {
			t.Fatal(err)
		}
		life, end := p.lives(context.Background())
		defer end()
		p.loop.life, p.loop.producing = life, unclosable{}
		w.ok(p.loop.close())
	})
}

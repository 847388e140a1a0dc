//go:build synctests

package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// transformer is a franz-go client that consumes from t, and produces what it has read to out, in transactions that commit
// its offsets, too.
type transformer struct {
	h     *house
	s     *kgo.GroupTransactSession
	stop  context.CancelFunc
	ended chan struct{}
	// abandons: after so many transactions it goes in the middle of one. 0: never.
	abandons int
	done     int // transactions that were committed
}

func (h *house) transformer(id string, abandons int) *transformer {
	h.t.Helper()
	s, err := kgo.NewGroupTransactSession(
		kgo.SeedBrokers("skein:9092"), kgo.Dialer(h.dialer), kgo.TransactionalID(id), kgo.TransactionTimeout(20*time.Second),
		kgo.ConsumerGroup("g"), kgo.ConsumeTopics("t"), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DisableClientMetrics(),
	)
	if err != nil {
		h.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	x := &transformer{h: h, s: s, stop: stop, ended: make(chan struct{}), abandons: abandons}
	go x.run(ctx)
	return x
}

func (x *transformer) run(ctx context.Context) {
	defer close(x.ended)
	for ctx.Err() == nil {
		fetches := x.s.PollRecords(ctx, 20)
		if fetches.Empty() {
			continue
		}
		if err := x.s.Begin(); err != nil {
			x.h.t.Errorf("beginning: %v", err)
			return
		}
		fetches.EachRecord(func(r *kgo.Record) {
			x.s.Produce(context.Background(), &kgo.Record{Topic: "out", Key: r.Key, Value: r.Value}, func(*kgo.Record, error) {})
		})
		if x.abandons > 0 && x.done == x.abandons {
			_ = x.s.Client().Flush(context.Background())
			return
		}
		switch committed, err := x.s.End(context.Background(), kgo.TryCommit); {
		case err != nil:
			x.h.t.Logf("ending: %v", err) // as after a restart; the session has gone back to what is committed
		case committed:
			x.done++
		}
		pass(100 * time.Millisecond)
	}
}

// close ends the transformer, between transactions unless it has gone before.
func (x *transformer) close() {
	x.stop()
	<-x.ended
	x.s.Close()
}

// TestConsumeTransformProduce is FR-H7 and FR-H21: what a group makes of its input is there exactly once, though members come and go, also in the
// middle of a transaction, and the broker restarts.
func TestConsumeTransformProduce(t *testing.T) {
	inBubble(t, map[string]string{"group.initial.rebalance.delay.ms": "0"}, func(h *house) {
		h.createTopic("t", 4)
		h.createTopic("out", 3)
		h.produced(0, 300)
		a := h.transformer("a", 0)
		quitter := h.transformer("quitter", 2)
		pass(20 * time.Second)
		<-quitter.ended
		if values, open := h.committedAnywhere("out"); open == 0 || len(values) == 300 {
			t.Errorf("the one that has gone has left %d partitions in transactions, %d values committed", open, len(values))
		}
		quitter.close()
		b := h.transformer("b", 0)
		pass(40 * time.Second) // its transaction is out of time
		h.produced(300, 300)
		pass(time.Second)
		h.restart()
		pass(time.Minute)
		b.close()
		h.produced(600, 100)
		pass(time.Minute)
		a.close()
		var want []string
		for i := range 700 {
			want = append(want, fmt.Sprint("record ", i))
		}
		slices.Sort(want)
		if got := h.values("out", true); !slices.Equal(got, want) {
			t.Errorf("%d values of 700: %q", len(got), got)
		}
		if quitter.done != 2 || a.done == 0 || b.done == 0 {
			t.Errorf("transactions: %d of a, %d of b, %d of the one that has gone", a.done, b.done, quitter.done)
		}
	})
}

// committedAnywhere is the committed values of a topic, and how many transactions are open in its partitions.
func (h *house) committedAnywhere(topic string) (values []string, open int) {
	h.t.Helper()
	for _, p := range h.b.table.Topic(topic).Partitions() {
		of, n := h.committedValues(partitionName{topic, p.Index()})
		values, open = append(values, of...), open+n
	}
	return values, open
}

// TestSuccessorFencesItsPredecessor: a second producer with the transactional id ends the first one's transaction, whose
// records never count, and the first one hears of it.
func TestSuccessorFencesItsPredecessor(t *testing.T) {
	inBubble(t, nil, func(h *house) {
		h.createTopic("a", 1)
		ctx := context.Background()
		zombie, successor := h.kafkaClient(kgo.TransactionalID("id")), h.kafkaClient(kgo.TransactionalID("id"))
		defer zombie.Close()
		defer successor.Close()
		h.must(zombie.BeginTransaction())
		h.must(zombie.ProduceSync(ctx, &kgo.Record{Topic: "a", Value: []byte("zombie")}).FirstErr())
		h.must(successor.BeginTransaction())
		h.must(successor.ProduceSync(ctx, &kgo.Record{Topic: "a", Value: []byte("successor")}).FirstErr())
		err := zombie.ProduceSync(ctx, &kgo.Record{Topic: "a", Value: []byte("late")}).FirstErr()
		if !errors.Is(err, kerr.InvalidProducerEpoch) && !errors.Is(err, kerr.ProducerFenced) {
			t.Errorf("the zombie produces: %v", err)
		}
		if err := zombie.EndTransaction(ctx, kgo.TryCommit); err == nil {
			t.Error("the zombie commits")
		}
		h.must(successor.EndTransaction(ctx, kgo.TryCommit))
		h.expectValues("a", true, "successor")
		h.expectValues("a", false, "successor", "zombie")
	})
}

// TestTransactionOutOfTime is FR-H5: a transaction that takes longer than its producer has said is aborted, so that readers go on, and
// the producer can go on, too, once it has aborted (R-K25).
func TestTransactionOutOfTime(t *testing.T) {
	inBubble(t, nil, func(h *house) {
		h.createTopic("a", 1)
		ctx := context.Background()
		slow := h.kafkaClient(kgo.TransactionalID("slow"), kgo.TransactionTimeout(5*time.Second))
		defer slow.Close()
		other := h.kafkaClient()
		defer other.Close()
		h.must(slow.BeginTransaction())
		h.must(slow.ProduceSync(ctx, &kgo.Record{Topic: "a", Value: []byte("slow")}).FirstErr())
		h.must(other.ProduceSync(ctx, &kgo.Record{Topic: "a", Value: []byte("other")}).FirstErr())
		pass(4 * time.Second)
		if _, open := h.committedAnywhere("a"); open != 1 {
			t.Errorf("%d open before the time is up", open)
		}
		pass(2 * time.Second)
		h.expectValues("a", true, "other")
		h.must(slow.EndTransaction(ctx, kgo.TryAbort))
		h.must(slow.BeginTransaction())
		h.must(slow.ProduceSync(ctx, &kgo.Record{Topic: "a", Value: []byte("faster")}).FirstErr())
		h.must(slow.EndTransaction(ctx, kgo.TryCommit))
		h.expectValues("a", true, "faster", "other")
		h.must(slow.BeginTransaction())
		h.must(slow.ProduceSync(ctx, &kgo.Record{Topic: "a", Value: []byte("slow again")}).FirstErr())
		pass(6 * time.Second)
		if err := slow.EndTransaction(ctx, kgo.TryCommit); err == nil {
			t.Error("it commits what has been aborted")
		}
		h.expectValues("a", true, "faster", "other")
		if now := h.b.txns.metrics(); now.TimedOut != 2 || now.Hanging != 0 {
			t.Errorf("metrics: %+v", now)
		}
	})
}

// TestRestartInTheMiddleOfATransaction: it is open afterwards, and its producer ends it.
func TestRestartInTheMiddleOfATransaction(t *testing.T) {
	for _, commit := range []bool{true, false} {
		inBubble(t, nil, func(h *house) {
			h.createTopic("a", 2)
			ctx := context.Background()
			p := h.kafkaClient(kgo.TransactionalID("id"))
			defer p.Close()
			h.must(p.BeginTransaction())
			h.must(p.ProduceSync(ctx, &kgo.Record{Topic: "a", Value: []byte("before")}).FirstErr())
			h.restart()
			h.expectValues("a", true)
			h.must(p.ProduceSync(ctx, &kgo.Record{Topic: "a", Value: []byte("behind")}, &kgo.Record{Topic: "a", Partition: 1, Value: []byte("beside")}).FirstErr())
			h.must(p.EndTransaction(ctx, kgo.TransactionEndTry(commit)))
			if commit {
				h.expectValues("a", true, "before", "behind", "beside")
			} else {
				h.expectValues("a", true)
			}
		})
	}
}

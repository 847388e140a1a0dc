package broker

import (
	"log/slog"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/skeinstream/skein/broker/internal/api"
	"github.com/skeinstream/skein/broker/internal/partition"
	"github.com/skeinstream/skein/broker/internal/record"
	"github.com/skeinstream/skein/internal/vfs"
)

// begun is a producer whose transaction has a record in each of some partitions.
func (h *house) begun(id string, timeout time.Duration, value string, at ...partitionName) *txnProducer {
	h.t.Helper()
	p := h.producer(id)
	p.timeout = timeout
	h.must(retrying(p.begin))
	for _, one := range at {
		h.must(p.send(one, value))
	}
	return p
}

// TestTransactionsOutOfTime are aborted when their time is up, not at the next look of anybody, and their owner hears of it
// (R-E9, R-K25).
func TestTransactionsOutOfTime(t *testing.T) {
	inBubble(t, nil, func(h *house) {
		h.createTopic("a", 1)
		at := partitionName{"a", 0}
		p := h.begun("id", 5*time.Second, "late", at)
		pass(4900 * time.Millisecond)
		if _, open := h.committedValues(at); open != 1 {
			t.Error("it is not open any more")
		}
		if now := h.b.txns.metrics(); now.OldestID != "id" || now.OldestOpen < 4*time.Second {
			t.Errorf("the oldest is %s, %v", now.OldestID, now.OldestOpen)
		}
		pass(200 * time.Millisecond)
		if _, open := h.committedValues(at); open != 0 {
			t.Error("it is still open")
		}
		wantError(t, "sending", p.send(at, "later"), kerr.InvalidProducerEpoch)
		h.must(p.end(false))
		h.must(p.send(at, "next"))
		h.must(p.end(true))
		h.expectCommitted(at, "next")
		if now := h.b.txns.metrics(); now.TimedOut != 1 || now.OldestID != "" {
			t.Errorf("metrics: %+v", now)
		}
	})
}

// saidLines is what was logged.
type saidLines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *saidLines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *saidLines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), text)
}

// TestATransactionThatIsOpenForLongIsNamed, once, and in the metrics.
func TestATransactionThatIsOpenForLongIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		said := &saidLines{}
		h := &house{t: t, disk: vfs.NewMemory(), settings: map[string]string{"connections.max.idle.ms": "-1"}, logger: slog.New(slog.NewTextHandler(said, nil))}
		h.open()
		defer h.shutdown()
		h.createTopic("a", 1)
		h.begun("slow", 15*time.Minute, "value", partitionName{"a", 0})
		pass(10 * time.Minute)
		if n := said.count("open for long"); n != 1 || said.count(`"transactional id"=slow`) != 1 {
			t.Errorf("it was named %d times", n)
		}
		expectMetrics(t, h.b,
			`skein_transactional_ids{state="Ongoing"} 1`,
			`skein_transaction_oldest_open_seconds{transactional_id="slow"} 600`,
			`skein_log_unstable_offsets{partition="0",topic="a"} 1`,
			`skein_transactions_total{outcome="committed"} 0`)
		pass(6 * time.Minute)
		expectMetrics(t, h.b, `skein_transactions_timed_out_total 1`, `skein_transactions_total{outcome="aborted"} 1`)
	})
}

// TestTransactionsOutOfTimeWhileTheBrokerIsDown: deadlines outlive a restart (R-E9).
func TestTransactionsOutOfTimeWhileTheBrokerIsDown(t *testing.T) {
	inBubble(t, nil, func(h *house) {
		h.createTopic("a", 1)
		at := partitionName{"a", 0}
		h.begun("id", 5*time.Second, "late", at)
		h.shutdown()
		pass(time.Minute)
		h.open()
		pass(time.Second)
		if _, open := h.committedValues(at); open != 0 {
			t.Error("it is still open")
		}
	})
}

// TestTransactionsOfPartitionsThatAreOffline are decided; the markers that are missing are written when the partition is
// there again (R-E8).
func TestTransactionsOfPartitionsThatAreOffline(t *testing.T) {
	inBubble(t, nil, func(h *house) {
		h.createTopic("a", 1)
		h.createTopic("b", 1)
		a, b := partitionName{"a", 0}, partitionName{"b", 0}
		p := h.begun("id", 15*time.Minute, "both", a, b)
		h.shutdown()
		h.faults = vfs.NewFaults(h.disk)
		heal := h.faults.Fail(vfs.Rule{Op: vfs.OpOpen | vfs.OpRead | vfs.OpList, Name: "*/b-0/*", Err: syscall.EIO})
		h.open()
		p.w = h.wire()
		if h.b.partition("b", 0).Offline() == nil {
			t.Fatal("it is online")
		}
		h.must(retrying(func() error { return p.end(true) }))
		h.expectCommitted(a, "both")
		if s := h.describeTxn("id"); s.State != "PrepareCommit" || len(s.Topics) != 1 || s.Topics[0].Topic != "b" {
			t.Errorf("the coordinator says %+v", s)
		}
		wantError(t, "the next transaction", p.send(a, "next"), kerr.ConcurrentTransactions)
		h.shutdown()
		heal()
		h.open()
		pass(5 * time.Second)
		h.expectCommitted(b, "both")
		if s := h.describeTxn("id"); s.State != "CompleteCommit" {
			t.Errorf("the coordinator says %+v", s)
		}
		p.w = h.wire()
		h.must(p.send(b, "next"))
		h.must(p.end(true))
		h.expectCommitted(b, "both", "next")
	})
}

// TestTransactionsOfDeletedTopics end without them (FR-H28).
func TestTransactionsOfDeletedTopics(t *testing.T) {
	inBubble(t, nil, func(h *house) {
		h.createTopic("a", 1)
		h.createTopic("b", 1)
		p := h.begun("id", 0, "both", partitionName{"a", 0}, partitionName{"b", 0})
		h.deleteTopic("b")
		h.must(p.end(true))
		h.expectCommitted(partitionName{"a", 0}, "both")
		if s := h.describeTxn("id"); s.State != "CompleteCommit" {
			t.Errorf("the coordinator says %+v", s)
		}
	})
}

// TestMarkersOfAnAdmin: a partition's, a group's, and what is refused (R-K28).
func TestMarkersOfAnAdmin(t *testing.T) {
	inBubble(t, nil, func(h *house) {
		h.createTopic("a", 1)
		at := partitionName{"a", 0}
		p := h.begun("id", 15*time.Minute, "x", at)
		h.must(retrying(func() error { return p.commitOffset("g", "a", 7) }))
		shard := int32(0)
		for i := range h.b.groups.current.Load().Shards() {
			if q := h.b.partition(offsetsTopic, int32(i)); q.LastStableOffset() < q.HighWatermark() {
				shard = int32(i)
			}
		}
		mark := api.Mark{Topic: "a", ProducerID: p.producer, ProducerEpoch: p.epoch, CoordinatorEpoch: 5}
		group := mark
		group.Topic, group.Partition = offsetsTopic, shard
		nowhere, stale, raised := mark, mark, mark
		nowhere.Partition, stale.ProducerEpoch, raised.Raised = 1, p.epoch-1, true
		told := make(chan []int16, 1)
		h.b.txns.Mark([]api.Mark{nowhere, stale, raised, mark, group}, func(codes []int16) { told <- codes })
		codes := <-told
		for i, want := range []int16{3, 47, 47, 0, 0} {
			if codes[i] != want {
				t.Errorf("marker %d: code %d, want %d", i, codes[i], want)
			}
		}
		h.expectCommitted(at)
		h.expectOffset("g", "a", -1)
		mark.CoordinatorEpoch = 4
		h.b.txns.Mark([]api.Mark{mark}, func(codes []int16) { told <- codes })
		if codes := <-told; codes[0] != kerr.TransactionCoordinatorFenced.Code {
			t.Errorf("an older coordinator's: code %d", codes[0])
		}
	})
}

// openUnknown opens a transaction in a partition that no coordinator knows of, as a directory from elsewhere may have it.
func (h *house) openUnknown(at partitionName, producer int64) {
	h.t.Helper()
	b := record.NewBuilder(0)
	b.ProducerID, b.ProducerEpoch, b.BaseSequence, b.Transactional = producer, 0, 0, true
	a := &markAppend{done: func(err error) { h.must(err) }}
	a.Records, a.Done = b.Append(time.Now().UnixMilli(), nil, []byte("hangs")).Bytes(), a
	h.b.partition(at.topic, at.index).AppendAt(&a.Append, partition.Anywhere)
	synctest.Wait()
}

// TestTransactionsThatHang are found after a start and aborted; those that somebody knows are left alone. Where partitions do
// not verify, they are only reported.
func TestTransactionsThatHang(t *testing.T) {
	for name, verified := range map[string]bool{"verified": true, "not verified": false} {
		t.Run(name, func(t *testing.T) {
			settings := map[string]string{"transaction.partition.verification.enable": map[bool]string{true: "true", false: "false"}[verified]}
			inBubble(t, settings, func(h *house) {
				h.createTopic("a", 1)
				h.createTopic("b", 1)
				a, b := partitionName{"a", 0}, partitionName{"b", 0}
				p := h.begun("id", 15*time.Minute, "known", a)
				h.openUnknown(a, 4711)
				h.openUnknown(b, 4711)
				h.restart()
				pass(5 * time.Second)
				left := 0
				if !verified {
					left = 1
				}
				if _, open := h.committedValues(a); open != 1+left {
					t.Errorf("%d transactions are open", open)
				}
				if _, open := h.committedValues(b); open != left {
					t.Errorf("%d transactions are open", open)
				}
				if now := h.b.txns.metrics(); now.Hanging != 2 {
					t.Errorf("%d were found", now.Hanging)
				}
				p.w = h.wire()
				h.must(p.end(true))
				h.expectCommitted(a, "known")
			})
		})
	}
}

// TestLater does things in the order of their moments, and what is not due at the end is not done.
func TestLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &later{now: time.Now}
		l.start()
		var mu sync.Mutex
		var did []string
		for what, after := range map[string]time.Duration{"second": 2 * time.Second, "first": time.Second, "never": time.Hour} {
			l.after(after, func() {
				mu.Lock()
				defer mu.Unlock()
				did = append(did, what)
			})
		}
		pass(3 * time.Second)
		l.stop()
		l.after(0, func() { t.Error("after the end") })
		pass(2 * time.Hour)
		if got := strings.Join(did, " "); got != "first second" {
			t.Errorf("did %s", got)
		}
	})
}

// TestProducerIDs are everybody's own, whoever comes at the same time, and over restarts.
func TestProducerIDs(t *testing.T) {
	inBubble(t, nil, func(h *house) {
		var mu sync.Mutex
		seen := map[int64]bool{}
		for range 2 {
			for range 2*producerBlock + 1 {
				h.b.txns.ProducerID(func(id int64, err error) {
					mu.Lock()
					defer mu.Unlock()
					if err != nil || seen[id] {
						t.Errorf("%d was given out again: %v", id, err)
					}
					seen[id] = true
				})
			}
			synctest.Wait()
			h.restart()
		}
		if len(seen) != 2*(2*producerBlock+1) {
			t.Errorf("%d ids", len(seen))
		}
	})
}

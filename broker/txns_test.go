//go:build synctests

package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// kafkaClient is a client of the broker.
func (h *house) kafkaClient(opts ...kgo.Opt) *kgo.Client {
	h.t.Helper()
	c, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers("skein:9092"), kgo.Dialer(h.dialer), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.DisableClientMetrics(),
		kgo.ProducerLinger(0),
	}, opts...)...)
	if err != nil {
		h.t.Fatal(err)
	}
	return c
}

// values is what a reader gets of a topic from its start up to where it may read now.
func (h *house) values(topic string, committed bool) (values []string) {
	h.t.Helper()
	isolation := kgo.ReadUncommitted()
	if committed {
		isolation = kgo.ReadCommitted()
	}
	c := h.kafkaClient(kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(isolation), kgo.FetchMaxWait(10*time.Millisecond))
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	for ctx.Err() == nil {
		c.PollFetches(ctx).EachRecord(func(r *kgo.Record) { values = append(values, string(r.Value)) })
	}
	slices.Sort(values)
	return values
}

func (h *house) expectValues(topic string, committed bool, want ...string) {
	h.t.Helper()
	if got := h.values(topic, committed); !slices.Equal(got, want) {
		h.t.Errorf("%s (committed: %t) has %v, want %v", topic, committed, got, want)
	}
}

// TestTransactions: a client commits and aborts; who reads what is committed sees all of it at once, and nothing else.
func TestTransactions(t *testing.T) {
	inBubble(t, nil, func(h *house) {
		h.createTopic("a", 2)
		h.createTopic("b", 1)
		ctx := context.Background()
		p := h.kafkaClient(kgo.TransactionalID("id"))
		defer p.Close()
		send := func(value string) {
			h.must(p.ProduceSync(ctx, &kgo.Record{Topic: "a", Partition: 0, Value: []byte(value)}, &kgo.Record{Topic: "a", Partition: 1, Value: []byte(value)},
				&kgo.Record{Topic: "b", Value: []byte(value)}).FirstErr())
		}
		for i := range 3 {
			h.must(p.BeginTransaction())
			send(fmt.Sprint("commit ", i))
			if i == 0 {
				h.expectValues("a", true)
				h.expectValues("b", false, "commit 0")
			}
			h.must(p.EndTransaction(ctx, kgo.TryCommit))
			h.must(p.BeginTransaction())
			send(fmt.Sprint("abort ", i))
			h.must(p.EndTransaction(ctx, kgo.TryAbort))
		}
		h.expectValues("a", true, "commit 0", "commit 0", "commit 1", "commit 1", "commit 2", "commit 2")
		h.expectValues("b", true, "commit 0", "commit 1", "commit 2")
		for topic := range h.b.table.Topics {
			for _, q := range topic.Partitions() {
				if q.LastStableOffset() != q.HighWatermark() {
					t.Errorf("%s-%d is stable up to %d of %d", topic.Name, q.Index(), q.LastStableOffset(), q.HighWatermark())
				}
			}
		}
		if now := h.b.txns.metrics(); now.Committed != 3 || now.Aborted != 3 || now.Serving != 50 || now.States["CompleteAbort"] != 1 {
			t.Errorf("metrics: %+v", now)
		}
		h.restart()
		h.expectValues("b", true, "commit 0", "commit 1", "commit 2")
		h.must(p.BeginTransaction())
		send("commit 3")
		h.must(p.EndTransaction(ctx, kgo.TryCommit))
		h.expectValues("b", true, "commit 0", "commit 1", "commit 2", "commit 3")
	})
}

// transactOffsets produces and commits an offset within a transaction.
func (h *house) transactOffsets(ctx context.Context, p *kgo.Client, group, topic string, offset int64, commit bool, value string) error {
	if err := p.BeginTransaction(); err != nil {
		return err
	}
	if err := p.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: []byte(value)}).FirstErr(); err != nil {
		return err
	}
	id, epoch, err := p.ProducerID(ctx)
	if err != nil {
		return err
	}
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.TransactionalID, req.Group, req.ProducerID, req.ProducerEpoch = "id", group, id, epoch
	req.Generation = -1
	top, part := kmsg.NewTxnOffsetCommitRequestTopic(), kmsg.NewTxnOffsetCommitRequestTopicPartition()
	top.Topic, top.TopicID, part.Offset = topic, h.b.catalog.Snapshot().Topic(topic).ID, offset
	part.LeaderEpoch, part.Metadata = 3, kmsg.StringPtr(fmt.Sprint("at ", offset))
	top.Partitions = append(top.Partitions, part)
	req.Topics = append(req.Topics, top)
	add := kmsg.NewPtrAddOffsetsToTxnRequest()
	add.TransactionalID, add.Group, add.ProducerID, add.ProducerEpoch = "id", group, id, epoch
	added, err := add.RequestWith(ctx, p)
	if err = errors.Join(err, codeOf(added.ErrorCode)); err != nil {
		return err
	}
	resp, err := req.RequestWith(ctx, p)
	if err != nil {
		return err
	}
	if err := codeOf(resp.Topics[0].Partitions[0].ErrorCode); err != nil {
		return err
	}
	return p.EndTransaction(ctx, kgo.TransactionEndTry(commit))
}

func codeOf(code int16) error { return kerr.ErrorForCode(code) }

// TestTransactionsOfOffsets: what a group has consumed becomes visible with what was made of it, or not at all.
func TestTransactionsOfOffsets(t *testing.T) {
	inBubble(t, nil, func(h *house) {
		h.createTopic("out", 1)
		ctx := context.Background()
		p := h.kafkaClient(kgo.TransactionalID("id"))
		defer p.Close()
		h.must(h.transactOffsets(ctx, p, "g", "out", 5, true, "five"))
		h.expectOffset("g", "out", 5)
		h.must(h.transactOffsets(ctx, p, "g", "out", 7, false, "seven"))
		h.expectOffset("g", "out", 5)
		h.expectValues("out", true, "five")
		h.restart()
		h.expectOffset("g", "out", 5)
		h.must(h.transactOffsets(ctx, p, "g", "out", 9, true, "nine"))
		h.expectOffset("g", "out", 9)
		synctest.Wait()
	})
}

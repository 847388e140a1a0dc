package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/IBM/sarama"
)

// saramaHandler has a producer for each partition that it is given: sessions
// handle partitions side by side. Either its transactional id is the
// partition's, so that it fences whoever had the partition before; or it is the
// worker's, and the group's metadata fence.
type saramaHandler struct {
	a        arguments
	config   *sarama.Config
	mu       sync.Mutex
	attempts int
}

func saramaWorker(ctx context.Context, a arguments) error {
	config := saramaConfig(a)
	h := &saramaHandler{a: a, config: config}
	if a.byGroup {
		if err := h.endAll(); err != nil {
			return err
		}
	}
	g, err := sarama.NewConsumerGroup([]string{a.bootstrap}, a.group, config)
	if err != nil {
		return err
	}
	go func() { // ends with Close
		for err := range g.Errors() {
			fmt.Fprintln(os.Stderr, "sarama:", err)
		}
	}()
	for ctx.Err() == nil {
		if err := g.Consume(ctx, []string{a.input}, h); err != nil && ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, "consuming:", err) // the broker starts again
			time.Sleep(10 * pause)
		}
	}
	return g.Close()
}

func saramaConfig(a arguments) *sarama.Config {
	config := sarama.NewConfig()
	config.Version, config.ClientID = sarama.V3_6_0_0, a.name
	group := &config.Consumer.Group
	group.Session.Timeout, group.Heartbeat.Interval = a.session, a.heartbeat
	group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{sarama.NewBalanceStrategyRange()}
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.IsolationLevel = sarama.ReadCommitted
	config.Consumer.MaxWaitTime = 100 * time.Millisecond
	config.Consumer.Return.Errors = true
	config.Consumer.Retry.Backoff = 200 * time.Millisecond
	config.Metadata.Retry.Max = 50
	config.Net.MaxOpenRequests = 1
	config.Producer.Idempotent = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Producer.Return.Successes = true
	config.Producer.Retry.Max = 50
	config.Producer.Transaction.Timeout = a.timeout
	return config
}

// endAll ends what an earlier worker of this name has left open: while its
// offsets are not stable nobody gets the partition.
func (h *saramaHandler) endAll() error {
	for p := range int32(h.a.partitions) {
		producer, err := h.producer(p)
		if err != nil {
			return err
		}
		producer.Close()
	}
	return nil
}

// producer ends what an earlier one of its transactional id has left open.
func (h *saramaHandler) producer(partition int32) (sarama.SyncProducer, error) {
	config := *h.config
	config.Producer.Transaction.ID = fmt.Sprintf("%s-%d", h.a.transactionalID, partition)
	return sarama.NewSyncProducer([]string{h.a.bootstrap}, &config)
}

func (h *saramaHandler) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (h *saramaHandler) Cleanup(sarama.ConsumerGroupSession) error { return nil }

// ConsumeClaim handles a partition until it is taken.
func (h *saramaHandler) ConsumeClaim(s sarama.ConsumerGroupSession, c sarama.ConsumerGroupClaim) error {
	w := &saramaClaim{saramaHandler: h, session: s, claim: c}
	defer func() {
		if w.producer != nil {
			w.producer.Close()
		}
	}()
	var batch []*sarama.ConsumerMessage
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		select {
		case m, open := <-c.Messages():
			if !open {
				return nil
			}
			if batch = append(batch, m); len(batch) < batchSize {
				continue
			}
		case <-tick.C:
		case <-s.Context().Done():
			return nil
		}
		if err := w.handle(batch); err != nil {
			return err
		}
		batch = nil
	}
}

// saramaClaim is a partition while this member has it.
type saramaClaim struct {
	*saramaHandler
	session  sarama.ConsumerGroupSession
	claim    sarama.ConsumerGroupClaim
	producer sarama.SyncProducer
	next     int64 // what is below is handled
}

// handle has a batch handled, if need be in several attempts, while the
// partition is this member's.
func (w *saramaClaim) handle(batch []*sarama.ConsumerMessage) error {
	for len(batch) > 0 && w.session.Context().Err() == nil {
		if w.producer == nil {
			if err := w.takeOver(); err != nil {
				fmt.Fprintln(os.Stderr, "taking over:", err)
				time.Sleep(10 * pause)
				continue
			}
		}
		for len(batch) > 0 && batch[0].Offset < w.next {
			batch = batch[1:]
		}
		if len(batch) == 0 {
			break
		}
		if err := w.transact(batch); err != nil {
			return err
		}
	}
	return nil
}

// takeOver first fences who had the partition before, and only then asks where
// the group is: the session has asked before, when a partition's earlier owner may
// not have been fenced, or this one not have known what it had committed.
func (w *saramaClaim) takeOver() error {
	producer, err := w.saramaHandler.producer(w.claim.Partition())
	if err != nil {
		return err
	}
	if w.next, err = w.committed(); err != nil {
		producer.Close()
		return err
	}
	w.producer = producer
	return nil
}

func (w *saramaClaim) committed() (int64, error) {
	admin, err := sarama.NewClusterAdmin([]string{w.a.bootstrap}, w.config)
	if err != nil {
		return 0, err
	}
	defer admin.Close()
	answer, err := admin.ListConsumerGroupOffsets(w.a.group, map[string][]int32{w.a.input: {w.claim.Partition()}})
	if err != nil {
		return 0, err
	}
	block := answer.GetBlock(w.a.input, w.claim.Partition())
	if block == nil {
		return 0, errors.New("no answer about the partition")
	}
	if block.Err != sarama.ErrNoError {
		return 0, block.Err
	}
	return block.Offset, nil
}

// transact tries to handle a batch. When it is not known whether that is
// committed the partition is taken over anew.
func (w *saramaClaim) transact(batch []*sarama.ConsumerMessage) error {
	attempt := w.begin(len(batch))
	var messages []*sarama.ProducerMessage
	for _, m := range batch {
		to, text, err := w.a.transformed(m.Value, attempt, len(batch))
		if err != nil {
			return err
		}
		messages = append(messages, &sarama.ProducerMessage{Topic: w.a.output, Partition: to, Value: sarama.StringEncoder(text)})
	}
	last := batch[len(batch)-1]
	err := w.send(messages, last)
	if err == nil {
		time.Sleep(pause)
		say("ending %d", attempt)
		if attempt%abortEvery != 0 {
			if err = w.producer.CommitTxn(); err == nil {
				say("committed %d", attempt)
				w.next = last.Offset + 1
				return nil
			}
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "transaction", attempt, ":", err)
	}
	w.abort(attempt, err)
	return nil
}

func (w *saramaClaim) begin(size int) (attempt int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.attempts++
	say("began %d %d", w.attempts, size)
	return w.attempts
}

func (w *saramaClaim) send(messages []*sarama.ProducerMessage, last *sarama.ConsumerMessage) error {
	if err := w.producer.BeginTxn(); err != nil {
		return err
	}
	if err := w.producer.SendMessages(messages); err != nil {
		return err
	}
	// AddMessageToTxn would say that the leader epoch is 0. After a start of the
	// broker, which begins an epoch, Java takes that for a log cut off where epoch 0
	// ended, and handles again what is committed; with Kafka as with Skein.
	offsets := map[string][]*sarama.PartitionOffsetMetadata{last.Topic: {{Partition: last.Partition, Offset: last.Offset + 1, LeaderEpoch: -1}}}
	if w.a.byGroup {
		return w.producer.AddOffsetsToTxnWithGroupMetadata(offsets, sarama.NewConsumerGroupMetadataFromSession(w.session, w.a.group, nil))
	}
	return w.producer.AddOffsetsToTxn(offsets, w.a.group)
}

// abort ends a transaction by request or after a failure. Only the former is
// sure to say what became of it.
func (w *saramaClaim) abort(attempt int, failure error) {
	err := failure
	if w.producer.TxnStatus()&sarama.ProducerTxnFlagFatalError == 0 {
		if err = w.producer.AbortTxn(); err == nil && failure == nil {
			say("aborted %d", attempt)
			return
		}
	}
	fmt.Fprintln(os.Stderr, "after transaction", attempt, ":", err)
	w.producer.Close()
	w.producer = nil
}

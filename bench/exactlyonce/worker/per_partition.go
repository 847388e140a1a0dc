package worker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
	"golang.org/x/sync/errgroup"
)

// perPartition is the way before KIP-447: a transactional producer for each
// partition of the input, so that whoever takes the partition over fences the
// one before. Its member and what it sends are as franz-go has them.
type perPartition struct {
	a      arguments
	member *kgo.Client

	mu        sync.Mutex
	producers map[int32]*kgo.Client
}

func franzPerPartition(ctx context.Context, a arguments) error {
	w := &perPartition{a: a, producers: map[int32]*kgo.Client{}}
	var err error
	w.member, err = kgo.NewClient(franzOptions(a, append(reading(a), kgo.BlockRebalanceOnPoll(),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, added map[string][]int32) { report(w.take(added[a.input])) }),
		kgo.OnPartitionsRevoked(func(_ context.Context, _ *kgo.Client, gone map[string][]int32) { w.drop(gone[a.input]) }),
		kgo.OnPartitionsLost(func(_ context.Context, _ *kgo.Client, gone map[string][]int32) { w.drop(gone[a.input]) }))...)...)
	if err != nil {
		return err
	}
	defer w.member.CloseAllowingRebalance()
	for ctx.Err() == nil {
		if err := w.transact(ctx); err != nil {
			return err
		}
		w.member.AllowRebalance()
	}
	return nil
}

// take has a producer for each partition that is new; it fences the one before.
func (w *perPartition) take(partitions []int32) error {
	var work errgroup.Group
	for _, p := range partitions {
		work.Go(func() error {
			client, err := kgo.NewClient(franzOptions(w.a, kgo.TransactionalID(w.id(p)), kgo.MaxVersions(withNames()))...)
			if err != nil {
				return err
			}
			if _, _, err := client.ProducerID(context.Background()); err != nil {
				client.Close()
				return fmt.Errorf("fencing the last owner of partition %d: %w", p, err)
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			w.producers[p] = client
			return nil
		})
	}
	return work.Wait()
}

// drop ends the producers of partitions, whose transactions are over: rebalances
// wait for them.
func (w *perPartition) drop(partitions []int32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range partitions {
		if client := w.producers[p]; client != nil {
			client.Close()
			delete(w.producers, p)
		}
	}
}

// transact copies what comes within an interval, each partition in a transaction
// of its own, all at once.
func (w *perPartition) transact(ctx context.Context) error {
	batches := map[int32][]*kgo.Record{}
	err := gather(ctx, w.a.interval, w.member.PollFetches, func(r *kgo.Record) {
		batches[r.Partition] = append(batches[r.Partition], r)
	})
	if err != nil {
		return err
	}
	var work errgroup.Group
	for p, records := range batches {
		work.Go(func() error {
			if err := w.copy(context.Background(), p, records); err != nil {
				return fmt.Errorf("copying partition %d: %w", p, err)
			}
			return nil
		})
	}
	return work.Wait()
}

func (w *perPartition) copy(ctx context.Context, partition int32, records []*kgo.Record) error {
	w.mu.Lock()
	client := w.producers[partition]
	w.mu.Unlock()
	if client == nil {
		return errors.New("it has no producer")
	}
	if err := client.BeginTransaction(); err != nil {
		return err
	}
	var failed failure
	for _, r := range records {
		client.Produce(ctx, copied(r), failed.promise)
	}
	if err := errors.Join(client.Flush(ctx), failed.first()); err != nil {
		return err
	}
	if err := w.offsets(ctx, client, partition, records[len(records)-1]); err != nil {
		return err
	}
	return client.EndTransaction(ctx, kgo.TryCommit)
}

// id is the transactional id that belongs to a partition.
func (w *perPartition) id(partition int32) string {
	return fmt.Sprintf("%s-%s-%d", w.a.group, w.a.input, partition)
}

// withNames are the versions of which TxnOffsetCommit tells topics by their
// names. It needs no AddOffsetsToTxn before it when records were sent in the
// same transaction, as here (KIP-890).
func withNames() *kversion.Versions {
	versions := kversion.Stable()
	versions.SetMaxKeyVersion(int16(kmsg.TxnOffsetCommit), 5)
	return versions
}

// offsets puts the offset after last into the transaction.
func (w *perPartition) offsets(ctx context.Context, client *kgo.Client, partition int32, last *kgo.Record) error {
	id, epoch, err := client.ProducerID(ctx)
	if err != nil {
		return err
	}
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.TransactionalID, req.Group = w.id(partition), w.a.group
	req.ProducerID, req.ProducerEpoch = id, epoch
	req.MemberID, req.Generation = w.member.GroupMetadata()
	t, p := kmsg.NewTxnOffsetCommitRequestTopic(), kmsg.NewTxnOffsetCommitRequestTopicPartition()
	p.Partition, p.Offset, p.LeaderEpoch = partition, last.Offset+1, last.LeaderEpoch
	t.Topic, t.Partitions = w.a.input, append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	for {
		resp, err := req.RequestWith(ctx, client)
		if err != nil {
			return fmt.Errorf("sending its offset: %w", err)
		}
		err = kerr.ErrorForCode(resp.Topics[0].Partitions[0].ErrorCode)
		if !errors.Is(err, kerr.ConcurrentTransactions) && !errors.Is(err, kerr.CoordinatorLoadInProgress) {
			return err
		}
		time.Sleep(offsetsBackoff)
	}
}

// offsetsBackoff is Kafka's retry.backoff.ms of transactions that wait for one
// another.
const offsetsBackoff = 20 * time.Millisecond

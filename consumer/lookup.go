package consumer

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/consumer/internal/reset"
)

// askTimeout bounds questions whose context does not.
const askTimeout = time.Minute

// BeginningOffsets asks for the first offset that is kept of each partition. Like the other questions it asks again while the trouble may pass,
// until ctx ends, or a minute if ctx does not end by itself.
func (c *Consumer) BeginningOffsets(ctx context.Context, list ...TopicPartition) (map[TopicPartition]int64, error) {
	return c.offsetsAt(ctx, list, reset.Start)
}

// EndOffsets asks for the offset after the last record of each partition; with Config.ReadCommitted that of the first transaction that is not
// decided, if there is one.
func (c *Consumer) EndOffsets(ctx context.Context, list ...TopicPartition) (map[TopicPartition]int64, error) {
	return c.offsetsAt(ctx, list, reset.End)
}

func (c *Consumer) offsetsAt(ctx context.Context, list []TopicPartition, ts int64) (map[TopicPartition]int64, error) {
	found, err := c.lookUp(ctx, list, ts)
	if err != nil {
		return nil, err
	}
	offsets := make(map[TopicPartition]int64, len(found))
	for tp, at := range found {
		offsets[tp] = at.at
	}
	return offsets, nil
}

// OffsetsForTimes asks for the first record of each partition that is not older than a time. Partitions without such a record are left out.
// Brokers count in milliseconds.
func (c *Consumer) OffsetsForTimes(ctx context.Context, times map[TopicPartition]time.Time) (Offsets, error) {
	lists := map[int64][]TopicPartition{}
	for tp, at := range times {
		ms := at.UnixMilli()
		if ms < 0 {
			return nil, fmt.Errorf("asking for the records of %v: brokers know no time before 1970", at)
		}
		lists[ms] = append(lists[ms], tp)
	}
	offsets := Offsets{}
	for ms, list := range lists {
		found, err := c.lookUp(ctx, list, ms)
		if err != nil {
			return nil, err
		}
		for tp, at := range found {
			if at.at >= 0 {
				offsets[tp] = Offset{At: at.at, LeaderEpoch: at.epoch}
			}
		}
	}
	return offsets, nil
}

// lookUp is list, until all partitions have answered.
func (c *Consumer) lookUp(ctx context.Context, list []TopicPartition, ts int64) (map[TopicPartition]place, error) {
	all := map[TopicPartition]place{}
	rest := slices.Clone(list)
	err := persist(ctx, func(ctx context.Context) error {
		found, err := c.list(ctx, rest, ts)
		if err != nil {
			return err
		}
		rest = slices.DeleteFunc(rest, func(tp TopicPartition) bool {
			at, ok := found[tp]
			if ok {
				all[tp] = at
			}
			return ok
		})
		if len(rest) > 0 {
			return fmt.Errorf("%s: %w: does it exist, and is its leader up?", names(rest), kerr.LeaderNotAvailable)
		}
		return nil
	})
	return all, err
}

// persist calls f until it succeeds, fails for good, or ctx ends, with waits that grow.
func persist(ctx context.Context, f func(context.Context) error) (err error) {
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, askTimeout)
		defer cancel()
	}
	for range attempts(ctx) {
		if err = f(ctx); err == nil || !passing(err) {
			return err
		}
	}
	return fmt.Errorf("%w (%w)", err, context.Cause(ctx))
}

// PartitionInfo is what the cluster says of a partition.
type PartitionInfo struct {
	TopicPartition
	// Leader is the broker that has the partition, -1 for none at the moment.
	Leader int32
	// Replicas are the brokers that have it or are to have it, InSync those that keep up, Offline those that are away.
	Replicas, InSync, Offline []int32
}

// String says where the partition is.
func (p PartitionInfo) String() string {
	return fmt.Sprintf("%s: leader %d, replicas %v, in sync %v, offline %v", p.TopicPartition, p.Leader, p.Replicas, p.InSync, p.Offline)
}

// PartitionsFor asks for the partitions of a topic, in order. A topic that is not there is kerr.UnknownTopicOrPartition.
func (c *Consumer) PartitionsFor(ctx context.Context, topic string) (list []PartitionInfo, err error) {
	req := kmsg.NewPtrMetadataRequest()
	t := kmsg.NewMetadataRequestTopic()
	t.Topic = kmsg.StringPtr(topic)
	req.Topics = append(req.Topics, t)
	var resp *kmsg.MetadataResponse
	err = persist(ctx, func(ctx context.Context) error {
		if resp, err = req.RequestWith(ctx, c.kafka); err != nil {
			return err
		}
		if len(resp.Topics) != 1 {
			return fmt.Errorf("%d topics were answered", len(resp.Topics))
		}
		if err = kerr.ErrorForCode(resp.Topics[0].ErrorCode); err == kerr.UnknownTopicOrPartition {
			return nil // which is an answer
		}
		return err
	})
	if err == nil {
		err = kerr.ErrorForCode(resp.Topics[0].ErrorCode)
	}
	if err != nil {
		return nil, fmt.Errorf("asking for the partitions of topic %q: %w", topic, err)
	}
	for _, p := range resp.Topics[0].Partitions {
		list = append(list, PartitionInfo{
			TopicPartition: TopicPartition{Topic: topic, Partition: p.Partition},
			Leader:         p.Leader, Replicas: p.Replicas, InSync: p.ISR, Offline: p.OfflineReplicas,
		})
	}
	slices.SortFunc(list, func(a, b PartitionInfo) int { return a.TopicPartition.Compare(b.TopicPartition) })
	return list, nil
}

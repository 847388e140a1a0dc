package consumer

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/consumer/internal/reset"
)

// committed asks for what the group has committed. Partitions of which that is unknown yet, since a transaction is to decide it, are
// named; those in neither have no offset. Without a group nothing has.
func (c *Consumer) committed(ctx context.Context, list []TopicPartition) (found Offsets, unknown map[TopicPartition]bool, err error) {
	found, unknown = Offsets{}, map[TopicPartition]bool{}
	if c.cfg.Group == "" || len(list) == 0 {
		return found, unknown, nil
	}
	resp, err := c.offsetFetch(list).RequestWith(ctx, c.kafka)
	if err != nil {
		return nil, nil, fmt.Errorf("asking for the offsets of group %q: %w", c.cfg.Group, err)
	}
	c.warnUnstable(resp.Version)
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return nil, nil, fmt.Errorf("asking for the offsets of group %q: %w", c.cfg.Group, err)
	}
	for _, tp := range list {
		unknown[tp] = true // until it is answered: none is not to be taken for no offset, which is met by a reset
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			tp := TopicPartition{Topic: t.Topic, Partition: p.Partition}
			delete(unknown, tp)
			err := kerr.ErrorForCode(p.ErrorCode)
			switch {
			case err != nil && passing(err):
				unknown[tp] = true
			case err != nil:
				return nil, nil, fmt.Errorf("asking for the offset of %s-%d: %w", t.Topic, p.Partition, err)
			case p.Offset >= 0:
				found[tp] = Offset{At: p.Offset, LeaderEpoch: p.LeaderEpoch, Metadata: text(p.Metadata)}
			}
		}
	}
	return found, unknown, nil
}

func (c *Consumer) offsetFetch(list []TopicPartition) *kmsg.OffsetFetchRequest {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Group, req.RequireStable = c.cfg.Group, c.cfg.ReadCommitted
	for topic, partitions := range byTopic(list) {
		t := kmsg.NewOffsetFetchRequestTopic()
		t.Topic, t.Partitions = topic, partitions
		req.Topics = append(req.Topics, t)
	}
	return req
}

// listOrEnd is list, with the end of the log for partitions that have no record as young as that.
func (c *Consumer) listOrEnd(ctx context.Context, list []TopicPartition, ts int64) (map[TopicPartition]place, error) {
	found, err := c.list(ctx, list, ts)
	if err != nil || ts < 0 {
		return found, err
	}
	var old []TopicPartition
	for tp, at := range found {
		if at.at < 0 {
			old = append(old, tp)
			delete(found, tp)
		}
	}
	if len(old) == 0 {
		return found, nil
	}
	ends, err := c.list(ctx, old, reset.End)
	for tp, at := range ends {
		found[tp] = at
	}
	return found, err
}

// list asks the leaders of partitions for an offset: reset.Start, reset.End (the last stable one with ReadCommitted), or the first whose time,
// in milliseconds since 1970, is not less; -1 is that there is none. Partitions whose leader does not answer for now are left out; an
// error is one that will not pass.
func (c *Consumer) list(ctx context.Context, list []TopicPartition, ts int64) (map[TopicPartition]place, error) {
	found := map[TopicPartition]place{}
	if len(list) == 0 {
		return found, nil
	}
	for _, shard := range c.kafka.RequestSharded(ctx, c.listOffsets(list, ts)) {
		if shard.Err != nil {
			if !passing(shard.Err) {
				return nil, fmt.Errorf("asking for offsets of partitions: %w", shard.Err)
			}
			continue
		}
		if err := readListed(shard.Resp.(*kmsg.ListOffsetsResponse), ts, found); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func readListed(resp *kmsg.ListOffsetsResponse, ts int64, found map[TopicPartition]place) error {
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			err := kerr.ErrorForCode(p.ErrorCode)
			switch {
			case err == nil && ts < 0 && p.Offset < 0: // no log has its bounds there: asked again
			case err == nil:
				found[TopicPartition{Topic: t.Topic, Partition: p.Partition}] = place{p.Offset, p.LeaderEpoch}
			case !passing(err):
				return fmt.Errorf("asking for an offset of %s-%d: %w", t.Topic, p.Partition, err)
			}
		}
	}
	return nil
}

func (c *Consumer) listOffsets(list []TopicPartition, ts int64) *kmsg.ListOffsetsRequest {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	if c.cfg.ReadCommitted {
		req.IsolationLevel = 1
	}
	for topic, partitions := range byTopic(list) {
		t := kmsg.NewListOffsetsRequestTopic()
		t.Topic = topic
		for _, p := range partitions {
			part := kmsg.NewListOffsetsRequestTopicPartition()
			part.Partition, part.Timestamp, part.CurrentLeaderEpoch = p, ts, -1
			t.Partitions = append(t.Partitions, part)
		}
		req.Topics = append(req.Topics, t)
	}
	return req
}

func byTopic(list []TopicPartition) map[string][]int32 {
	topics := map[string][]int32{}
	for _, p := range list {
		topics[p.Topic] = append(topics[p.Topic], p.Partition)
	}
	return topics
}

// passing says that an error may be gone when one tries again: all but those in which the broker says no for good.
func passing(err error) bool {
	if e, ok := errors.AsType[*kerr.Error](err); ok {
		return e.Retriable
	}
	return true
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

package main

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// admin asks a broker how far groups have come, and who is open.
type admin struct{ client *kgo.Client }

func newAdmin(addr string) (admin, error) {
	versions := kversion.Stable()
	versions.SetMaxKeyVersion(int16(kmsg.OffsetCommit), 9) // newer ones name topics by ids (KIP-848)
	versions.SetMaxKeyVersion(int16(kmsg.OffsetFetch), 9)
	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.MaxVersions(versions))
	return admin{client}, err
}

// committed are the offsets that a group has committed of a topic, by partition;
// those in open transactions are not in it.
func (a admin) committed(ctx context.Context, group, topic string, partitions int) (map[int32]int64, error) {
	t := kmsg.NewOffsetFetchRequestTopic()
	t.Topic = topic
	for p := range int32(partitions) {
		t.Partitions = append(t.Partitions, p)
	}
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Group, req.Topics = group, []kmsg.OffsetFetchRequestTopic{t}
	resp, err := req.RequestWith(ctx, a.client)
	if err == nil {
		err = kerr.ErrorForCode(resp.ErrorCode)
	}
	if kerr.IsRetriable(err) {
		return nil, nil // a broker's first group waits for its coordinator
	}
	if err != nil {
		return nil, fmt.Errorf("asking for the offsets of %s: %w", group, err)
	}
	found := map[int32]int64{}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return nil, fmt.Errorf("asking for the offset of partition %d: %w", p.Partition, err)
			}
			if p.Offset >= 0 {
				found[p.Partition] = p.Offset
			}
		}
	}
	return found, nil
}

// stable tells whether the group is at rest with so many members.
func (a admin) stable(ctx context.Context, group string, members int) (bool, error) {
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Groups = []string{group}
	resp, err := req.RequestWith(ctx, a.client)
	if err != nil {
		return false, fmt.Errorf("describing %s: %w", group, err)
	}
	return len(resp.Groups) == 1 && resp.Groups[0].State == "Stable" && len(resp.Groups[0].Members) == members, nil
}

// transactionalIDs are those that the broker knows.
func (a admin) transactionalIDs(ctx context.Context) (map[string]bool, error) {
	resp, err := kmsg.NewPtrListTransactionsRequest().RequestWith(ctx, a.client)
	if err != nil {
		return nil, fmt.Errorf("listing transactions: %w", err)
	}
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return nil, fmt.Errorf("listing transactions: %w", err)
	}
	found := map[string]bool{}
	for _, t := range resp.TransactionStates {
		found[t.TransactionalID] = true
	}
	return found, nil
}

// remove deletes topics: the disk has room for those that are measured.
func (a admin) remove(ctx context.Context, topics ...string) error {
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TimeoutMillis = 30_000
	for _, name := range topics {
		t := kmsg.NewDeleteTopicsRequestTopic()
		t.Topic = kmsg.StringPtr(name)
		req.Topics, req.TopicNames = append(req.Topics, t), append(req.TopicNames, name)
	}
	resp, err := req.RequestWith(ctx, a.client)
	if err != nil {
		return fmt.Errorf("deleting topics: %w", err)
	}
	for _, t := range resp.Topics {
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil {
			return fmt.Errorf("deleting a topic: %w", err)
		}
	}
	return nil
}

// ends are the offsets after the last records of a topic, by partition.
func (a admin) ends(ctx context.Context, topic string, partitions int) (map[int32]int64, error) {
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic = topic
	for p := range int32(partitions) {
		part := kmsg.NewListOffsetsRequestTopicPartition()
		part.Partition, part.Timestamp = p, -1 // the end
		t.Partitions = append(t.Partitions, part)
	}
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID, req.Topics = -1, []kmsg.ListOffsetsRequestTopic{t}
	resp, err := req.RequestWith(ctx, a.client)
	if err != nil {
		return nil, fmt.Errorf("asking for the end of %s: %w", topic, err)
	}
	found := map[int32]int64{}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return nil, fmt.Errorf("asking for the end of %s-%d: %w", topic, p.Partition, err)
			}
			found[p.Partition] = p.Offset
		}
	}
	return found, nil
}

// commit commits offsets for a group that has no members.
func (a admin) commit(ctx context.Context, group, topic string, offsets map[int32]int64) error {
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic = topic
	for partition, offset := range offsets {
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset = partition, offset
		t.Partitions = append(t.Partitions, p)
	}
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.Topics = group, append(req.Topics, t)
	resp, err := req.RequestWith(ctx, a.client)
	if err != nil {
		return fmt.Errorf("committing where %s begins: %w", group, err)
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return fmt.Errorf("committing where %s begins in partition %d: %w", group, p.Partition, err)
			}
		}
	}
	return nil
}

// sum is how many records offsets are, of partitions that begin with 0.
func sum(offsets map[int32]int64) (all int64) {
	for _, o := range offsets {
		all += o
	}
	return all
}

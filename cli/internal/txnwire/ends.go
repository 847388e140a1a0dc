package txnwire

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/cli/internal/txns"
)

// Isolation levels as requests have them, and what ListOffsets calls the end.
const (
	uncommitted int8  = 0
	committed   int8  = 1
	theEnd      int64 = -1
)

// Ends asks where partitions end. The end comes before the last stable offset, so that a transaction that is open all the while
// shows.
func (c Client) Ends(ctx context.Context, places []txns.Place) (map[txns.Place]txns.Ends, error) {
	high, err := c.ends(ctx, places, uncommitted)
	if err != nil && len(high) == 0 {
		return nil, err
	}
	stable, again := c.ends(ctx, places, committed)
	out := map[txns.Place]txns.Ends{}
	for p, h := range high {
		if s, told := stable[p]; told {
			out[p] = txns.Ends{High: h, Stable: s}
		}
	}
	return out, errors.Join(err, again)
}

func (c Client) ends(ctx context.Context, places []txns.Place, level int8) (map[txns.Place]int64, error) {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID, req.IsolationLevel = -1, level
	for topic, partitions := range byTopic(places) {
		t := kmsg.NewListOffsetsRequestTopic()
		t.Topic = topic
		for _, index := range partitions {
			p := kmsg.NewListOffsetsRequestTopicPartition()
			p.Partition, p.Timestamp = index, theEnd
			t.Partitions = append(t.Partitions, p)
		}
		req.Topics = append(req.Topics, t)
	}
	out := map[txns.Place]int64{}
	var failures []error
	err := c.each(ctx, req, func(_ kgo.BrokerMetadata, resp kmsg.Response) {
		for _, t := range resp.(*kmsg.ListOffsetsResponse).Topics {
			for _, p := range t.Partitions {
				at := txns.Place{Topic: t.Topic, Partition: p.Partition}
				if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
					failures = append(failures, refused("tell where "+at.String()+" ends", err))
					continue
				}
				out[at] = p.Offset
			}
		}
	})
	return out, errors.Join(append(failures, err)...)
}

// firstBytes is how much is read of a batch: its header has its times, and a broker sends a whole batch anyway.
const firstBytes = 64

// since tells when the batch at an offset was written, the zero time if that cannot be told: who may look for hanging
// transactions may not always read.
func (c Client) since(ctx context.Context, topic kadm.TopicDetail, at txns.Place, offset int64) time.Time {
	within, cancel := c.Within(ctx)
	defer cancel()
	req := kmsg.NewPtrFetchRequest()
	req.MaxBytes = firstBytes
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.TopicID = at.Topic, topic.ID
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.FetchOffset, p.PartitionMaxBytes = at.Partition, offset, firstBytes
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	resp, err := c.Kafka.Broker(int(topic.Partitions[at.Partition].Leader)).Request(within, req)
	if err != nil {
		return time.Time{}
	}
	for _, t := range resp.(*kmsg.FetchResponse).Topics {
		for _, p := range t.Partitions {
			return batchTime(p.RecordBatches)
		}
	}
	return time.Time{}
}

// Where a batch's header has what is read here, and the bit of its attributes that says whose time it is.
const (
	magicAt, attributesAt, firstTimeAt, maxTimeAt, headerEnd = 16, 21, 27, 35, 61

	magic2        = 2
	logAppendTime = 1 << 3
)

// batchTime is the time of a batch's first record, or when the broker has appended it.
func batchTime(b []byte) time.Time {
	if len(b) < headerEnd || b[magicAt] != magic2 {
		return time.Time{}
	}
	from := firstTimeAt
	if binary.BigEndian.Uint16(b[attributesAt:])&logAppendTime != 0 {
		from = maxTimeAt
	}
	if t := moment(int64(binary.BigEndian.Uint64(b[from:]))); t != nil {
		return *t
	}
	return time.Time{}
}

// Where lists partitions of a cluster in order: all of topics, or of all topics, that a broker leads; broker -1: any. Those
// without a leader cannot be asked: offline lists them.
func (c Client) Where(ctx context.Context, topics map[string][]int32, broker int32) (places, offline []txns.Place, err error) {
	within, cancel := c.Within(ctx)
	defer cancel()
	all, err := c.Admin.ListTopicsWithInternal(within)
	if err != nil {
		return nil, nil, err
	}
	for _, t := range all.Sorted() {
		numbers, named := topics[t.Topic]
		if len(topics) > 0 && !named {
			continue
		}
		for _, p := range t.Partitions.Sorted() {
			at := txns.Place{Topic: t.Topic, Partition: p.Partition}
			switch {
			case len(numbers) > 0 && !slices.Contains(numbers, p.Partition):
			case p.Leader < 0 && broker < 0:
				offline = append(offline, at)
			case p.Leader >= 0 && (broker < 0 || p.Leader == broker):
				places = append(places, at)
			}
		}
	}
	return places, offline, nil
}

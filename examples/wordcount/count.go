package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/skeinstream/skein/client"
	"github.com/skeinstream/skein/consumer"
	"github.com/skeinstream/skein/exactlyonce"
	"github.com/skeinstream/skein/examples/internal/table"
	"github.com/skeinstream/skein/producer"
)

// partitions is of words and counts alike: what follows from partition 3 of the one is in partition 3 of the other, so that whoever has the
// first is the only one who writes to the second, and finds there all that it has to know.
const partitions = 3

// count adds up what comes of each word.
func count(ctx context.Context, cluster client.Config, name string) error {
	known := counts{cluster: cluster}
	return exactlyonce.Run(ctx, exactlyonce.Config{
		Consumer: consumer.Config{
			Cluster: cluster, Group: "count", InstanceID: name, Reset: consumer.Earliest,
			Listener: consumer.Listener{Revoked: known.forgetPartitions},
		},
		Topics:   []string{"words"},
		Producer: producer.Config{Partitioner: producer.Manual()},
		Hooks:    exactlyonce.Hooks{Aborted: known.forgetAll, Unknown: known.forgetAll},
	}, func(ctx context.Context, batch consumer.Batch, out *exactlyonce.Out) error {
		for _, p := range batch.Partitions {
			counts, err := known.of(ctx, p.Partition)
			if err != nil {
				return err
			}
			for word, n := range added(counts, p.Records) {
				out.Send(&producer.Record{Topic: "counts", Partition: p.Partition, Key: []byte(word), Value: strconv.AppendInt(nil, n, 10)})
			}
		}
		return nil
	})
}

// added adds records to counts, and returns what has changed.
func added(counts map[string]int64, records []*consumer.Record) map[string]int64 {
	changed := map[string]int64{}
	for _, r := range records {
		word := string(r.Key)
		counts[word] += number(r.Value)
		changed[word] = counts[word]
	}
	return changed
}

// counts are those of the partitions that this worker has, as the topic has them together with the transaction that is open. It is
// their cache and no more: whenever a transaction is not committed, or partitions go, it is thrown away, and read again when it is needed. All of
// this happens on the goroutine of Run, one thing after the other.
type counts struct {
	cluster client.Config
	read    map[int32]map[string]int64
}

func (c *counts) of(ctx context.Context, partition int32) (map[string]int64, error) {
	if counts := c.read[partition]; counts != nil {
		return counts, nil
	}
	rows, err := table.Read(ctx, c.cluster, "counts", partition)
	if err != nil {
		return nil, err
	}
	counts := map[string]int64{}
	for word, n := range rows {
		counts[word] = number(n)
	}
	if c.read == nil {
		c.read = map[int32]map[string]int64{}
	}
	c.read[partition] = counts
	return counts, nil
}

// forgetPartitions is called when they are given up, and when they are lost, too.
func (c *counts) forgetPartitions(_ context.Context, r consumer.Rebalance) error {
	for _, tp := range r.Partitions {
		delete(c.read, tp.Partition)
	}
	return nil
}

func (c *counts) forgetAll(exactlyonce.Transaction, exactlyonce.Reason, error) { clear(c.read) }

// number reads what strconv.AppendInt has written. Anything else would be somebody else's topic.
func number(text []byte) int64 {
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		panic(fmt.Sprintf("a count is no number: %v", err))
	}
	return n
}

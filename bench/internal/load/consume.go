package load

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Consume reads count records of topic from its beginning, without a group, as
// often as passes says, each time with a new client, and returns the records a
// second from the first client's start to the last record.
func Consume(ctx context.Context, addr, topic string, count, passes int) (float64, error) {
	return consume(ctx, addr, topic, count, passes, kgo.ReadUncommitted())
}

// ConsumeCommitted is Consume of a topic with transactions, of which count
// records were committed; it takes no other.
func ConsumeCommitted(ctx context.Context, addr, topic string, count, passes int) (float64, error) {
	return consume(ctx, addr, topic, count, passes, kgo.ReadCommitted())
}

func consume(ctx context.Context, addr, topic string, count, passes int, level kgo.IsolationLevel) (float64, error) {
	began := time.Now()
	for range passes {
		if err := consumeOnce(ctx, addr, topic, count, level); err != nil {
			return 0, err
		}
	}
	return perSecond(passes*count, time.Since(began)), nil
}

func consumeOnce(ctx context.Context, addr, topic string, count int, level kgo.IsolationLevel) error {
	client, err := newConsumer(addr, topic, kgo.NewOffset().AtStart(), kgo.FetchIsolationLevel(level))
	if err != nil {
		return err
	}
	defer client.Close()
	for seen := 0; seen < count; {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return fmt.Errorf("consuming %s after %d records: %w", topic, seen, err)
		}
		seen += fetches.NumRecords()
	}
	return nil
}

func newConsumer(addr, topic string, from kgo.Offset, more ...kgo.Opt) (*kgo.Client, error) {
	partitions := make(map[int32]kgo.Offset, Partitions)
	for p := range int32(Partitions) {
		partitions[p] = from
	}
	return kgo.NewClient(append(more, kgo.SeedBrokers(addr), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: partitions}))...)
}

package load

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"github.com/skeinstream/skein/bench/internal/stats"
)

// EndToEndLatency sends rate records a second for length and returns how long
// each took from when it was due until a consumer of all partitions had it.
func EndToEndLatency(ctx context.Context, addr, topic string, rate int, length time.Duration) (stats.Latencies, error) {
	producer, err := newPromptProducer(ctx, addr, topic)
	if err != nil {
		return stats.Latencies{}, err
	}
	defer producer.Close()
	consumer, err := newConsumer(addr, topic, kgo.NewOffset().AtStart())
	if err != nil {
		return stats.Latencies{}, err
	}
	defer consumer.Close()
	if err := consumer.PollFetches(ctx).Err(); err != nil { // the consumer follows the topic from now on
		return stats.Latencies{}, err
	}
	plan := newSchedule(time.Now().Add(10*time.Millisecond), rate, length)
	took := make([]time.Duration, plan.count)
	work, ctx := errgroup.WithContext(ctx)
	work.Go(func() error {
		return sendNumbered(ctx, producer, plan, func(uint64) *kgo.Record { return &kgo.Record{Value: make([]byte, latencySize)} })
	})
	work.Go(func() error { return receiveNumbered(ctx, consumer, plan, took) })
	if err := work.Wait(); err != nil {
		return stats.Latencies{}, fmt.Errorf("producing and consuming %d/s of %s: %w", rate, topic, err)
	}
	return stats.Summarize(took[plan.leadIn():]), nil
}

// sendNumbered sends what record makes for each number, with the number at the
// front of its value.
func sendNumbered(ctx context.Context, producer *kgo.Client, plan schedule, record func(number uint64) *kgo.Record) error {
	err := plan.run(ctx, func(i int) {
		r := record(plan.number(i))
		binary.BigEndian.PutUint64(r.Value, plan.number(i))
		producer.Produce(ctx, r, nil)
	})
	if err != nil {
		return err
	}
	return producer.Flush(ctx)
}

func receiveNumbered(ctx context.Context, consumer *kgo.Client, plan schedule, took []time.Duration) error {
	for seen := 0; seen < plan.count; {
		fetches := consumer.PollFetches(ctx)
		now := time.Now()
		if err := fetches.Err(); err != nil {
			return err
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if i, ok := plan.index(binary.BigEndian.Uint64(r.Value)); ok {
				took[i] = now.Sub(plan.due(i))
				seen++
			}
		})
	}
	return nil
}

package load

import (
	"bytes"
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/skeinstream/skein/bench/internal/stats"
)

// latencySize is the size of the records of the latency rows, in bytes.
const latencySize = 100

// newPromptProducer is a producer that does not linger; all else is the
// client's default but the codec, which is none. It has produced one record,
// whose first bytes are no number of a schedule.
func newPromptProducer(ctx context.Context, addr, topic string) (*kgo.Client, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.DefaultProduceTopic(topic), kgo.ProducerLinger(0),
		kgo.ProducerBatchCompression(kgo.NoCompression()))
	if err != nil {
		return nil, err
	}
	unnumbered := bytes.Repeat([]byte{0xff}, latencySize)
	if err := client.ProduceSync(ctx, &kgo.Record{Value: unnumbered}).FirstErr(); err != nil {
		client.Close()
		return nil, fmt.Errorf("producing the first record: %w", err)
	}
	return client, nil
}

// ProduceLatency sends rate records a second for length and returns how long
// each took from when it was due until it was acknowledged.
func ProduceLatency(ctx context.Context, addr, topic string, rate int, length time.Duration) (stats.Latencies, error) {
	client, err := newPromptProducer(ctx, addr, topic)
	if err != nil {
		return stats.Latencies{}, err
	}
	defer client.Close()
	plan := newSchedule(time.Now().Add(10*time.Millisecond), rate, length)
	took := make([]time.Duration, plan.count)
	value := Values(latencySize, 1)[0]
	var failure atomic.Pointer[error]
	err = plan.run(ctx, func(i int) {
		client.Produce(ctx, &kgo.Record{Value: value}, func(_ *kgo.Record, err error) {
			took[i] = time.Since(plan.due(i))
			if err != nil {
				failure.CompareAndSwap(nil, &err)
			}
		})
	})
	if err == nil {
		err = client.Flush(ctx)
	}
	if first := failure.Load(); err == nil && first != nil {
		err = *first
	}
	if err != nil {
		return stats.Latencies{}, fmt.Errorf("producing %d/s to %s: %w", rate, topic, err)
	}
	return stats.Summarize(took[plan.leadIn():]), nil
}

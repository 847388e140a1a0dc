package load

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// distinct is how many different values a run cycles through.
const distinct = 4096

// Codec chooses how the Go client compresses.
type Codec int

// Uncompressed sends records as they are; ClientDefault is franz-go's own
// choice, snappy.
const (
	Uncompressed Codec = iota
	ClientDefault
)

func (c Codec) options() []kgo.Opt {
	if c == Uncompressed {
		return []kgo.Opt{kgo.ProducerBatchCompression(kgo.NoCompression())}
	}
	return nil
}

// Produce sends count records of size bytes as fast as the client goes, with
// acks=all and an idempotent producer, and returns the records a second from
// the first to the last acknowledgement. One record more goes before the clock
// starts: it finds the leader.
func Produce(ctx context.Context, addr, topic string, size, count int, codec Codec) (float64, error) {
	options := append(codec.options(), kgo.SeedBrokers(addr), kgo.DefaultProduceTopic(topic))
	client, err := kgo.NewClient(options...)
	if err != nil {
		return 0, err
	}
	defer client.Close()
	values := Values(size, distinct)
	if err := client.ProduceSync(ctx, &kgo.Record{Value: values[0]}).FirstErr(); err != nil {
		return 0, fmt.Errorf("producing the first record: %w", err)
	}
	began := time.Now()
	if err := produceAll(ctx, client, values, count); err != nil {
		return 0, fmt.Errorf("producing to %s: %w", topic, err)
	}
	return perSecond(count, time.Since(began)), nil
}

func produceAll(ctx context.Context, client *kgo.Client, values [][]byte, count int) error {
	return sendAll(ctx, client, count, func(i int) *kgo.Record { return &kgo.Record{Value: values[i%len(values)]} })
}

// sendAll sends count records, and waits until all are acknowledged.
func sendAll(ctx context.Context, client *kgo.Client, count int, record func(i int) *kgo.Record) error {
	var failure atomic.Pointer[error]
	done := func(_ *kgo.Record, err error) {
		if err != nil {
			failure.CompareAndSwap(nil, &err)
		}
	}
	for i := range count {
		client.Produce(ctx, record(i), done)
	}
	if err := client.Flush(ctx); err != nil {
		return err
	}
	if err := failure.Load(); err != nil {
		return *err
	}
	return nil
}

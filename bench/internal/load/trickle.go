package load

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Trickle sends rate records a second to each partition of a topic, all
// partitions in turn, each record with a key and size bytes of value, until ctx
// ends. It has no producer id, so that those which are counted are of others.
func Trickle(ctx context.Context, addr, topic string, partitions, rate, size int) error {
	client, err := kgo.NewClient(append(Uncompressed.options(), kgo.SeedBrokers(addr), kgo.DefaultProduceTopic(topic),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.DisableIdempotentWrite())...)
	if err != nil {
		return err
	}
	defer client.Close()
	values := Values(size, distinct)
	var failure atomic.Pointer[error]
	done := func(_ *kgo.Record, err error) {
		if err != nil && ctx.Err() == nil {
			failure.CompareAndSwap(nil, &err)
		}
	}
	ticks := time.NewTicker(time.Second / time.Duration(rate))
	defer ticks.Stop()
	began := time.Now()
	for sent := 0; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C:
		}
		if err := failure.Load(); err != nil {
			return fmt.Errorf("sending %d/s to %s: %w", rate*partitions, topic, *err)
		}
		for due := int(time.Since(began).Seconds() * float64(rate)); sent < due; sent++ {
			for p := range int32(partitions) {
				client.Produce(ctx, &kgo.Record{Partition: p, Key: Key(uint64(sent*partitions) + uint64(p)), Value: values[sent%distinct]}, done)
			}
		}
	}
}

// Fill sends count records of size bytes, each with a key of its own, as fast as
// it goes.
func Fill(ctx context.Context, addr, topic string, size, count int) error {
	client, err := kgo.NewClient(append(Uncompressed.options(), kgo.SeedBrokers(addr), kgo.DefaultProduceTopic(topic))...)
	if err != nil {
		return err
	}
	defer client.Close()
	values := Values(size, distinct)
	if err := sendAll(ctx, client, count, func(i int) *kgo.Record {
		return &kgo.Record{Key: Key(uint64(i)), Value: values[i%distinct]}
	}); err != nil {
		return fmt.Errorf("filling %s: %w", topic, err)
	}
	return nil
}

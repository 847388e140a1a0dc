package peer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/skeinstream/skein/interop/internal/stream"
)

type franz struct{}

func (franz) Close() error { return nil }

func (franz) Produce(ctx context.Context, bootstrap, topic, codec, file string) error {
	compression, err := codecNamed(map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}, codec)
	if err != nil {
		return err
	}
	c, err := kgo.NewClient(kgo.SeedBrokers(bootstrap), kgo.ProducerBatchCompression(compression),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.MaxBufferedRecords(50_000))
	if err != nil {
		return err
	}
	defer c.Close()
	// No delivery timeout: this client counts it from the record's timestamp.
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	var failed struct {
		sync.Mutex
		err error
	}
	err = eachRecord(file, func(r stream.Record) error {
		c.Produce(ctx, franzRecord(topic, r), func(_ *kgo.Record, err error) {
			failed.Lock()
			failed.err = cmp.Or(failed.err, err)
			failed.Unlock()
		})
		return nil
	})
	err = errors.Join(err, c.Flush(ctx))
	failed.Lock()
	defer failed.Unlock()
	return errors.Join(err, failed.err)
}

func franzRecord(topic string, r stream.Record) *kgo.Record {
	k := &kgo.Record{Topic: topic, Partition: r.Partition, Key: r.Key, Value: r.Value, Timestamp: timeOf(r.Timestamp)}
	for _, h := range r.Headers {
		k.Headers = append(k.Headers, kgo.RecordHeader{Key: h.Name, Value: h.Value})
	}
	return k
}

func (franz) Consume(ctx context.Context, bootstrap, topic string, count int, file string) error {
	c, err := kgo.NewClient(kgo.SeedBrokers(bootstrap), kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxPartitionBytes(4<<20))
	if err != nil {
		return err
	}
	defer c.Close()
	w, err := stream.Create(file)
	if err != nil {
		return err
	}
	for done := 0; done < count; {
		n, err := franzPoll(ctx, c, w, count-done)
		if err != nil {
			return errors.Join(fmt.Errorf("after %d of %d records: %w", done, count, err), w.Close())
		}
		done += n
	}
	return w.Close()
}

func franzPoll(ctx context.Context, c *kgo.Client, w *stream.Writer, most int) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	fetches := c.PollRecords(ctx, min(most, 10_000))
	if err := fetches.Err(); err != nil {
		return 0, err
	}
	var err error
	fetches.EachRecord(func(k *kgo.Record) {
		r := stream.Record{Partition: k.Partition, Timestamp: k.Timestamp.UnixMilli(), Key: k.Key, Value: k.Value}
		for _, h := range k.Headers {
			r.Headers = append(r.Headers, stream.Header{Name: h.Key, Value: h.Value})
		}
		err = errors.Join(err, w.Write(r))
	})
	return fetches.NumRecords(), err
}

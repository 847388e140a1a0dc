package peer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/skeinstream/skein/interop/internal/stream"
)

// segment is segmentio/kafka-go. It has no idempotent producer.
type segment struct{}

func (segment) Close() error { return nil }

func (segment) Produce(ctx context.Context, bootstrap, topic, codec, file string) error {
	compression, err := codecNamed(map[string]kafka.Compression{
		"none": 0, "gzip": kafka.Gzip, "snappy": kafka.Snappy, "lz4": kafka.Lz4, "zstd": kafka.Zstd,
	}, codec)
	if err != nil {
		return err
	}
	w := &kafka.Writer{
		Addr: kafka.TCP(bootstrap), Topic: topic, Compression: compression, RequiredAcks: kafka.RequireAll,
		BatchTimeout: 20 * time.Millisecond, BatchBytes: 1_000_000, BatchSize: 1000,
		Balancer: kafka.BalancerFunc(func(m kafka.Message, _ ...int) int { return int(m.WriterData.(int32)) }),
	}
	var batch []kafka.Message
	err = eachRecord(file, func(r stream.Record) error {
		m := kafka.Message{Key: r.Key, Value: r.Value, Time: timeOf(r.Timestamp), WriterData: r.Partition}
		for _, h := range r.Headers {
			m.Headers = append(m.Headers, kafka.Header{Key: h.Name, Value: h.Value})
		}
		batch = append(batch, m)
		return nil
	})
	if err == nil {
		err = w.WriteMessages(ctx, batch...)
	}
	return errors.Join(err, w.Close())
}

func (segment) Consume(ctx context.Context, bootstrap, topic string, count int, file string) error {
	conn, err := kafka.DialContext(ctx, "tcp", bootstrap)
	if err != nil {
		return err
	}
	defer conn.Close()
	partitions, err := conn.ReadPartitions(topic)
	if err != nil {
		return err
	}
	w, err := stream.Create(file)
	if err != nil {
		return err
	}
	done := 0
	for _, p := range partitions {
		n, err := segmentPartition(ctx, bootstrap, topic, p.ID, w)
		done += n
		if err != nil {
			return errors.Join(fmt.Errorf("partition %d: %w", p.ID, err), w.Close())
		}
	}
	if done != count {
		err = fmt.Errorf("%d records, want %d", done, count)
	}
	return errors.Join(err, w.Close())
}

// segmentPartition reads one partition to its present end.
func segmentPartition(ctx context.Context, bootstrap, topic string, partition int, w *stream.Writer) (int, error) {
	leader, err := kafka.DialLeader(ctx, "tcp", bootstrap, topic, partition)
	if err != nil {
		return 0, err
	}
	first, last, err := leader.ReadOffsets()
	leader.Close()
	if err != nil {
		return 0, err
	}
	r := kafka.NewReader(kafka.ReaderConfig{Brokers: []string{bootstrap}, Topic: topic, Partition: partition,
		MinBytes: 1, MaxBytes: 8 << 20, MaxWait: 50 * time.Millisecond})
	defer r.Close()
	if err := r.SetOffset(first); err != nil {
		return 0, err
	}
	n := 0
	for next := first; next < last; n++ {
		one, cancel := context.WithTimeout(ctx, patience)
		m, err := r.ReadMessage(one)
		cancel()
		if err != nil {
			return n, err
		}
		if err := w.Write(segmentRecord(m)); err != nil {
			return n, err
		}
		next = m.Offset + 1
	}
	return n, nil
}

func segmentRecord(m kafka.Message) stream.Record {
	r := stream.Record{Partition: int32(m.Partition), Timestamp: m.Time.UnixMilli(), Key: m.Key, Value: m.Value}
	for _, h := range m.Headers {
		r.Headers = append(r.Headers, stream.Header{Name: h.Key, Value: h.Value})
	}
	return r
}

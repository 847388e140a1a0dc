package peer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/IBM/sarama"

	"github.com/skeinstream/skein/interop/internal/stream"
)

type saramaClient struct{}

func (saramaClient) Close() error { return nil }

func saramaConfig() *sarama.Config {
	c := sarama.NewConfig()
	c.Version = sarama.MaxVersion
	c.ClientID = "interop"
	c.Producer.Idempotent = true
	c.Net.MaxOpenRequests = 1 // its condition for idempotence
	c.Producer.RequiredAcks = sarama.WaitForAll
	c.Producer.Return.Successes = true
	c.Producer.Partitioner = sarama.NewManualPartitioner
	c.Producer.Retry.Max = 50 // a new topic's leader may take a moment
	c.Producer.MaxMessageBytes = 1_000_000
	c.Producer.Flush.Frequency = 5 * time.Millisecond
	c.Consumer.Fetch.Default = 4 << 20
	c.Consumer.MaxWaitTime = 50 * time.Millisecond
	c.Consumer.Return.Errors = true
	return c
}

func (saramaClient) Produce(ctx context.Context, bootstrap, topic, codec, file string) error {
	compression, err := codecNamed(map[string]sarama.CompressionCodec{
		"none": sarama.CompressionNone, "gzip": sarama.CompressionGZIP, "snappy": sarama.CompressionSnappy,
		"lz4": sarama.CompressionLZ4, "zstd": sarama.CompressionZSTD,
	}, codec)
	if err != nil {
		return err
	}
	config := saramaConfig()
	config.Producer.Compression = compression
	p, err := sarama.NewAsyncProducer([]string{bootstrap}, config)
	if err != nil {
		return err
	}
	// Closed only when all is answered: a producer that is closing retries
	// nothing.
	tickets, answers := make(chan struct{}, 1<<16), make(chan error, 1)
	go func() { answers <- saramaAnswers(p, tickets) }()
	err = eachRecord(file, func(r stream.Record) error {
		p.Input() <- saramaMessage(topic, r)
		tickets <- struct{}{}
		return ctx.Err()
	})
	close(tickets)
	return errors.Join(err, <-answers, p.Close())
}

// saramaAnswers waits for the answer to each ticket and returns the last error.
func saramaAnswers(p sarama.AsyncProducer, tickets <-chan struct{}) (failed error) {
	for range tickets {
		select {
		case <-p.Successes():
		case e := <-p.Errors():
			failed = e
		}
	}
	return failed
}

func saramaMessage(topic string, r stream.Record) *sarama.ProducerMessage {
	m := &sarama.ProducerMessage{Topic: topic, Partition: r.Partition, Timestamp: timeOf(r.Timestamp)}
	if r.Key != nil {
		m.Key = sarama.ByteEncoder(r.Key)
	}
	if r.Value != nil {
		m.Value = sarama.ByteEncoder(r.Value)
	}
	for _, h := range r.Headers {
		m.Headers = append(m.Headers, sarama.RecordHeader{Key: []byte(h.Name), Value: h.Value})
	}
	return m
}

func (saramaClient) Consume(ctx context.Context, bootstrap, topic string, count int, file string) error {
	c, err := sarama.NewConsumer([]string{bootstrap}, saramaConfig())
	if err != nil {
		return err
	}
	defer c.Close()
	partitions, err := c.Partitions(topic)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	messages, failures := make(chan *sarama.ConsumerMessage, 1024), make(chan error, len(partitions))
	var pumps sync.WaitGroup
	defer pumps.Wait()
	defer cancel()
	for _, p := range partitions {
		pc, err := c.ConsumePartition(topic, p, sarama.OffsetOldest)
		if err != nil {
			return err
		}
		pumps.Go(func() { saramaPump(ctx, pc, messages, failures) })
	}
	return saramaCollect(ctx, messages, failures, count, file)
}

func saramaPump(ctx context.Context, pc sarama.PartitionConsumer, messages chan<- *sarama.ConsumerMessage, failures chan<- error) {
	defer pc.Close()
	for {
		select {
		case m := <-pc.Messages():
			select {
			case messages <- m:
			case <-ctx.Done():
				return
			}
		case err := <-pc.Errors():
			failures <- err
			return
		case <-ctx.Done():
			return
		}
	}
}

func saramaCollect(ctx context.Context, messages <-chan *sarama.ConsumerMessage, failures <-chan error, count int, file string) error {
	w, err := stream.Create(file)
	if err != nil {
		return err
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for done := 0; done < count; done++ {
		select {
		case m := <-messages:
			err = w.Write(saramaRecord(m))
			timer.Reset(patience)
		case err = <-failures:
		case <-timer.C:
			err = errors.New("no progress")
		case <-ctx.Done():
			err = ctx.Err()
		}
		if err != nil {
			return errors.Join(fmt.Errorf("after %d of %d records: %w", done, count, err), w.Close())
		}
	}
	return w.Close()
}

func saramaRecord(m *sarama.ConsumerMessage) stream.Record {
	r := stream.Record{Partition: m.Partition, Timestamp: m.Timestamp.UnixMilli(), Key: m.Key, Value: m.Value}
	for _, h := range m.Headers {
		r.Headers = append(r.Headers, stream.Header{Name: string(h.Key), Value: h.Value})
	}
	return r
}

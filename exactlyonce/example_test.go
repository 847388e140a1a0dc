package exactlyonce_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/skeinstream/skein/broker"
	"github.com/skeinstream/skein/client"
	"github.com/skeinstream/skein/consumer"
	"github.com/skeinstream/skein/exactlyonce"
	"github.com/skeinstream/skein/producer"
)

// cluster is a broker in this process with five payments; a program has the client.Config of its own cluster.
func cluster(ctx context.Context) (cfg client.Config, shutdown func()) {
	b, err := broker.Open(ctx, broker.Config{Settings: map[string]string{"group.initial.rebalance.delay.ms": "0"}})
	if err != nil {
		log.Fatal(err)
	}
	cfg = client.Config{Brokers: []string{"skein:9092"}, Dial: b.Dialer()}
	kafka, err := kgo.NewClient(append(cfg.KgoOptions(), kgo.DefaultProduceTopic("payments"))...)
	if err != nil {
		log.Fatal(err)
	}
	defer kafka.Close()
	if _, err := kadm.NewClient(kafka).CreateTopics(ctx, 1, 1, nil, "payments", "invoices"); err != nil {
		log.Fatal(err)
	}
	for i := range 5 {
		if err := kafka.ProduceSync(ctx, kgo.StringRecord(fmt.Sprint("payment ", i))).FirstErr(); err != nil {
			log.Fatal(err)
		}
	}
	return cfg, func() {
		if err := b.Shutdown(context.Background()); err != nil {
			log.Fatal(err)
		}
	}
}

// show prints what a reader of committed records finds.
func show(ctx context.Context, reach client.Config, topic string, n int) {
	c, err := consumer.New(consumer.Config{Cluster: reach, Reset: consumer.Earliest, ReadCommitted: true})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close(ctx)
	if err := c.Assign(consumer.TopicPartition{Topic: topic}); err != nil {
		log.Fatal(err)
	}
	for n > 0 {
		batch, err := c.Poll(ctx)
		if err != nil {
			log.Fatal(err)
		}
		for r := range batch.Records() {
			fmt.Println(string(r.Value))
			n--
		}
	}
}

// Each payment has one invoice, whatever happens to this process, to the group, or to the broker.
func Example() {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	reach, shutdown := cluster(ctx)
	defer shutdown()
	reading, enough := context.WithCancel(ctx)
	invoice := func(r *consumer.Record) *producer.Record {
		if r.Offset == 4 {
			enough() // a program has signal.NotifyContext here
		}
		return &producer.Record{Topic: "invoices", Key: r.Key, Value: append([]byte("invoice for "), r.Value...)}
	}

	err := exactlyonce.Run(reading, exactlyonce.Config{
		Consumer: consumer.Config{Cluster: reach, Group: "billing", Reset: consumer.Earliest},
		Topics:   []string{"payments"},
	}, func(ctx context.Context, batch consumer.Batch, out *exactlyonce.Out) error {
		for r := range batch.Records() {
			out.Send(invoice(r))
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	show(ctx, reach, "invoices", 5)
	// Output:
	// invoice for payment 0
	// invoice for payment 1
	// invoice for payment 2
	// invoice for payment 3
	// invoice for payment 4
}

// A service: it ends in peace on SIGTERM, and its restart takes over from it at once, even after a kill -9.
func Example_service() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	host, err := os.Hostname()
	if err != nil {
		log.Fatal(err)
	}
	cfg := exactlyonce.Config{
		Consumer: consumer.Config{
			Cluster:    client.Config{Brokers: []string{"kafka-1:9092", "kafka-2:9092"}}, // none is 127.0.0.1:9092
			Group:      "billing",
			InstanceID: host,              // unique in the group, the same after a restart
			Reset:      consumer.Earliest, // what there was before the group began
		},
		Topics: []string{"payments"},
		Logger: slog.Default(), // without one nothing is told of what is met and passes
	}
	if err := exactlyonce.Run(ctx, cfg, bill); err != nil {
		log.Fatal(err)
	}
}

type payment struct {
	Customer string
	Cents    int64
}

func bill(_ context.Context, batch consumer.Batch, out *exactlyonce.Out) error {
	for r := range batch.Records() {
		var p payment
		if err := json.Unmarshal(r.Value, &p); err != nil {
			return exactlyonce.Poison(r, err)
		}
		out.Send(&producer.Record{Topic: "invoices", Key: []byte(p.Customer), Value: fmt.Appendf(nil, "%d", p.Cents)})
	}
	return nil
}

// What trades latency for throughput.
func Example_tuning() {
	cfg := exactlyonce.Config{
		Consumer:    consumer.Config{Group: "billing", MaxPollRecords: 5000},
		Topics:      []string{"payments"},
		Producer:    producer.Config{Codec: producer.Zstd, TransactionTimeout: 30 * time.Second},
		Interval:    500 * time.Millisecond,
		MaxRecords:  50_000,
		Concurrency: 8,
		By:          exactlyonce.ByKey,
	}
	if _, err := exactlyonce.New(cfg, bill); err != nil {
		log.Fatal(err)
	}
}

// Records that cannot be processed are tried three times, and put aside then.
func Example_poison() {
	cfg := exactlyonce.Config{
		Consumer: consumer.Config{Group: "billing"},
		Topics:   []string{"payments"},
		Poison:   exactlyonce.PoisonPolicy{Retries: 3, Backoff: time.Second, DeadLetter: "payments-dead"},
	}
	if _, err := exactlyonce.New(cfg, bill); err != nil {
		log.Fatal(err)
	}
}

// A program with a producer for each partition, on the first of the two steps that lead it away from that.
func Example_onePerPartition() {
	reach := client.Config{}
	cfg :=
		exactlyonce.Config{
			Consumer:              consumer.Config{Cluster: reach, Group: "billing"},
			Topics:                []string{"payments"},
			Producers:             exactlyonce.OnePerPartition,
			TransactionalIDPrefix: "billing-app", // billing-app-payments-0, billing-app-payments-1, ...
		}
	if _, err := exactlyonce.New(cfg, bill); err != nil {
		log.Fatal(err)
	}
}

// The loop by hand, with the classes of what may go wrong. What Run does besides: it keeps transactions over rebalances, and has many records in one.
func Example_byHand() {
	step := func(ctx context.Context, c *consumer.Consumer, p *producer.Producer, batch consumer.Batch, offsets consumer.Offsets) error {
		if err := p.Begin(ctx); err != nil {
			return err
		}
		for r := range batch.Records() {
			p.Send(ctx, &producer.Record{Topic: "invoices", Value: r.Value}, nil) // Commit fails if it does
		}
		if err := p.SendOffsets(ctx, offsets, c.GroupMetadata()); err != nil {
			return errors.Join(err, p.Abort(ctx))
		}
		err := p.Commit(ctx)
		for producer.ClassOf(err) == producer.Retriable {
			err = p.Commit(ctx) // nobody knows yet: ask again
		}
		if producer.ClassOf(err) == producer.AbortAndContinue {
			err = p.Abort(ctx) // says producer.ErrFenced if somebody else has the transactional id
			c.Rewind()         // to the committed offsets
		}
		return err // Fatal: Close, another producer, Begin, and only then Rewind
	}
	_ = step
}

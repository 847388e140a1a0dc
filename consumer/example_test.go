package consumer_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/skeinstream/skein/broker"
	"github.com/skeinstream/skein/client"
	"github.com/skeinstream/skein/consumer"
)

// cluster is a broker in this process with five payments; a program has the client.Config of its own cluster.
func cluster(ctx context.Context) (cfg client.Config, shutdown func()) {
	b, err := broker.Open(ctx, broker.Config{Settings: map[string]string{"group.initial.rebalance.delay.ms": "0"}})
	if err != nil {
		log.Fatal(err)
	}
	cfg = client.Config{Brokers: []string{"skein:9092"}, Dial: b.Dialer()}
	producer, err := kgo.NewClient(append(cfg.KgoOptions(), kgo.DefaultProduceTopic("payments"))...)
	if err != nil {
		log.Fatal(err)
	}
	defer producer.Close()
	if _, err := kadm.NewClient(producer).CreateTopic(ctx, 1, 1, nil, "payments"); err != nil {
		log.Fatal(err)
	}
	for i := range 5 {
		if err := producer.ProduceSync(ctx, kgo.StringRecord(fmt.Sprint("payment ", i))).FirstErr(); err != nil {
			log.Fatal(err)
		}
	}
	return cfg, func() {
		if err := b.Shutdown(context.Background()); err != nil {
			log.Fatal(err)
		}
	}
}

// A member of a group. There is nothing to configure for rebalances that stop no partition which stays.
func Example() {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	reach, shutdown := cluster(ctx)
	defer shutdown()

	c, err := consumer.New(consumer.Config{Cluster: reach, Group: "billing", Reset: consumer.Earliest})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close(context.Background())
	if err := c.Subscribe("payments"); err != nil {
		log.Fatal(err)
	}
	for {
		batch, err := c.Poll(ctx)
		if err != nil {
			log.Fatal(err) // or see what kind it is: below
		}
		for r := range batch.Records() {
			fmt.Println(r.Offset, string(r.Value))
			if r.Offset == 4 {
				return
			}
		}
	}
	// Output:
	// 0 payment 0
	// 1 payment 1
	// 2 payment 2
	// 3 payment 3
	// 4 payment 4
}

// Commits that are the program's own: after what was handed out is done, and for good.
func ExampleConsumer_Commit() {
	ctx := context.Background()
	reach, shutdown := cluster(ctx)
	defer shutdown()

	c, err := consumer.New(consumer.Config{
		Cluster: reach, Group: "billing", Reset: consumer.Earliest,
		ManualCommit: true,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close(ctx)
	if err := c.Subscribe("payments"); err != nil {
		log.Fatal(err)
	}
	batch, err := c.Poll(ctx)
	if err != nil {
		log.Fatal(err)
	}
	store(batch)
	switch err := c.Commit(ctx); {
	case err == nil:
	case errors.Is(err, consumer.ErrRebalanceInProgress):
		// Poll, then Commit again: what is still owned then is committed.
	case errors.Is(err, consumer.ErrCommitFailed):
		// The group has gone on without this member, and others read these records again. Poll goes on.
	default:
		log.Fatal(err)
	}
	committed, err := c.Committed(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for p, o := range committed {
		fmt.Println(p.Topic, p.Partition, o.At)
	}
	// Output: payments 0 5
}

func store(consumer.Batch) {}

// What a program keeps for a partition comes and goes with the partition.
func ExampleListener() {
	ctx := context.Background()
	reach, shutdown := cluster(ctx)
	defer shutdown()

	sums := map[consumer.TopicPartition]int{}
	cfg := consumer.Config{Cluster: reach, Group: "billing", Reset: consumer.Earliest}
	cfg.Listener = consumer.Listener{
		Assigned: func(ctx context.Context, r consumer.Rebalance) error {
			for _, p := range r.Partitions { // those that are new
				sums[p] = 0
				fmt.Println("assigned", p.Topic, p.Partition)
			}
			return nil
		},
		Revoked: func(ctx context.Context, r consumer.Rebalance) error {
			for _, p := range r.Partitions { // nobody else has them before this returns, or ctx ends
				fmt.Println("revoked", p.Topic, p.Partition, "after", sums[p], "records")
				delete(sums, p)
			}
			return nil
		},
		Lost: func(ctx context.Context, r consumer.Rebalance) error {
			for _, p := range r.Partitions { // somebody else may have them already: write nothing
				delete(sums, p)
			}
			return nil
		},
	}
	c, err := consumer.New(cfg)
	if err != nil {
		log.Fatal(err)
	}
	if err := c.Subscribe("payments"); err != nil {
		log.Fatal(err)
	}
	batch, err := c.Poll(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range batch.Partitions {
		sums[p.TopicPartition] += len(p.Records)
	}
	if err := c.Close(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// assigned payments 0
	// revoked payments 0 after 5 records
}

// Offsets that are kept with the results, in one transaction of a database: what is there counts, and not what the group has.
func ExampleConsumer_Seek() {
	ctx := context.Background()
	reach, shutdown := cluster(ctx)
	defer shutdown()

	database := map[consumer.TopicPartition]int64{{Topic: "payments", Partition: 0}: 3}
	cfg := consumer.Config{Cluster: reach, Group: "billing", ManualCommit: true}
	var c *consumer.Consumer
	cfg.Listener.Assigned = func(ctx context.Context, r consumer.Rebalance) error {
		for _, p := range r.Partitions {
			if err := c.Seek(p, database[p]); err != nil {
				return err
			}
		}
		return nil
	}
	c, err := consumer.New(cfg)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close(ctx)
	if err := c.Subscribe("payments"); err != nil {
		log.Fatal(err)
	}
	batch, err := c.Poll(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for r := range batch.Records() {
		fmt.Println(r.Offset, string(r.Value))
	}
	// Output:
	// 3 payment 3
	// 4 payment 4
}

// Partitions without a group, from a moment on.
func ExampleConsumer_Assign() {
	ctx := context.Background()
	reach, shutdown := cluster(ctx)
	defer shutdown()

	c, err := consumer.New(consumer.Config{Cluster: reach})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close(ctx)
	yesterday := map[consumer.TopicPartition]time.Time{}
	partitions, err := c.PartitionsFor(ctx, "payments")
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range partitions {
		yesterday[p.TopicPartition] = time.Now().Add(-24 * time.Hour)
	}
	first, err := c.OffsetsForTimes(ctx, yesterday)
	if err != nil {
		log.Fatal(err)
	}
	for p, o := range first {
		if err := c.Assign(p); err != nil {
			log.Fatal(err)
		}
		if err := c.Seek(p, o.At); err != nil {
			log.Fatal(err)
		}
	}
	batch, err := c.Poll(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(batch.Len(), "records since yesterday")
	// Output: 5 records since yesterday
}

package producer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/skeinstream/skein/broker"
	"github.com/skeinstream/skein/client"
	"github.com/skeinstream/skein/consumer"
	"github.com/skeinstream/skein/producer"
)

// embedded is a broker in the process, and how to reach it.
func embedded(ctx context.Context) (*broker.Broker, client.Config) {
	b, err := broker.Open(ctx, broker.Config{Settings: map[string]string{"group.initial.rebalance.delay.ms": "0"}})
	if err != nil {
		log.Fatal(err)
	}
	return b, client.Config{Brokers: []string{"skein:9092"}, Dial: b.Dialer(), Options: []kgo.Opt{kgo.AllowAutoTopicCreation()}}
}

// Records are written once, and in order, with nothing set.
func Example() {
	ctx := context.Background()
	b, cluster := embedded(ctx)
	p, err := producer.New(producer.Config{Cluster: cluster})
	if err != nil {
		log.Fatal(err)
	}
	for _, greeting := range []string{"hello", "salut", "ciao"} {
		p.Send(ctx, &producer.Record{Topic: "greetings", Value: []byte(greeting)}, func(r *producer.Record, err error) {
			if err != nil {
				log.Print(err)
				return
			}
			fmt.Printf("%s is at %d\n", r.Value, r.Offset)
		})
	}
	if err := p.Close(ctx); err != nil { // waits for all answers
		log.Fatal(err)
	}
	_ = b.Shutdown(ctx)
	// Output:
	// hello is at 0
	// salut is at 1
	// ciao is at 2
}

// What is made of records, and how far they have been read, become visible together, or not at all. Package exactlyonce runs this loop for you,
// and knows what to do when the group rebalances.
func Example_transaction() {
	ctx := context.Background()
	b, cluster := embedded(ctx)
	p, err := producer.New(producer.Config{Cluster: cluster, TransactionalID: "shouter-1"})
	if err != nil {
		log.Fatal(err)
	}
	c, err := consumer.New(consumer.Config{Cluster: cluster, Group: "shouters", Reset: consumer.Earliest, ManualCommit: true, ReadCommitted: true})
	if err != nil {
		log.Fatal(err)
	}
	if err := write(ctx, cluster, "whispers", "hello"); err != nil {
		log.Fatal(err)
	}
	if err := c.Subscribe("whispers"); err != nil {
		log.Fatal(err)
	}
	batch, err := c.Poll(ctx)
	for err == nil && batch.Len() == 0 {
		batch, err = c.Poll(ctx)
	}
	if err == nil {
		err = shout(ctx, p, c, batch)
	}
	switch producer.ClassOf(err) {
	case 0:
		fmt.Println("committed")
	case producer.AbortAndContinue: // Abort, and have the consumer go back to the committed offsets
	default: // close the producer, make another, go back to the committed offsets
		log.Print(err)
	}
	_, _ = c.Close(ctx), p.Close(ctx)
	_ = b.Shutdown(ctx)
	// Output: committed
}

// shout is one transaction.
func shout(ctx context.Context, p *producer.Producer, c *consumer.Consumer, batch consumer.Batch) error {
	if err := p.Begin(ctx); err != nil {
		return err
	}
	next := consumer.Offsets{}
	for r := range batch.Records() {
		p.Send(ctx, &producer.Record{Topic: "shouts", Value: bytes.ToUpper(r.Value)}, nil) // Commit knows of failures
		next[consumer.TopicPartition{Topic: r.Topic, Partition: r.Partition}] = consumer.Offset{At: r.Offset + 1, LeaderEpoch: r.LeaderEpoch}
	}
	if err := p.SendOffsets(ctx, next, c.GroupMetadata()); err != nil {
		return err
	}
	return p.Commit(ctx)
}

func write(ctx context.Context, cluster client.Config, topic, value string) error {
	p, err := producer.New(producer.Config{Cluster: cluster})
	if err != nil {
		return err
	}
	err = p.SendSync(ctx, &producer.Record{Topic: topic, Value: []byte(value)})
	return errors.Join(err, p.Close(ctx))
}

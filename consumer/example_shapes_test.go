package consumer_test

import (
	"context"
	"errors"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/skeinstream/skein/assign"
	"github.com/skeinstream/skein/client"
	"github.com/skeinstream/skein/consumer"
)

// A cluster behind TLS and SASL. The password and the client's certificate may be renewed while the program runs.
func Example_secure() {
	trust, err := client.TLSFiles{CA: "/etc/kafka/ca.pem"}.Config()
	if err != nil {
		log.Fatal(err)
	}
	cluster := client.Config{
		Brokers: []string{"kafka-1.example.com:9093", "kafka-2.example.com:9093"},
		TLS:     trust,
		SASL:    client.ScramSHA512("billing", client.SecretFile("/run/secrets/kafka")),
	}
	c, err := consumer.New(consumer.Config{Cluster: cluster, Group: "billing"})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close(context.Background())
}

// A service: it ends when it is told to, and leaves its group in peace.
func Example_service() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	c, err := consumer.New(consumer.Config{Group: "billing"})
	if err != nil {
		log.Fatal(err)
	}
	if err := c.Subscribe("payments"); err != nil {
		log.Fatal(err)
	}
	err = serve(ctx, c)
	if left := c.Close(context.Background()); left != nil { // 30 s at the most
		log.Print(left)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// serve returns when ctx ends, or when going on makes no sense.
func serve(ctx context.Context, c *consumer.Consumer) error {
	for {
		batch, err := c.Poll(ctx)
		var refused *consumer.JoinError
		var offers *consumer.ProtocolError
		var bad *consumer.PartitionError
		switch {
		case err == nil:
			store(batch)
		case ctx.Err() != nil:
			return nil
		case errors.As(err, &refused), errors.As(err, &offers): // its text says what to change
			return err
		case errors.As(err, &bad): // the other partitions go on
			log.Print(bad)
		default:
			return err
		}
	}
}

// Work that outlives a poll is given the context of its partition.
func ExampleConsumer_PartitionContext() {
	c, err := consumer.New(consumer.Config{Group: "billing"})
	if err != nil {
		log.Fatal(err)
	}
	batch, err := c.Poll(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range batch.Partitions {
		ctx := c.PartitionContext(p.TopicPartition) // ends as soon as the partition is not ours any more
		for _, r := range p.Records {
			if err := charge(ctx, r); errors.Is(context.Cause(ctx), consumer.ErrExpelled) {
				log.Print("the group has gone on without us: ", err)
				break
			}
		}
	}
}

func charge(context.Context, *consumer.Record) error { return nil }

// One partition waits while the others go on.
func ExampleConsumer_Pause() {
	c, err := consumer.New(consumer.Config{Group: "billing"})
	if err != nil {
		log.Fatal(err)
	}
	busy := consumer.TopicPartition{Topic: "payments", Partition: 3}
	c.Pause(busy) // and go on polling: the group sees a member that lives
	// …
	c.Resume(busy)
}

// A member that comes back within its session keeps its partitions; it prefers what its rack has.
func Example_static() {
	host, err := os.Hostname()
	if err != nil {
		log.Fatal(err)
	}
	c, err := consumer.New(consumer.Config{
		Group:      "billing",
		InstanceID: host, // unique in the group, the same after a restart
		Rack:       os.Getenv("ZONE"),
		Assignors:  []assign.Assignor{assign.CooperativeSticky{}, assign.Range{}}, // the default
	})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close(context.Background())
}

package parallel_test

import (
	"context"
	"fmt"
	"log"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/skeinstream/skein/broker"
	"github.com/skeinstream/skein/client"
	"github.com/skeinstream/skein/consumer"
	"github.com/skeinstream/skein/consumer/parallel"
)

// cluster is a broker in this process, with a few orders; a program has the client.Config of its cluster.
func cluster(ctx context.Context) (cfg client.Config, shutdown func()) {
	b, err := broker.Open(ctx, broker.Config{Settings: map[string]string{"group.initial.rebalance.delay.ms": "0"}})
	if err != nil {
		log.Fatal(err)
	}
	cfg = client.Config{Brokers: []string{"skein:9092"}, Dial: b.Dialer()}
	producer, err := kgo.NewClient(append(cfg.KgoOptions(), kgo.AllowAutoTopicCreation())...)
	if err != nil {
		log.Fatal(err)
	}
	defer producer.Close()
	for _, customer := range []string{"bob", "ada", "cyd", "ada"} {
		r := &kgo.Record{Topic: "orders", Key: []byte(customer), Value: []byte("one more")}
		if err := producer.ProduceSync(ctx, r).FirstErr(); err != nil {
			log.Fatal(err)
		}
	}
	return cfg, func() {
		if err := b.Shutdown(context.Background()); err != nil {
			log.Fatal(err)
		}
	}
}

// Orders of one customer are handled one after the other, those of others side by side.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	reach, shutdown := cluster(ctx)
	defer shutdown()

	var mu sync.Mutex
	orders := map[string]int{}
	p, err := parallel.New(parallel.Config{
		Consumer: consumer.Config{Cluster: reach, Group: "billing", Reset: consumer.Earliest},
		Workers:  8,
		Handle: func(ctx context.Context, r *consumer.Record) error {
			mu.Lock()
			defer mu.Unlock()
			orders[string(r.Key)]++
			if r.Offset == 3 {
				cancel() // the example is over; a service has signal.NotifyContext
			}
			return nil
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := p.Consumer().Subscribe("orders"); err != nil {
		log.Fatal(err)
	}
	if err := p.Run(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(orders)
	// Output: map[ada:2 bob:1 cyd:1]
}

// A program with goroutines of its own says what it begins and what is done.
func ExampleWork() {
	ctx := context.Background()
	reach, shutdown := cluster(ctx)
	defer shutdown()

	c, work, err := parallel.Open(consumer.Config{Cluster: reach, Group: "billing", Reset: consumer.Earliest})
	if err != nil {
		log.Fatal(err)
	}
	if err := c.Subscribe("orders"); err != nil {
		log.Fatal(err)
	}
	handled := make(chan string)
	go func() {
		for n := 0; n < 4; {
			batch, err := c.Poll(ctx)
			if err != nil {
				log.Fatal(err)
			}
			n += batch.Len()
			work.Begin(batch)
			for r := range batch.Records() {
				go func() {
					handled <- string(r.Key)
					work.Done(r)
				}()
			}
		}
		if err := c.Close(ctx); err != nil { // waits for the goroutines, commits, and leaves the group
			log.Fatal(err)
		}
		close(handled)
	}()
	for customer := range handled {
		fmt.Println(customer)
	}
	// Unordered output:
	// bob
	// ada
	// cyd
	// ada
}

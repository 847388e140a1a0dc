package broker_test

import (
	"context"
	"fmt"
	"log"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/skeinstream/skein/broker"
)

// A broker in memory, with a client of the same process: no network, no files.
func Example() {
	ctx := context.Background()
	b, err := broker.Open(ctx, broker.Config{})
	if err != nil {
		log.Fatal(err)
	}
	client, err := kgo.NewClient(
		kgo.SeedBrokers("skein:9092"),
		kgo.Dialer(b.Dialer()),
		kgo.AllowAutoTopicCreation(),
		kgo.ConsumeTopics("greetings"),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	)
	if err != nil {
		log.Fatal(err)
	}
	if err := client.ProduceSync(ctx, &kgo.Record{Topic: "greetings", Key: []byte("en"), Value: []byte("hello")}).FirstErr(); err != nil {
		log.Fatal(err)
	}
	for _, r := range client.PollFetches(ctx).Records() {
		fmt.Printf("%s: %s\n", r.Key, r.Value)
	}
	client.Close()
	if err := b.Shutdown(ctx); err != nil {
		log.Fatal(err)
	}
	// Output: en: hello
}

package kgobalancer_test

import (
	"context"
	"log"

	"github.com/skeinstream/skein/assign"
	"github.com/skeinstream/skein/assign/kgobalancer"
	"github.com/twmb/franz-go/pkg/kgo"
)

// A consumer whose group is planned by assign.CooperativeSticky. Nothing else
// of the program changes.
func ExampleNew() {
	client, err := kgo.NewClient(
		kgo.SeedBrokers("localhost:9092"),
		kgo.ConsumerGroup("orders"),
		kgo.ConsumeTopics("orders", "payments"),
		kgo.Balancers(kgobalancer.New(assign.CooperativeSticky{})),
	)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	for {
		fetches := client.PollFetches(context.Background())
		if fetches.IsClientClosed() {
			return
		}
		fetches.EachRecord(func(r *kgo.Record) { log.Printf("%s: %s", r.Topic, r.Value) })
	}
}

// In a group that may be led by members with several assignors, list all of
// them, the preferred one first, as with kgo's own.
func ExampleNew_severalAssignors() {
	_ = kgo.Balancers(
		kgobalancer.New(assign.Sticky{}),
		kgobalancer.New(assign.Range{}),
	)
}

// Kafka prefers racks to stickiness; here it is the other way round unless asked.
func ExampleRack() {
	a := assign.CooperativeSticky{Options: assign.Options{Racks: assign.RacksBeforeMoves}}
	_ = []kgo.Opt{
		kgo.Rack("eu-west-1a"),
		kgo.Balancers(kgobalancer.New(a, kgobalancer.Rack("eu-west-1a"))),
	}
}

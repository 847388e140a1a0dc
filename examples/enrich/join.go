package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/skeinstream/skein/client"
	"github.com/skeinstream/skein/consumer"
	"github.com/skeinstream/skein/exactlyonce"
	"github.com/skeinstream/skein/examples/internal/table"
	"github.com/skeinstream/skein/producer"
)

// join adds names to payments. What is exactly once is the invoice; which name it has, if that changes meanwhile, is a question of when it is
// written, as ever with a table that is looked up. A transaction that is done again looks it up again.
func join(ctx context.Context, cluster client.Config, name string) (err error) {
	known, err := table.Open(ctx, cluster, "customers")
	if err != nil {
		return err
	}
	following, stop := context.WithCancel(ctx)
	followed := make(chan error, 1)
	go func() { followed <- known.Follow(following) }()
	defer func() {
		stop()
		err = errors.Join(err, <-followed, known.Close())
	}()
	return exactlyonce.Run(ctx, exactlyonce.Config{
		Consumer: consumer.Config{Cluster: cluster, Group: "join", InstanceID: name, Reset: consumer.Earliest},
		Topics:   []string{"payments"},
		Poison:   exactlyonce.PoisonPolicy{DeadLetter: "strangers"},
	}, func(_ context.Context, batch consumer.Batch, out *exactlyonce.Out) error {
		for r := range batch.Records() {
			customer, found := known.Get(string(r.Key))
			if !found {
				return exactlyonce.Poison(r, fmt.Errorf("there is no customer %s", r.Key))
			}
			out.Send(&producer.Record{Topic: "invoices", Key: r.Key, Value: fmt.Appendf(nil, "%s by %s", r.Value, customer)})
		}
		return nil
	})
}

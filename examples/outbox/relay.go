package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/skeinstream/skein/client"
	"github.com/skeinstream/skein/examples/internal/stage"
	"github.com/skeinstream/skein/examples/internal/table"
	"github.com/skeinstream/skein/producer"
)

// work relays until ctx ends. Whatever goes wrong, the way on is the same: another producer, which ends what the old one has left, and then the
// position that is committed. Only a relay that was fenced has nothing more to do: another one runs.
func work(ctx context.Context, cluster client.Config, box file) error {
	for {
		err := relay(ctx, cluster, box)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, producer.ErrFenced):
			return fmt.Errorf("another relay has taken over: %w", err)
		}
		_ = stage.Wait(ctx, 100*time.Millisecond)
	}
}

// relay works with one producer, as long as nothing goes wrong. The order matters: Begin ends what a predecessor has open, and only after that it
// is settled how far that has come.
func relay(ctx context.Context, cluster client.Config, box file) error {
	p, err := producer.New(producer.Config{Cluster: cluster, TransactionalID: "orders-relay", TransactionTimeout: 10 * time.Second})
	if err != nil {
		return err
	}
	defer p.Close(context.WithoutCancel(ctx))
	if err := p.Begin(ctx); err != nil {
		return err
	}
	came, err := position(ctx, cluster)
	for err == nil {
		came, err = relays(ctx, p, box, came)
	}
	return err
}

// relays publishes what there is after a position, in the transaction that is begun, together with the next position, and begins another.
func relays(ctx context.Context, p *producer.Producer, box file, came int64) (int64, error) {
	rows, next, err := box.after(came, 500)
	if err != nil || len(rows) == 0 {
		return came, errors.Join(err, stage.Wait(ctx, 50*time.Millisecond))
	}
	for _, row := range rows {
		p.Send(ctx, &producer.Record{Topic: "orders", Value: row}, nil) // if it cannot be written, Commit says so
	}
	p.Send(ctx, &producer.Record{Topic: "positions", Key: []byte("orders"), Value: strconv.AppendInt(nil, next, 10)}, nil)
	if err := p.Commit(ctx); err != nil {
		return came, errors.Join(err, p.Abort(ctx)) // it is Abort that finds out whether another relay is behind it
	}
	return next, p.Begin(ctx)
}

// position is how far the rows are published.
func position(ctx context.Context, cluster client.Config) (int64, error) {
	rows, err := table.Read(ctx, cluster, "positions")
	if err != nil || rows["orders"] == nil {
		return 0, err
	}
	return strconv.ParseInt(string(rows["orders"]), 10, 64)
}

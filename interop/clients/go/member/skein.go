package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/skeinstream/skein/assign"
	"github.com/skeinstream/skein/client"
	"github.com/skeinstream/skein/consumer"
)

// skein leaves its commits to the consumer: they come now and then, and before a
// partition is given up.
func skein(ctx context.Context, a arguments) error {
	assignors, err := skeinAssignors(a.assignors)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	c, err := consumer.New(consumer.Config{
		Cluster: client.Config{Brokers: []string{a.bootstrap}, ClientID: a.client, Logger: log}, Group: a.group, InstanceID: a.instance,
		Assignors: assignors, SessionTimeout: a.session, HeartbeatInterval: a.heartbeat, Reset: consumer.Earliest, AutoCommitInterval: commitEvery,
		Listener: consumer.Listener{Assigned: skeinTells("assigned"), Revoked: skeinTells("revoked"), Lost: skeinTells("lost")},
		Hooks:    consumer.Hooks{Commit: skeinCommitted},
	})
	if err != nil {
		return err
	}
	if err := c.Subscribe(a.topic); err != nil {
		return err
	}
	for ctx.Err() == nil {
		batch, err := c.Poll(ctx)
		var refused *consumer.ProtocolError
		switch {
		case errors.As(err, &refused):
			return err
		case err != nil && ctx.Err() == nil:
			fmt.Fprintln(os.Stderr, "polling:", err)
		}
		for _, p := range batch.Partitions {
			if n := len(p.Records); n > 0 {
				say("handled %d %d %d %d", p.Partition, p.Records[0].Offset, p.Records[n-1].Offset, n)
			}
		}
	}
	return c.Close(context.Background()) // revokes, which commits, and leaves
}

func skeinTells(kind string) func(context.Context, consumer.Rebalance) error {
	return func(_ context.Context, r consumer.Rebalance) error {
		partitions := make([]int32, len(r.Partitions))
		for i, p := range r.Partitions {
			partitions[i] = p.Partition
		}
		sayPartitions(kind, partitions)
		return nil
	}
}

func skeinCommitted(offsets consumer.Offsets, err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "commit refused:", err)
		return
	}
	for p, o := range offsets {
		say("committed %d %d", p.Partition, o.At)
	}
}

// skeinAssignors are those named; none is what the consumer has by default.
func skeinAssignors(names []string) (all []assign.Assignor, err error) {
	if len(names) == 1 && names[0] == "default" {
		return nil, nil
	}
	for _, name := range names {
		switch name {
		case "range":
			all = append(all, assign.Range{})
		case "roundrobin":
			all = append(all, assign.RoundRobin{})
		case "sticky":
			all = append(all, assign.Sticky{})
		case "cooperative-sticky":
			all = append(all, assign.CooperativeSticky{})
		default:
			return nil, fmt.Errorf("no assignor %q", name)
		}
	}
	return all, nil
}

package member

import (
	"context"
	"errors"
	"log/slog"
	"os"

	"github.com/skeinstream/skein/assign"
	"github.com/skeinstream/skein/client"
	"github.com/skeinstream/skein/consumer"
)

// skein has nothing to do for its commits: they come once a second, and before a
// partition is given up.
func skein(ctx context.Context, a arguments) error {
	tell := func(kind string) func(context.Context, consumer.Rebalance) error {
		return func(_ context.Context, r consumer.Rebalance) error {
			sayPartitions(kind, numbers(r.Partitions))
			return nil
		}
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	c, err := consumer.New(consumer.Config{
		Logger: log, Cluster: client.Config{Brokers: []string{a.bootstrap}, ClientID: a.name, Logger: log}, Group: a.group, Assignors: skeinAssignors(a.assignors),
		SessionTimeout: a.session, HeartbeatInterval: a.heartbeat, Reset: consumer.Earliest, AutoCommitInterval: commitEvery,
		Listener: consumer.Listener{Assigned: tell("assigned"), Revoked: tell("revoked"), Lost: tell("lost")},
	})
	if err != nil {
		return err
	}
	if err := c.Subscribe(a.topic); err != nil {
		return err
	}
	for ctx.Err() == nil {
		batch, err := c.Poll(ctx)
		if !errors.Is(err, context.Canceled) {
			report(err)
		}
		for _, p := range batch.Partitions {
			sayHandled(p.Partition, p.Records[0].Offset, p.Records[len(p.Records)-1].Offset)
		}
	}
	return c.Close(context.Background()) // revokes, commits, and leaves
}

// skeinAssignors is nil by default: that is cooperative.
func skeinAssignors(names []string) []assign.Assignor {
	if names[0] == "range" {
		return []assign.Assignor{assign.Range{}}
	}
	return nil
}

func numbers(partitions []consumer.TopicPartition) []int32 {
	list := make([]int32, len(partitions))
	for i, p := range partitions {
		list[i] = p.Partition
	}
	return list
}

package stage

import (
	"context"
	"errors"
	"time"

	"github.com/skeinstream/skein/client"
	"github.com/skeinstream/skein/consumer"
)

// Lag is how many offsets a group has not committed of a topic: ends of transactions count, and what is in one that is open.
func Lag(ctx context.Context, cluster client.Config, group, topic string) (lag int64, err error) {
	c, err := consumer.New(consumer.Config{Cluster: cluster, Group: group})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, c.Close(context.WithoutCancel(ctx))) }()
	infos, err := c.PartitionsFor(ctx, topic)
	if err != nil {
		return 0, err
	}
	var partitions []consumer.TopicPartition
	for _, info := range infos {
		partitions = append(partitions, info.TopicPartition)
	}
	committed, err := c.Committed(ctx, partitions...)
	if err != nil {
		return 0, err
	}
	ends, err := c.EndOffsets(ctx, partitions...)
	for tp, end := range ends {
		lag += end - committed[tp].At
	}
	return lag, err
}

// Wait waits, and returns the error of ctx if that ends before.
func Wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

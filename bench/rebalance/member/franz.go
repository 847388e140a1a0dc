package member

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// franz holds rebalances up while it handles what a poll gave, and commits when
// partitions are revoked.
func franz(ctx context.Context, a arguments) error {
	var balancers []kgo.GroupBalancer
	for _, name := range a.assignors {
		balancers = append(balancers, map[string]kgo.GroupBalancer{"range": kgo.RangeBalancer(), "cooperative-sticky": kgo.CooperativeStickyBalancer()}[name])
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(a.bootstrap), kgo.ClientID(a.name), kgo.ConsumerGroup(a.group), kgo.ConsumeTopics(a.topic),
		kgo.Balancers(balancers...), kgo.SessionTimeout(a.session), kgo.HeartbeatInterval(a.heartbeat),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DisableAutoCommit(), kgo.BlockRebalanceOnPoll(),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, p map[string][]int32) { sayPartitions("assigned", p[a.topic]) }),
		kgo.OnPartitionsRevoked(func(ctx context.Context, c *kgo.Client, p map[string][]int32) {
			report(c.CommitUncommittedOffsets(context.WithoutCancel(ctx)))
			sayPartitions("revoked", p[a.topic])
		}),
		kgo.OnPartitionsLost(func(_ context.Context, _ *kgo.Client, p map[string][]int32) { sayPartitions("lost", p[a.topic]) }))
	if err != nil {
		return err
	}
	defer client.CloseAllowingRebalance() // revokes and leaves
	for committed := time.Now(); ctx.Err() == nil; {
		poll, cancel := context.WithTimeout(ctx, pollEvery)
		fetches := client.PollFetches(poll)
		cancel()
		if err := fetches.Err(); !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
			report(err)
		}
		fetches.EachPartition(func(p kgo.FetchTopicPartition) {
			if n := len(p.Records); n > 0 {
				sayHandled(p.Partition, p.Records[0].Offset, p.Records[n-1].Offset)
			}
		})
		if time.Since(committed) >= commitEvery {
			committed = time.Now()
			report(client.CommitUncommittedOffsets(ctx))
		}
		client.AllowRebalance()
	}
	return nil
}

// report tells of what a client will do again by itself.
func report(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// franzMember commits in the callbacks too; they never run beside the loop,
// which blocks rebalances while it handles.
type franzMember struct {
	topic   string
	client  *kgo.Client
	pending map[int32]kgo.EpochOffset
}

func franz(ctx context.Context, a arguments) error {
	m := &franzMember{topic: a.topic, pending: map[int32]kgo.EpochOffset{}}
	var balancers []kgo.GroupBalancer
	for _, name := range a.assignors {
		balancers = append(balancers, map[string]kgo.GroupBalancer{
			"range": kgo.RangeBalancer(), "roundrobin": kgo.RoundRobinBalancer(),
			"sticky": kgo.StickyBalancer(), "cooperative-sticky": kgo.CooperativeStickyBalancer(),
		}[name])
	}
	opts := []kgo.Opt{
		kgo.SeedBrokers(a.bootstrap), kgo.ClientID(a.client), kgo.ConsumerGroup(a.group), kgo.ConsumeTopics(a.topic),
		kgo.Balancers(balancers...), kgo.SessionTimeout(a.session), kgo.HeartbeatInterval(a.heartbeat),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DisableAutoCommit(), kgo.BlockRebalanceOnPoll(), kgo.FetchMaxWait(100 * time.Millisecond),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, p map[string][]int32) { sayPartitions("assigned", p[m.topic]) }),
		kgo.OnPartitionsRevoked(m.revoked),
		kgo.OnPartitionsLost(func(_ context.Context, _ *kgo.Client, p map[string][]int32) { sayPartitions("lost", p[m.topic]) }),
	}
	if a.instance != "" {
		opts = append(opts, kgo.InstanceID(a.instance))
	}
	var err error
	if m.client, err = kgo.NewClient(opts...); err != nil {
		return err
	}
	return m.run(ctx)
}

func (m *franzMember) run(ctx context.Context) error {
	last := time.Now()
	for ctx.Err() == nil {
		poll, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		fetches := m.client.PollFetches(poll)
		cancel()
		if err := fetches.Err(); err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
			fmt.Fprintln(os.Stderr, "fetching:", err)
		}
		fetches.EachPartition(m.handle)
		if time.Since(last) >= commitEvery || ctx.Err() != nil {
			last = time.Now()
			if err := m.commit(context.Background(), m.pending); err != nil {
				return err
			}
		}
		m.client.AllowRebalance()
	}
	m.client.CloseAllowingRebalance() // revokes, which commits, and leaves
	return nil
}

func (m *franzMember) handle(p kgo.FetchTopicPartition) {
	if n := len(p.Records); n > 0 {
		last := p.Records[n-1]
		say("handled %d %d %d %d", p.Partition, p.Records[0].Offset, last.Offset, n)
		m.pending[p.Partition] = kgo.EpochOffset{Epoch: last.LeaderEpoch, Offset: last.Offset + 1}
	}
}

// commit keeps what a rebalance under way puts off.
func (m *franzMember) commit(ctx context.Context, offsets map[int32]kgo.EpochOffset) error {
	if len(offsets) == 0 {
		return nil
	}
	var failed error
	m.client.CommitOffsetsSync(ctx, map[string]map[int32]kgo.EpochOffset{m.topic: offsets}, func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, answer *kmsg.OffsetCommitResponse, err error) {
		failed = err
		if err != nil {
			return
		}
		for _, t := range answer.Topics {
			for _, p := range t.Partitions {
				failed = errors.Join(failed, kerr.ErrorForCode(p.ErrorCode))
			}
		}
	})
	var answered *kerr.Error // else the broker is just starting again
	if failed != nil && (!errors.As(failed, &answered) || answered.Retriable || errors.Is(failed, kerr.RebalanceInProgress)) {
		fmt.Fprintln(os.Stderr, "put off:", failed)
		return nil
	}
	if failed == nil {
		for p, o := range offsets {
			say("committed %d %d", p, o.Offset)
			delete(m.pending, p)
		}
	}
	return failed
}

func (m *franzMember) revoked(ctx context.Context, _ *kgo.Client, partitions map[string][]int32) {
	offsets := map[int32]kgo.EpochOffset{}
	for _, p := range partitions[m.topic] {
		if o, ok := m.pending[p]; ok {
			offsets[p] = o
		}
	}
	if err := m.commit(context.WithoutCancel(ctx), offsets); err != nil {
		say("failed committing what is revoked: %v", err)
	}
	sayPartitions("revoked", partitions[m.topic])
}

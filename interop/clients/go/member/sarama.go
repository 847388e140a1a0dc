package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/IBM/sarama"
)

// saramaHandler says what it owns claim by claim: that is all a cooperative
// session tells.
type saramaHandler struct{}

func saramaMember(ctx context.Context, a arguments) error {
	config := sarama.NewConfig()
	config.Version, config.ClientID = sarama.V3_6_0_0, a.client
	group := &config.Consumer.Group
	group.Session.Timeout, group.Heartbeat.Interval, group.InstanceId = a.session, a.heartbeat, a.instance
	group.Rebalance.GroupStrategies = nil // range is there already; what names it twice, Kafka 4 takes into no group of several
	for _, name := range a.assignors {
		group.Rebalance.GroupStrategies = append(group.Rebalance.GroupStrategies, map[string]sarama.BalanceStrategy{
			"range": sarama.NewBalanceStrategyRange(), "roundrobin": sarama.NewBalanceStrategyRoundRobin(),
			"sticky": sarama.NewBalanceStrategySticky(), "cooperative-sticky": sarama.NewBalanceStrategyCooperativeSticky(),
		}[name])
	}
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.MaxWaitTime = 100 * time.Millisecond
	config.Consumer.Return.Errors = true
	config.Consumer.Retry.Backoff = 200 * time.Millisecond
	config.Metadata.Retry.Max = 50
	g, err := sarama.NewConsumerGroup([]string{a.bootstrap}, a.group, config)
	if err != nil {
		return err
	}
	go func() { // ends with Close
		for err := range g.Errors() {
			fmt.Fprintln(os.Stderr, "sarama:", err)
		}
	}()
	for ctx.Err() == nil {
		if err := g.Consume(ctx, []string{a.topic}, &saramaHandler{}); err != nil && ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, "consuming:", err) // the broker starts again
			time.Sleep(commitEvery)
		}
	}
	return g.Close()
}

func (h *saramaHandler) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (h *saramaHandler) Cleanup(sarama.ConsumerGroupSession) error { return nil }

// ConsumeClaim returns when the partition is taken, and commits before.
func (h *saramaHandler) ConsumeClaim(s sarama.ConsumerGroupSession, c sarama.ConsumerGroupClaim) error {
	mine := []int32{c.Partition()}
	sayPartitions("assigned", mine)
	defer sayPartitions("revoked", mine)
	defer s.Commit()
	tick := time.NewTicker(commitEvery)
	defer tick.Stop()
	for {
		select {
		case m, open := <-c.Messages():
			if !open {
				return nil
			}
			say("handled %d %d %d 1", m.Partition, m.Offset, m.Offset)
			s.MarkMessage(m, "")
		case <-tick.C:
			s.Commit()
		case <-s.Context().Done():
			if cause := context.Cause(s.Context()); errors.Is(cause, sarama.ErrSessionHeartbeatFailed) {
				fmt.Fprintln(os.Stderr, "session:", cause)
			}
			return nil
		}
	}
}

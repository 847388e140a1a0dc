package member

import (
	"context"

	client "github.com/IBM/sarama"
)

// sarama commits once a second by itself, and when a claim ends.
func sarama(ctx context.Context, a arguments) error {
	config := client.NewConfig()
	config.Version, config.ClientID = client.V3_6_0_0, a.name
	group := &config.Consumer.Group
	group.Session.Timeout, group.Heartbeat.Interval = a.session, a.heartbeat
	group.Rebalance.GroupStrategies = nil // it comes with range
	for _, name := range a.assignors {
		group.Rebalance.GroupStrategies = append(group.Rebalance.GroupStrategies, map[string]client.BalanceStrategy{
			"range": client.NewBalanceStrategyRange(), "cooperative-sticky": client.NewBalanceStrategyCooperativeSticky(),
		}[name])
	}
	config.Consumer.Offsets.Initial = client.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Interval = commitEvery
	config.Consumer.Return.Errors = true
	g, err := client.NewConsumerGroup([]string{a.bootstrap}, a.group, config)
	if err != nil {
		return err
	}
	go func() { // ends with Close
		for err := range g.Errors() {
			report(err)
		}
	}()
	for ctx.Err() == nil {
		if err := g.Consume(ctx, []string{a.topic}, handler{}); ctx.Err() == nil {
			report(err)
		}
	}
	return g.Close()
}

// handler says what it owns claim by claim: that is all a cooperative session
// tells.
type handler struct{}

func (handler) Setup(client.ConsumerGroupSession) error   { return nil }
func (handler) Cleanup(client.ConsumerGroupSession) error { return nil }

func (handler) ConsumeClaim(s client.ConsumerGroupSession, c client.ConsumerGroupClaim) error {
	mine := []int32{c.Partition()}
	sayPartitions("assigned", mine)
	defer sayPartitions("revoked", mine)
	defer s.Commit()
	for {
		select {
		case m, open := <-c.Messages():
			if !open {
				return nil
			}
			sayHandled(m.Partition, m.Offset, m.Offset)
			s.MarkMessage(m, "")
		case <-s.Context().Done():
			return nil
		}
	}
}

package wire

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// pollEvery is the pause between two tries: small beside any start.
const pollEvery = time.Millisecond

// Versions that every peer serves and that name topics by name.
const (
	createTopicsVersion = 5
	produceVersion      = 9
)

// AwaitFirstProduce creates topic and produces one record to it with acks=all,
// again and again until the broker at addr accepts. It returns why the last
// try failed when ctx ends first.
func AwaitFirstProduce(ctx context.Context, addr, topic string) error {
	for {
		err := produceOnce(ctx, addr, topic)
		if err == nil {
			return nil
		}
		if werr := wait(ctx, pollEvery); werr != nil {
			return fmt.Errorf("waiting for the first accepted produce: %w; the last try: %w", werr, err)
		}
	}
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// produceOnce keeps its connection while the broker answers, be it with errors.
func produceOnce(ctx context.Context, addr, topic string) error {
	c, err := Dial(ctx, addr)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := untilAccepted(ctx, func() error { return c.create(topic) }); err != nil {
		return err
	}
	return untilAccepted(ctx, func() error { return c.produce(topic) })
}

// untilAccepted tries again after a refusal by the broker; any other error
// ends it.
func untilAccepted(ctx context.Context, try func() error) error {
	for {
		err := try()
		var refused *kerr.Error
		if !errors.As(err, &refused) {
			return err
		}
		if werr := wait(ctx, pollEvery); werr != nil {
			return fmt.Errorf("%w; the last answer: %w", werr, err)
		}
	}
}

func (c *Conn) create(topic string) error {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version = createTopicsVersion
	req.TimeoutMillis = 10_000
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = topic, 1, 1
	req.Topics = append(req.Topics, t)
	resp, err := c.Ask(req)
	if err != nil {
		return err
	}
	for _, t := range resp.(*kmsg.CreateTopicsResponse).Topics {
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
			return err
		}
	}
	return nil
}

func (c *Conn) produce(topic string) error {
	req := kmsg.NewPtrProduceRequest()
	req.Version = produceVersion
	req.Acks, req.TimeoutMillis = -1, 10_000
	p := kmsg.NewProduceRequestTopicPartition()
	p.Records = batchOf([]byte("first"), time.Now().UnixMilli())
	t := kmsg.NewProduceRequestTopic()
	t.Topic, t.Partitions = topic, []kmsg.ProduceRequestTopicPartition{p}
	req.Topics = append(req.Topics, t)
	resp, err := c.Ask(req)
	if err != nil {
		return err
	}
	topics := resp.(*kmsg.ProduceResponse).Topics
	if len(topics) != 1 || len(topics[0].Partitions) != 1 {
		return errors.New("the answer names no partition")
	}
	return kerr.ErrorForCode(topics[0].Partitions[0].ErrorCode)
}

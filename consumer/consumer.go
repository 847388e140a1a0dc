package consumer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/skeinstream/skein/consumer/internal/membership"
)

// Consumer reads topics. Its methods may be called by several goroutines, but one polls at a time.
type Consumer struct {
	cfg    Config
	log    *slog.Logger
	kafka  *kgo.Client
	table  *table
	desk   *desk
	driver *driver

	seat chan struct{} // Poll, Unsubscribe and Close, one at a time
	tap  chan struct{} // what comes out of franz-go
	held kgo.Fetches   // records that have come out of it and were not handed out; under the tap

	commits   *committer
	stats     stats
	unstable  atomic.Bool // that the broker knows no stable offsets has been told
	closing   atomic.Bool
	closed    chan struct{} // Close has ended: what follows is what with
	closeErr  error
	panicked  any
	goroutine sync.WaitGroup
}

// New makes a consumer, which reads nothing until it is told to Subscribe or Assign. Nothing is connected yet. Close ends it.
func New(cfg Config) (*Consumer, error) {
	cfg = cfg.withDefaults()
	if err := cfg.check(); err != nil {
		return nil, fmt.Errorf("configuring a consumer: %w", err)
	}
	c := &Consumer{cfg: cfg, log: cfg.Logger, desk: new(desk), seat: make(chan struct{}, 1), tap: make(chan struct{}, 1), closed: make(chan struct{})}
	c.table = &table{partitions: map[TopicPartition]*partition{}, generation: membership.Generation{ID: -1, Instance: cfg.InstanceID}}
	member, err := cfg.machine()
	if err != nil {
		return nil, fmt.Errorf("configuring a consumer: %w", err)
	}
	if c.kafka, err = kgo.NewClient(cfg.kgoOptions()...); err != nil {
		return nil, fmt.Errorf("setting up the Kafka client: %w", err)
	}
	c.commits = newCommitter(c)
	c.driver = newDriver(c, member)
	c.goroutine.Go(c.driver.run)
	c.goroutine.Go(c.commits.run)
	return c, nil
}

// Subscribe joins the group for topics, in the place of what was subscribed to before. Callbacks come with the next polls.
func (c *Consumer) Subscribe(topics ...string) error {
	if len(topics) == 0 {
		return errors.New("subscribing to no topics: Unsubscribe does that")
	}
	return c.subscribe(slices.Clone(topics), nil)
}

// SubscribePattern joins the group for all topics whose name the pattern matches, those that are made later, too, once the next look at
// the cluster has found them (Config.MetadataMaxAge). Topics that are internal to Kafka are never among them.
func (c *Consumer) SubscribePattern(pattern *regexp.Regexp) error {
	if pattern == nil {
		return errors.New("subscribing to no pattern: Unsubscribe does that")
	}
	return c.subscribe(nil, pattern)
}

// subscribe is the driver's, and so are Assign and the end of Unsubscribe: of those that come at once, one is the last.
func (c *Consumer) subscribe(topics []string, pattern *regexp.Regexp) error {
	if c.closing.Load() {
		return ErrClosed
	}
	if c.cfg.Group == "" {
		return fmt.Errorf("subscribing: %w", ErrNoGroup)
	}
	err := ErrClosed
	c.driver.ask(func() {
		if err = c.table.subscribe(); err == nil {
			c.driver.subscribe(topics, pattern)
		}
	})
	return err
}

// Unsubscribe leaves the group, after the callback for what is owned: Revoked, or Lost while a rebalance is under way. It ends a manual
// assignment, too. The consumer may subscribe again. A static member does not leave: the group keeps its place until its session ends, and it comes
// back as who it was.
func (c *Consumer) Unsubscribe(ctx context.Context) error {
	if err := c.sit(ctx); err != nil {
		return err
	}
	defer c.rise()
	if c.closing.Load() {
		return ErrClosed
	}
	c.table.isDone()
	c.commitBefore(ctx, nil)
	c.driver.ask(c.driver.unsubscribe)
	for c.runCallback(context.WithoutCancel(ctx)) {
		continue
	}
	c.driver.ask(c.driver.unsubscribed)
	return c.desk.err()
}

// EnforceRebalance has the group rebalance, for a reason that its members and the broker are told (KIP-800).
func (c *Consumer) EnforceRebalance(reason string) error {
	if c.closing.Load() {
		return ErrClosed
	}
	c.driver.ask(func() { c.driver.step(membership.Rejoin{Reason: reason}) })
	return nil
}

// Assignment is what is owned, in order.
func (c *Consumer) Assignment() []TopicPartition { return c.table.assignment() }

// GroupMetadata is in whose name offsets are committed.
func (c *Consumer) GroupMetadata() GroupMetadata {
	g, _ := c.table.currentGeneration()
	return GroupMetadata{Group: c.cfg.Group, Generation: g.ID, Member: g.Member, Instance: g.Instance}
}

// PartitionContext ends when the partition is not owned any more, or is not now: context.Cause is ErrRevoked at the end of the Revoked
// callback, ErrExpelled as soon as the group has gone on without this member, though the Lost callback may come later.
func (c *Consumer) PartitionContext(p TopicPartition) context.Context {
	if ctx := c.table.owned(p); ctx != nil {
		return ctx
	}
	ctx, end := context.WithCancelCause(context.Background())
	end(ErrNotOwned)
	return ctx
}

// RebalanceDeadline is until when the group waits for this member to poll and to end its callbacks, while it does.
func (c *Consumer) RebalanceDeadline() (time.Time, bool) {
	c.desk.mu.Lock()
	defer c.desk.mu.Unlock()
	return c.desk.deadline, !c.desk.deadline.IsZero()
}

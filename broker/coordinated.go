package broker

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/skeinstream/skein/broker/internal/catalog"
	"github.com/skeinstream/skein/broker/internal/coordinator"
	"github.com/skeinstream/skein/broker/internal/record"
)

// coordinated is a coordinator that comes with its internal topic: from the start when the topic is there, else when
// somebody needs it first.
type coordinated struct {
	broker *Broker
	topic  internalTopic
	// config is the coordinator's over the topic as it is in the catalog.
	config func(*catalog.Topic) coordinator.Config
	// changed is called with mu held when the topic is another one than before.
	changed func()

	current atomic.Pointer[coordinator.Coordinator] // nil without a topic; changed under mu
	making  atomic.Bool                             // the topic, for those in waiting; changed under mu
	work    sync.WaitGroup                          // what makes the topic, and coordinators that end

	mu      sync.Mutex // guards what follows
	id      catalog.ID // of current's topic
	closed  bool
	waiting []func(error) // for the topic, in the order in which they came
}

// internalTopic is how a topic is made.
type internalTopic struct {
	name         string
	partitions   int32
	segmentBytes int
	compression  string // compression.type
}

// Prepare implements api.Groups and api.Transactions.
func (c *coordinated) Prepare(done func(error)) {
	if c.there() != nil {
		done(nil)
		return
	}
	if waits, err := c.await(done); !waits {
		done(err)
	}
}

// there is the coordinator that may be asked at once: nobody waits who came before.
func (c *coordinated) there() *coordinator.Coordinator {
	if c.making.Load() {
		return nil
	}
	return c.current.Load()
}

var errStopping = errors.New("the broker is stopping")

// await has the topic made, after which done is called, and reports whether it will be: else it is there, or cannot be made.
func (c *coordinated) await(done func(error)) (waits bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false, errors.Join(coordinator.ErrNotCoordinator, errStopping)
	}
	if c.there() != nil {
		return false, nil
	}
	c.waiting = append(c.waiting, done)
	if !c.making.Swap(true) {
		c.work.Go(c.create)
	}
	return true, nil
}

// create makes the topic; follow then opens its coordinator. Everybody who waits hears of the outcome. Who comes meanwhile
// waits behind them, since the commits of a connection must not overtake each other, and is tried for anew: what has failed
// a moment ago says nothing about now.
func (c *coordinated) create() {
	for waiting := c.takeWaiting(); waiting != nil; waiting = c.takeWaiting() {
		err := c.attempt()
		for _, done := range waiting {
			done(err)
		}
	}
}

// attempt makes the topic, unless it is there, and waits until its coordinator has tried to load every shard: who comes first
// needs not be told to come again.
func (c *coordinated) attempt() error {
	if c.current.Load() == nil {
		if err := c.makeTopic(context.Background()); err != nil {
			return err
		}
	}
	now := c.current.Load()
	if now == nil {
		return coordinator.ErrNotCoordinator // it is gone again
	}
	<-now.Tried()
	return nil
}

// takeWaiting takes those who wait; when there are none nobody needs to wait any more.
func (c *coordinated) takeWaiting() []func(error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	waiting := c.waiting
	c.waiting = nil
	if waiting == nil {
		c.making.Store(false)
	}
	return waiting
}

// do gives an input to the shard of a key.
func (c *coordinated) do(key string, in any, done func(reply any, err error)) {
	if now := c.there(); now != nil {
		now.Do(coordinator.Shard(key, now.Shards()), in, done)
		return
	}
	c.Prepare(func(err error) {
		now := c.current.Load()
		if err == nil && now == nil {
			err = coordinator.ErrNotCoordinator
		}
		if err != nil {
			done(nil, err)
			return
		}
		now.Do(coordinator.Shard(key, now.Shards()), in, done)
	})
}

// All implements api.Groups and api.Transactions.
func (c *coordinated) All(in any, done func(replies []any, err error)) {
	now := c.current.Load()
	if now == nil {
		done(nil, c.ended())
		return
	}
	a := &answers{missing: now.Shards(), done: done}
	for shard := range int32(now.Shards()) {
		now.Do(shard, in, a.add)
	}
}

// ended is the error of a question to a coordinator that has ended with the broker, nil when there were none.
func (c *coordinated) ended() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return errors.Join(coordinator.ErrNotCoordinator, errStopping)
	}
	return nil
}

// answers gathers what every shard says.
type answers struct {
	done func([]any, error)

	mu      sync.Mutex // guards what follows
	missing int
	replies []any
	err     error
}

func (a *answers) add(reply any, err error) {
	a.mu.Lock()
	a.missing--
	a.replies = append(a.replies, reply)
	if a.err == nil {
		a.err = err
	}
	last := a.missing == 0
	a.mu.Unlock()
	switch {
	case last && a.err != nil:
		a.done(nil, a.err)
	case last:
		a.done(a.replies, nil)
	}
}

// attend makes the coordinator that of topic, which may be nil.
func (c *coordinated) attend(topic *catalog.Topic) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var id catalog.ID
	if topic != nil {
		id = topic.ID
	}
	if c.closed || c.id == id {
		return
	}
	if old := c.current.Load(); old != nil {
		c.work.Go(func() { _ = old.Shutdown(context.Background()) }) // its appends end with the topic's partitions
	}
	c.id = id
	c.changed()
	if topic == nil {
		c.current.Store(nil)
		return
	}
	c.current.Store(coordinator.Open(c.config(topic)))
}

// shutdown answers everybody who waits and ends the coordinator.
func (c *coordinated) shutdown(ctx context.Context) (err error) {
	c.mu.Lock()
	c.closed = true
	now := c.current.Swap(nil)
	c.mu.Unlock()
	if now != nil {
		err = now.Shutdown(ctx)
	}
	c.work.Wait()
	return err
}

// makeTopic makes the topic, unless somebody has.
func (c *coordinated) makeTopic(ctx context.Context) error {
	b := c.broker
	id, err := b.catalog.NewTopicID()
	if err != nil {
		return fmt.Errorf("creating %s: %w", c.topic.name, err)
	}
	topic := &catalog.Topic{
		ID: id, Name: c.topic.name, Internal: true, Partitions: c.topic.partitions, CreatedMs: b.cfg.now().UnixMilli(),
		Configs: map[string]string{
			"cleanup.policy":   "compact",
			"compression.type": c.topic.compression,
			"segment.bytes":    strconv.Itoa(c.topic.segmentBytes),
		},
	}
	made := false
	_, err = b.catalog.Change(ctx, func(s *catalog.Snapshot) ([]catalog.Record, error) {
		if s.Topic(topic.Name) != nil {
			return nil, nil
		}
		made = true
		return []catalog.Record{{TopicCreated: topic}}, nil
	})
	if err != nil {
		b.cfg.Logger.Error("an internal topic cannot be created", "topic", topic.Name, "error", err)
		return fmt.Errorf("creating %s: %w", topic.Name, err)
	}
	if made {
		b.cfg.Logger.Info("topic created", "topic", topic.Name, "id", id.String(), "partitions", topic.Partitions)
	}
	return nil
}

// openLog opens the partition of the topic that a shard keeps its records in.
func (c *coordinated) openLog(topic catalog.ID, shard int32, codec record.Codec) (coordinator.Log, error) {
	b := c.broker
	t := b.table.TopicByID(topic)
	if t == nil || t.Partition(shard) == nil {
		return nil, fmt.Errorf("opening partition %d of %s: it does not exist", shard, c.topic.name)
	}
	return coordinator.NewPartitionLog(t.Partition(shard), coordinator.LogOptions{Table: b.table, Codec: codec, Now: b.cfg.now}), nil
}

// warn tells what of an existing topic is not as the settings have it, or as it should be. It has as many shards as the topic
// has partitions, whatever the settings say by now: what a key has is where its shard is (FR-C21).
func (c *coordinated) warn(topic *catalog.Topic, setting string) {
	b := c.broker
	if topic.Partitions != c.topic.partitions {
		b.cfg.Logger.Warn(setting+" is not what the topic has: the topic stays as it is, so that nothing in it is lost",
			"topic", topic.Partitions, "setting", c.topic.partitions)
	}
	if t := b.table.TopicByID(topic.ID); t != nil && (t.Settings().Delete || !t.Settings().Compact) {
		b.cfg.Logger.Warn("an internal topic is not compacted only, so that what its coordinator knows will be deleted with its old segments", "topic", topic.Name)
	}
}

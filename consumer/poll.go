package consumer

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Poll returns the next records, at most Config.MaxPollRecords. It waits until there are some, an error is to be told, or ctx ends, which
// is an error, too: ctx.Err(). Callbacks of the Listener run inside. To come back is to say that the records of earlier polls are done
// with: they are committed from now on, unless Config.ManualCommit. One goroutine polls at a time; others wait. A context that has ended
// before gets no records.
func (c *Consumer) Poll(ctx context.Context) (Batch, error) {
	if err := c.sit(ctx); err != nil {
		return Batch{}, err
	}
	defer c.rise()
	c.comes()
	c.table.isDone()
	for {
		c.desk.quiet()
		if c.closing.Load() {
			return Batch{}, ErrClosed
		}
		for c.runCallback(context.WithoutCancel(ctx)) {
			c.comes()
		}
		if err := c.desk.err(); err != nil {
			return Batch{}, err
		}
		if b := c.fetch(ctx); len(b.Partitions) > 0 {
			return b, nil
		}
		if err := ctx.Err(); err != nil {
			return Batch{}, err
		}
	}
}

// comes says that the user is there. Only a machine that waits for that has to be told at once.
func (c *Consumer) comes() {
	u := &c.driver.user
	u.polled.Store(time.Since(u.began).Nanoseconds())
	if u.resting.Load() {
		c.driver.ask(c.driver.polls)
	}
}

// fetch is what there is, or what comes until the desk rings or ctx ends. All that franz-go has is taken at once, and what is too much for a batch
// is held: it fetches on while that is worked off, and not before.
func (c *Consumer) fetch(ctx context.Context) Batch {
	if ctx.Err() != nil || c.openTap(ctx) != nil {
		return Batch{}
	}
	defer c.closeTap()
	if b, _ := c.accept(nil); len(b.Partitions) > 0 {
		return b
	}
	b, troubled := c.accept(c.buffered())
	if len(b.Partitions) > 0 {
		return b
	}
	armed, disarm := c.desk.arm(ctx)
	defer disarm()
	defer c.driver.user.waits()()
	if troubled && sleep(armed, troublePause) != nil {
		return Batch{}
	}
	b, _ = c.accept(c.kafka.PollFetches(armed))
	return b
}

// troublePause is before a broker that answers with errors is asked again.
const troublePause = 20 * time.Millisecond

// accept filters what is held and then what has come, keeps what is too much for one batch, and looks after errors. What is held comes first though
// it had nothing to hand out a moment ago: a Resume may have been between. The tap is open.
func (c *Consumer) accept(come kgo.Fetches) (b Batch, troubled bool) {
	b, left, troubles := c.table.accept(append(c.held, come...), c.cfg.MaxPollRecords)
	c.held = left
	for _, t := range troubles {
		c.trouble(t)
	}
	return b, len(troubles) > 0
}

// The tap is a lock on what comes out of franz-go: Poll has it while it fetches; who changes what is fetched takes it in between. It is a
// channel, since it is held while something is waited for.

func (c *Consumer) openTap(ctx context.Context) error {
	select {
	case c.tap <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *Consumer) closeTap() { <-c.tap }

// withTap runs f while nothing is fetched. A Poll that waits is interrupted for it.
func (c *Consumer) withTap(f func()) {
	c.desk.tap(1)
	c.tap <- struct{}{}
	c.desk.tap(-1)
	defer c.closeTap()
	f()
}

// The seat is what Poll, Unsubscribe and Close take, one at a time.

func (c *Consumer) sit(ctx context.Context) error {
	select {
	case c.seat <- struct{}{}:
		return nil
	default:
	}
	select {
	case c.seat <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *Consumer) rise() { <-c.seat }

// buffered is what franz-go has fetched already. The tap is open.
func (c *Consumer) buffered() kgo.Fetches {
	var now context.Context // none: franz-go does not wait then
	return c.kafka.PollFetches(now)
}

// forget has franz-go fetch partitions no more. What it has of others is kept, since it forgets all when it forgets one (R-B5); but what it has of those
// of which something is held already it fetches again: else whoever seeks again and again holds ever more.
func (c *Consumer) forget(list []*partition) {
	come := c.buffered()
	again := c.giveBack(come)
	c.held = append(c.held, come...)
	c.dropHeld(keys(list))
	for _, p := range list {
		delete(again, p.TopicPartition)
	}
	c.kafka.RemoveConsumePartitions(byTopic(slices.AppendSeq(keys(list), maps.Keys(again))))
	c.addAt(again)
}

// giveBack takes out of what has come the records of partitions of which something is held, and says where the first of them are.
func (c *Consumer) giveBack(come kgo.Fetches) (first map[TopicPartition]place) {
	held := map[TopicPartition]bool{}
	c.held.EachPartition(func(p kgo.FetchTopicPartition) {
		if len(p.Records) > 0 {
			held[TopicPartition{Topic: p.Topic, Partition: p.Partition}] = true
		}
	})
	first = map[TopicPartition]place{}
	for _, f := range come {
		for _, t := range f.Topics {
			for i := range t.Partitions {
				p := &t.Partitions[i]
				tp := TopicPartition{Topic: t.Topic, Partition: p.Partition}
				if !held[tp] || len(p.Records) == 0 {
					continue
				}
				if _, is := first[tp]; !is {
					first[tp] = place{p.Records[0].Offset, p.Records[0].LeaderEpoch}
				}
				p.Records = nil
			}
		}
	}
	return first
}

// addAt has franz-go fetch partitions that it does not fetch. With the epochs it finds out whether the log was cut meanwhile (KIP-320).
func (c *Consumer) addAt(places map[TopicPartition]place) {
	add := map[string]map[int32]kgo.Offset{}
	for tp, at := range places {
		if add[tp.Topic] == nil {
			add[tp.Topic] = map[int32]kgo.Offset{}
		}
		add[tp.Topic][tp.Partition] = kgo.NewOffset().At(at.at).WithEpoch(at.epoch)
	}
	c.kafka.AddConsumePartitions(add)
}

// dropHeld throws away what was fetched of partitions and not handed out. The tap is open.
func (c *Consumer) dropHeld(list []TopicPartition) {
	gone := make(map[TopicPartition]bool, len(list))
	for _, tp := range list {
		gone[tp] = true
	}
	for _, f := range c.held {
		for i := range f.Topics {
			t := &f.Topics[i]
			t.Partitions = slices.DeleteFunc(t.Partitions, func(p kgo.FetchPartition) bool {
				return gone[TopicPartition{Topic: t.Topic, Partition: p.Partition}]
			})
		}
	}
}

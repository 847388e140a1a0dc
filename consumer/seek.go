package consumer

import (
	"context"
	"fmt"

	"github.com/skeinstream/skein/consumer/internal/reset"
)

// Seek has the next Poll hand out records of a partition from an offset on. It is also what a commit says from then on. An offset that the log
// does not hold is met with Config.Reset. The error is a *NotOwnedError where the partition is not this consumer's.
func (c *Consumer) Seek(tp TopicPartition, at int64) error {
	if at < 0 {
		return fmt.Errorf("seeking in %s-%d: an offset is not less than 0, and %d is", tp.Topic, tp.Partition, at)
	}
	return c.seek(map[TopicPartition]place{tp: {at, -1}})
}

// SeekToBeginning is Seek to the first record that is kept; of everything that is owned without any partition.
func (c *Consumer) SeekToBeginning(ctx context.Context, list ...TopicPartition) error {
	return c.seekTo(ctx, reset.Start, list)
}

// SeekToEnd is Seek to the end of the log, which is that of decided transactions with Config.ReadCommitted; of everything that is owned without any
// partition.
func (c *Consumer) SeekToEnd(ctx context.Context, list ...TopicPartition) error {
	return c.seekTo(ctx, reset.End, list)
}

func (c *Consumer) seekTo(ctx context.Context, ts int64, list []TopicPartition) error {
	if len(list) == 0 {
		list = c.Assignment()
	}
	found, err := c.lookUp(ctx, list, ts)
	if err != nil {
		return fmt.Errorf("seeking: %w", err)
	}
	for tp, at := range found {
		found[tp] = place{at.at, -1}
	}
	return c.seek(found)
}

// seek moves positions while nothing is fetched, and forgets what was fetched from the old ones.
func (c *Consumer) seek(to map[TopicPartition]place) error {
	var gone []TopicPartition
	c.withTap(func() {
		var moved []*partition
		moved, gone = c.table.unplace(to)
		c.forget(moved)
		places := map[*partition]placement{}
		for _, p := range moved {
			places[p] = placement{to[p.TopicPartition], false}
		}
		c.fetchFrom(places)
	})
	if len(gone) > 0 {
		return fmt.Errorf("seeking: %w", &NotOwnedError{gone})
	}
	return nil
}

// unplace takes their positions from partitions, and says which ones are not owned.
func (t *table) unplace(to map[TopicPartition]place) (owned []*partition, gone []TopicPartition) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for tp := range to {
		p := t.partitions[tp]
		if p == nil || p.stopped {
			gone = append(gone, tp)
			continue
		}
		p.placed = false
		owned = append(owned, p)
	}
	return owned, gone
}

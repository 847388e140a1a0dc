package consumer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Position is what Poll hands out next of a partition; false if it is not owned, or if it is not known yet where it is read from: Poll finds out.
func (c *Consumer) Position(tp TopicPartition) (Offset, bool) {
	c.table.mu.Lock()
	defer c.table.mu.Unlock()
	p := c.table.partitions[tp]
	if p == nil || !p.placed {
		return Offset{}, false
	}
	return Offset{At: p.position.at, LeaderEpoch: p.position.epoch}, true
}

// Lag is how many offsets a partition has that were not handed out, as far as the last records that came have told: nothing is asked, and false is
// that nothing has come yet. With Config.ReadCommitted it ends at the first transaction that is not decided. It is never negative, and what
// the log does not hold any more does not count (FR-C18). Lags asks the brokers.
func (c *Consumer) Lag(tp TopicPartition) (int64, bool) {
	c.table.mu.Lock()
	defer c.table.mu.Unlock()
	p := c.table.partitions[tp]
	if p == nil || !p.placed {
		return 0, false
	}
	end := p.highWatermark
	if c.cfg.ReadCommitted {
		end = p.lastStable
	}
	if end < 0 {
		return 0, false
	}
	return behind(p.position.at, p.logStart, end), true
}

// behind is a lag.
func behind(at, start, end int64) int64 { return max(end-max(at, start), 0) }

// Lags is Lag by what the brokers say now; of everything that is owned without any partition. It is of the position, and for partitions that
// have none, or are not owned, of the group's committed offset; those that have neither are left out.
func (c *Consumer) Lags(ctx context.Context, list ...TopicPartition) (map[TopicPartition]int64, error) {
	if len(list) == 0 {
		list = c.Assignment()
	}
	at, err := c.reached(ctx, list)
	if err != nil {
		return nil, fmt.Errorf("measuring the lag: %w", err)
	}
	starts, err := c.BeginningOffsets(ctx, slices.Collect(maps.Keys(at))...)
	if err != nil {
		return nil, fmt.Errorf("measuring the lag: %w", err)
	}
	ends, err := c.EndOffsets(ctx, slices.Collect(maps.Keys(at))...)
	if err != nil {
		return nil, fmt.Errorf("measuring the lag: %w", err)
	}
	lags := map[TopicPartition]int64{}
	for tp, o := range at {
		lags[tp] = behind(o.At, starts[tp], ends[tp])
	}
	return lags, nil
}

// reached is how far partitions are read.
func (c *Consumer) reached(ctx context.Context, list []TopicPartition) (Offsets, error) {
	at := Offsets{}
	var rest []TopicPartition
	for _, tp := range list {
		if o, ok := c.Position(tp); ok {
			at[tp] = o
		} else {
			rest = append(rest, tp)
		}
	}
	if len(rest) == 0 || c.cfg.Group == "" {
		return at, nil
	}
	committed, err := c.Committed(ctx, rest...)
	maps.Copy(at, committed)
	return at, err
}

// Committed asks for the offsets that the group has committed; of everything that is owned without any partition. Partitions without one are left
// out. With Config.ReadCommitted it waits for transactions that are to decide an offset (KIP-447), until ctx ends.
func (c *Consumer) Committed(ctx context.Context, list ...TopicPartition) (Offsets, error) {
	if c.cfg.Group == "" {
		return nil, fmt.Errorf("asking for committed offsets: %w", ErrNoGroup)
	}
	if len(list) == 0 {
		list = c.Assignment()
	}
	all := Offsets{}
	err := persist(ctx, func(ctx context.Context) error {
		found, unknown, err := c.committed(ctx, list)
		if err != nil {
			return err
		}
		maps.Copy(all, found)
		list = slices.Collect(maps.Keys(unknown))
		if len(list) > 0 {
			return fmt.Errorf("%w of %s", errUndecided, names(list))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// errUndecided is what may pass.
var errUndecided = errors.New("a transaction, or the group's coordinator, has yet to say what the offset is")

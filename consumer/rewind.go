package consumer

import (
	"context"
	"maps"
	"slices"
)

// Rewind has the next polls hand out again what the group has not committed: of partitions that are owned, all of them without any. They are
// read from the group's committed offset, which with Config.ReadCommitted is waited for as at the beginning; those without one from where they
// began. It asks for the offsets in the background, and a Seek meanwhile wins. It is what follows an aborted transaction.
func (c *Consumer) Rewind(list ...TopicPartition) {
	if len(list) == 0 {
		list = c.Assignment()
	}
	var back []*partition
	c.withTap(func() {
		back = c.table.rewind(list)
		c.forget(back)
	})
	if len(back) > 0 {
		c.driver.ask(func() { c.driver.sending.Go(func() { c.settle(c.driver.life, back) }) })
	}
}

// rewind makes partitions as if they had just come. One that has no place yet is on its way to one that was asked for earlier, and the group may have
// another offset since. One that is about to be given up is not read
// again, but its callback must find no progress of what is not committed.
func (t *table) rewind(list []TopicPartition) (back []*partition) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, tp := range list {
		p := t.partitions[tp]
		if p == nil {
			continue
		}
		p.placed = false
		p.rewinds++
		p.position, p.done, p.committed = nowhere, nowhere, nowhere
		if !p.stopped {
			back = append(back, p)
		}
	}
	return back
}

// past is what was of a partition when it was asked where to read it from.
type past struct {
	rewinds int
	origin  place
}

// asked is the past of partitions, now.
func (t *table) asked(list []*partition) map[*partition]past {
	t.mu.Lock()
	defer t.mu.Unlock()
	asked := make(map[*partition]past, len(list))
	for _, p := range list {
		asked[p] = past{p.rewinds, p.origin}
	}
	return asked
}

// beginAsked has partitions fetched, but for those that were sent back since it was asked where from. The tap is Rewind's, too.
func (c *Consumer) beginAsked(asked map[*partition]past, places map[*partition]placement) {
	if len(places) == 0 {
		return
	}
	c.withTap(func() {
		now := c.table.asked(slices.Collect(maps.Keys(places)))
		maps.DeleteFunc(places, func(p *partition, _ placement) bool { return now[p].rewinds != asked[p].rewinds })
		c.fetchFrom(places)
	})
}

// Uncommitted is what Commit would commit: how far records were handed out, where the group does not have that yet. A partition that began
// without an offset of the group's is there from its beginning.
func (c *Consumer) Uncommitted() Offsets { return c.table.progress(nil, false) }

// MarkCommitted takes note that the group has these offsets, by a transaction that was committed.
func (c *Consumer) MarkCommitted(offsets Offsets) { c.table.wasCommitted(offsets) }

// Attend is Poll without records: for a program that has enough of them, or waits for the end of a rebalance, and must not be taken for one
// that is away. It returns once a callback has run, or with the error that Poll would return. Nothing is done with by it.
func (c *Consumer) Attend(ctx context.Context) error {
	if err := c.sit(ctx); err != nil {
		return err
	}
	defer c.rise()
	c.comes()
	for {
		c.desk.quiet()
		if c.closing.Load() {
			return ErrClosed
		}
		called := false
		for c.runCallback(context.WithoutCancel(ctx)) {
			c.comes()
			called = true
		}
		if err := c.desk.err(); err != nil || called {
			return err
		}
		c.rest(ctx)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// rest waits until the desk rings or ctx ends.
func (c *Consumer) rest(ctx context.Context) {
	armed, disarm := c.desk.arm(ctx)
	defer disarm()
	defer c.driver.user.waits()()
	<-armed.Done()
}

package commit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Run commits until Shutdown, or until ctx ends, which fails what is queued. It returns nil after Shutdown, and otherwise
// why it ended. It is called once.
func (c *Committer) Run(ctx context.Context) error {
	if !c.start() {
		return nil
	}
	return c.run(ctx)
}

// start says whether Run may run: it has not done so before, and Shutdown has not been called.
func (c *Committer) start() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	started := c.started
	c.started = true
	return !started
}

func (c *Committer) run(ctx context.Context) error {
	defer close(c.done)
	err := c.serve(ctx)
	if err == nil {
		if err = c.lastCheckpoint(); err != nil {
			c.die(err)
		}
	}
	_ = c.wal.file.Close() // what is not synced by now was not meant to be
	return err
}

// serve runs rounds, with the housekeeper beside it. It returns nil when there is nothing left to do after Shutdown, and
// then no checkpoint is under way either, nor will be.
func (c *Committer) serve(ctx context.Context) error {
	house, cancel := context.WithCancel(ctx)
	var housekeeper sync.WaitGroup
	housekeeper.Go(func() { c.keepHouse(house) })
	err := c.rounds(ctx)
	if err != nil {
		c.die(err)
	}
	close(c.ended)
	cancel()
	housekeeper.Wait()
	c.checkpoint <- struct{}{}
	return err
}

func (c *Committer) rounds(ctx context.Context) error {
	retry := backoff{after: c.cfg.After, least: c.cfg.RetryMin, most: c.cfg.RetryMax}
	for {
		worked, err := c.step()
		if err != nil {
			return err
		}
		if !worked && c.finished() {
			return nil
		}
		retry.arm(len(c.stuck) > 0)
		if err := c.wait(ctx, worked, &retry); err != nil {
			return err
		}
	}
}

// wait waits for something to do. After a round it only looks whether there is more than the next one.
func (c *Committer) wait(ctx context.Context, worked bool, retry *backoff) error {
	var next <-chan struct{} // never
	if worked {
		next = c.always
	}
	select {
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrClosed, context.Cause(ctx))
	case <-retry.due:
		retry.fired()
		return c.retryStuck()
	case <-next:
	case <-c.wake:
	}
	return nil
}

// step answers requests of checkpoints and runs one round, if there is work for one.
func (c *Committer) step() (worked bool, err error) {
	if err := c.answerRolls(); err != nil {
		return false, err
	}
	if len(c.rest) == 0 && !c.takeQueue() {
		return false, nil
	}
	n := c.roundLength()
	batch := c.rest[:n]
	c.rest = c.rest[n:]
	if err := c.round(batch); err != nil {
		return false, err
	}
	clear(batch)
	if c.choresDue() {
		signal(c.chores)
	}
	return true, nil
}

// takeQueue makes everything that waits the next batch.
func (c *Committer) takeQueue() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.queue) == 0 {
		return false
	}
	c.batch, c.queue = c.queue, c.batch[:0]
	c.rest = c.batch
	return true
}

// roundLength is how many writes of the rest go into the next round: groups are not divided.
func (c *Committer) roundLength() int {
	var bytes int64
	for n := 0; n < len(c.rest); {
		members := c.rest[n : n+c.rest[n].members()]
		for _, w := range members {
			bytes += int64(len(w.Bytes))
		}
		n += len(members)
		if bytes >= c.cfg.RoundBytes {
			return n
		}
	}
	return len(c.rest)
}

// finished says that Shutdown was called and nothing is left to do, or that it has waited long enough.
func (c *Committer) finished() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.aborted || c.closing && len(c.queue) == 0 && len(c.stuck) == 0
}

// die fails everything that is under way, partition by partition in order of the offsets.
func (c *Committer) die(err error) {
	c.mu.Lock()
	if c.err == nil || errors.Is(err, ErrFatal) {
		c.err = err
	}
	queue := append(c.rest, c.queue...)
	c.rest, c.queue = nil, nil
	c.mu.Unlock()
	for _, l := range c.stuck {
		l.activate(c)
	}
	for _, w := range queue {
		l := c.lane(w)
		l.activate(c)
		if l.behindFailure(w) {
			l.dropped = append(l.dropped, w)
		} else {
			l.failedAt = -1
			l.writes = append(l.writes, w)
		}
	}
	for _, l := range c.active {
		if len(l.dropped) > 0 {
			l.target.Dropped(l.dropped, err)
		}
		if all := append(l.pending, l.writes...); len(all) > 0 {
			l.target.Failed(all, err)
		}
	}
	if errors.Is(err, ErrFatal) && c.cfg.OnFatal != nil {
		c.cfg.OnFatal(err)
	}
}

// Shutdown takes no more writes, finishes what is queued, makes a last checkpoint if SyncSegments is set, and waits until
// Run has returned. When ctx ends first, what is left fails with ErrClosed, and so does everything if Run was never called.
func (c *Committer) Shutdown(ctx context.Context) error {
	c.mu.Lock()
	c.closing = true
	if c.err == nil {
		c.err = ErrClosed
	}
	c.mu.Unlock()
	if c.start() {
		return c.neverRun()
	}
	signal(c.wake)
	select {
	case <-c.done:
		return nil
	case <-ctx.Done():
	}
	c.mu.Lock()
	c.aborted = true
	c.mu.Unlock()
	signal(c.wake)
	<-c.done
	return context.Cause(ctx)
}

func (c *Committer) neverRun() error {
	defer close(c.done)
	close(c.ended)
	c.checkpoint <- struct{}{}
	c.die(ErrClosed)
	return c.wal.file.Close()
}

// backoff is when to try again what failed.
type backoff struct {
	after       func(time.Duration) <-chan time.Time
	least, most time.Duration
	wait        time.Duration
	due         <-chan time.Time // nil: there is nothing to try
}

// arm starts the time until the next attempt, if it does not run yet.
func (b *backoff) arm(needed bool) {
	switch {
	case !needed:
		b.wait, b.due = 0, nil
	case b.due == nil:
		b.wait = min(max(b.least, 2*b.wait), b.most)
		b.due = b.after(b.wait)
	}
}

func (b *backoff) fired() { b.due = nil }

package consumer

import (
	"context"
	"fmt"
	"time"

	"github.com/skeinstream/skein/consumer/internal/membership"
)

// closeTimeout bounds a Close whose context does not.
const closeTimeout = 30 * time.Second

// closeGrace is how long after the end of its context a Close waits for goroutines to end that have been told to.
const closeGrace = time.Second

// Close commits what has been handed out, unless Config.ManualCommit, runs the callback for what is owned, leaves the group, and returns
// by the end of ctx in any case, within a second: a callback that does not end is left behind, and the group finds out by itself. A Poll
// that waits in another goroutine returns ErrClosed. A second Close waits for the first, for as long as its own context says; a callback
// that calls Close waits for itself.
func (c *Consumer) Close(ctx context.Context) error {
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, closeTimeout)
		defer cancel()
	}
	if c.closing.CompareAndSwap(false, true) {
		c.desk.ring()
		go c.closes(ctx)
	}
	if !c.isClosed(ctx) {
		return fmt.Errorf("closing the consumer: %w", context.Cause(ctx))
	}
	if c.panicked != nil {
		panic(c.panicked)
	}
	return c.closeErr
}

// closes is a goroutine of its own, since callbacks run in it that need not end. What one panics with is Close's.
func (c *Consumer) closes(ctx context.Context) {
	defer close(c.closed)
	defer c.tearDown(ctx)
	defer func() { c.panicked = recover() }()
	c.closeErr = c.close(ctx)
}

// isClosed waits until all has ended.
func (c *Consumer) isClosed(ctx context.Context) bool {
	select {
	case <-c.closed:
		return true
	case <-ctx.Done():
	}
	grace := time.NewTimer(closeGrace)
	defer grace.Stop()
	select {
	case <-c.closed:
		return true
	case <-grace.C:
		return false
	}
}

func (c *Consumer) close(ctx context.Context) error {
	err := c.sit(ctx)
	if err == nil {
		defer c.rise()
		c.table.isDone()
		c.commitBefore(ctx, nil)
		err = c.goAway(ctx)
	}
	if err != nil {
		return fmt.Errorf("closing the consumer: %w", err)
	}
	return nil
}

// goAway leaves the group in peace.
func (c *Consumer) goAway(ctx context.Context) error {
	c.driver.ask(func() { c.driver.step(membership.Close{}) })
	for c.runCallback(ctx) {
		continue
	}
	select { // a name that the broker gives meanwhile is given back
	case <-c.driver.stopped:
	case <-ctx.Done():
	}
	left := make(chan struct{})
	c.goroutine.Go(func() { defer close(left); c.driver.leaving.Wait() })
	select {
	case <-left:
	case <-ctx.Done():
		return fmt.Errorf("leaving group %q: %w", c.cfg.Group, ctx.Err())
	}
	return c.desk.err()
}

// tearDown ends all goroutines. What they wait for ends with the driver's life, so that this takes no time but the client library's.
func (c *Consumer) tearDown(ctx context.Context) {
	c.commits.end(ctx)
	c.driver.end()
	<-c.driver.stopped
	if c.driver.current != nil { // which the driver does not touch any more
		c.driver.current.end(ErrClosed)
	}
	c.driver.sending.Wait()
	c.driver.leaving.Wait()
	c.table.close()
	c.kafka.Close()
	c.goroutine.Wait()
}

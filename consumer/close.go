package consumer

import (
	"context"
	"fmt"
	"time"

	"github.com/skeinstream/skein/consumer/internal/membership"
)

// closeTimeout bounds a Close whose context does not.
const closeTimeout = 30 * time.Second

// Close commits what has been handed out, unless Config.ManualCommit, runs the callback for what is owned, leaves the group, and returns
// by the end of ctx in any case, unless a callback of its own goes on after its context has ended; the group then finds out by itself. A Poll
// that waits in another goroutine returns ErrClosed. It is not called by a callback.
func (c *Consumer) Close(ctx context.Context) error {
	c.closed.Do(func() { c.closeErr = c.close(ctx) })
	return c.closeErr
}

func (c *Consumer) close(ctx context.Context) error {
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, closeTimeout)
		defer cancel()
	}
	c.closing.Store(true)
	c.desk.ring()
	err := c.sit(ctx)
	if err == nil {
		defer c.rise()
		c.table.isDone()
		c.commitBefore(ctx, nil)
		err = c.goAway(ctx)
	}
	c.tearDown(ctx)
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
	c.driver.sending.Wait()
	c.table.close()
	c.kafka.Close()
	c.goroutine.Wait()
}

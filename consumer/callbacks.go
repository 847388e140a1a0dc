package consumer

import (
	"context"
	"errors"
	"time"

	"github.com/skeinstream/skein/consumer/internal/membership"
)

// call leaves a callback for the user's next Poll. One that would tell nobody anything is over at once.
func (d *driver) call(m *membership.Call) {
	c := &call{Call: *m, generation: d.machine.Generation().ID, deadline: d.deadline()}
	c.over, c.end = context.WithCancelCause(context.Background())
	d.current = c
	d.logCall(c)
	if d.machine.Expelled() && m.Callback != membership.Lost {
		c.end(ErrExpelled)
	}
	if d.c.passesOver(m) {
		d.called(c, nil)
		return
	}
	d.c.desk.leave(c)
}

// passesOver says that nobody listens, and that nothing of the user's is touched: what is revoked or lost waits for the next poll in any
// case, since the user may be at work on it.
func (c *Consumer) passesOver(m *membership.Call) bool {
	if m.Callback == membership.Assigned {
		return c.cfg.Listener.Assigned == nil
	}
	return c.cfg.Listener.Revoked == nil && len(m.Partitions) == 0
}

// deadline is until when the group waits for a callback: it began to wait a heartbeat ago at the most.
func (d *driver) deadline() time.Time {
	return time.Now().Add(max(d.c.cfg.PollInterval-d.c.cfg.HeartbeatInterval, d.c.cfg.PollInterval/2))
}

// called ends a callback.
func (d *driver) called(c *call, err error) {
	switch c.Callback {
	case membership.Revoked:
		d.c.table.drop(c.Partitions, ErrRevoked)
	case membership.Lost:
		d.c.table.drop(c.Partitions, ErrExpelled)
	case membership.Assigned:
		d.c.table.tell(c.Partitions, false)
	}
	if c.Callback != membership.Assigned {
		d.tidy()
	}
	c.end(context.Canceled)
	d.current = nil
	d.c.desk.ended()
	d.step(membership.Called{Err: err})
}

// runCallback runs the callback that waits, if any, on the goroutine of the user. Its context has the values of ctx, and ends with it only
// when the consumer closes.
func (c *Consumer) runCallback(ctx context.Context) bool {
	call := c.desk.pending()
	if call == nil {
		return false
	}
	ctx, cancel := context.WithDeadline(ctx, call.deadline)
	defer cancel()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer context.AfterFunc(call.over, func() { end(context.Cause(call.over)) })()
	c.desk.take()
	err := errBroken
	defer func() { c.driver.ask(func() { c.driver.called(call, err) }) }() // or else the group would wait for it for ever
	err = c.tellListener(ctx, call)
	return true
}

// errBroken is what a callback has returned that has not: it has panicked, or ended its goroutine.
var errBroken = errors.New("it did not return")

func (c *Consumer) tellListener(ctx context.Context, call *call) error {
	r := Rebalance{Partitions: call.Partitions, Generation: call.generation, Deadline: call.deadline}
	tell := c.cfg.Listener.Assigned
	switch what := call.now(); what {
	case membership.Revoked:
		c.commitBefore(ctx, call.Partitions)
		tell = c.cfg.Listener.Revoked
	case membership.Lost:
		r.Lost = true
		if tell = c.cfg.Listener.Lost; tell == nil {
			tell = c.cfg.Listener.Revoked
		}
	case membership.Assigned:
	}
	if tell == nil {
		return nil
	}
	defer func(began time.Time) { c.stats.told(call.Callback, time.Since(began)) }(time.Now())
	return tell(ctx, r)
}

// now is the callback to run: partitions that were to be revoked are lost if the group has gone on before the user came.
func (c *call) now() membership.Callback {
	if c.Callback == membership.Revoked && len(c.Partitions) > 0 && c.over.Err() != nil {
		return membership.Lost
	}
	return c.Callback
}

// commitBefore commits what the user is done with of partitions that are given up; nil is all (R-B3, R-B17).
func (c *Consumer) commitBefore(ctx context.Context, list []TopicPartition) {
	if c.cfg.ManualCommit || c.cfg.Group == "" {
		return
	}
	if len(c.table.progress(list, true)) == 0 {
		return
	}
	if err := c.commit(ctx, func() Offsets { return c.table.progress(list, true) }); err != nil {
		c.log.Warn("committing before partitions are given up failed: their next owner reads some records again",
			"group", c.cfg.Group, "partitions", names(list), "error", err)
	}
}

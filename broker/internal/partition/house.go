package partition

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/skeinstream/skein/broker/internal/storage"
	"github.com/skeinstream/skein/internal/vfs"
)

const (
	tidyInterval   = 5 * time.Second // for files whose delay has passed
	expireInterval = 10 * time.Minute
	buryAgain      = time.Minute
	syncsAtOnce    = 2
)

// Run keeps house and runs the committer until Shutdown, or until something has happened after which nobody knows what is
// on the disk; that is its error. It is called once.
func (t *Table) Run(ctx context.Context) error {
	t.running.Store(true)
	defer close(t.ended)
	group, ctx := errgroup.WithContext(ctx)
	house, cancel := context.WithCancel(ctx)
	defer cancel()
	group.Go(func() error {
		defer cancel()
		return t.committing.Run(ctx)
	})
	for _, keep := range []func(context.Context) error{t.keepHouse, t.keepFlushed, t.keepClean, t.space.watch, t.watchFatal} {
		group.Go(func() error { return keep(house) })
	}
	err := group.Wait()
	if err != nil {
		t.broken.Store(true)
		t.refuseParked()
	}
	return err
}

// refuseParked answers the appends that wait for a change which nobody is going to make.
func (t *Table) refuseParked() {
	for p := range t.each {
		p.endChange(false)
	}
}

func (t *Table) watchFatal(ctx context.Context) error {
	select {
	case err := <-t.fatal:
		return err
	case <-ctx.Done():
		return nil
	}
}

// Shutdown commits what is queued, makes every log durable and closes it, and leaves the mark of a clean end, so that the
// next Open has nothing to recover. No append may come any more. When ctx ends first, what is left fails.
func (t *Table) Shutdown(ctx context.Context) error {
	err := t.committing.Shutdown(ctx)
	if t.running.Load() {
		<-t.ended
	}
	closed := t.closeLogs()
	if err == nil && !t.broken.Load() && closed == nil {
		err = t.leaveClean()
	}
	return errors.Join(err, closed, t.files.Close())
}

func (t *Table) closeLogs() error {
	var group errgroup.Group
	group.SetLimit(syncsAtOnce)
	for p := range t.each {
		if p.log != nil {
			group.Go(p.log.Close)
		}
	}
	return group.Wait()
}

func (t *Table) leaveClean() error {
	for _, save := range []func() error{t.saveRecoveryPoints, t.SaveStarts, t.saveCleaned} {
		if err := save(); err != nil {
			return err
		}
	}
	for p := range t.each {
		if p.Offline() != nil { // its log was not closed, and the next start must not take it as if it had been
			return nil
		}
	}
	if err := vfs.WriteFile(t.opts.FS, filepath.Join(t.opts.Dir, cleanFile), nil); err != nil {
		return err
	}
	return t.opts.FS.SyncDir(t.opts.Dir)
}

// chore is something that is due now and then.
type chore struct {
	every func() time.Duration
	do    func(context.Context) error
	next  time.Time
}

// keepHouse does the chores when they are due, and follows changes of mode whenever it is poked.
func (t *Table) keepHouse(ctx context.Context) error {
	b := t.opts.Broker
	chores := []*chore{
		{every: func() time.Duration { return milliseconds(b().RetentionCheckIntervalMs) }, do: t.sweep},
		{every: func() time.Duration { return milliseconds(b().CheckpointIntervalMs) }, do: t.checkpoint},
		{every: func() time.Duration { return expireInterval }, do: t.expire},
		{every: func() time.Duration { return tidyInterval }, do: t.tidy},
		{every: func() time.Duration { return tidyInterval }, do: t.makeAgain},
	}
	now := t.opts.Now()
	for _, c := range chores {
		c.next = now.Add(c.every())
	}
	for {
		held, err := t.followModes()
		if err != nil {
			return err
		}
		t.bury(ctx)
		if !t.rest(ctx, chores, held) {
			return nil
		}
		for _, c := range chores {
			if now := t.opts.Now(); !now.Before(c.next) {
				if err := c.do(ctx); err != nil {
					return err
				}
				c.next = now.Add(c.every())
			}
		}
	}
}

// milliseconds is n of them, 1 at least, and no more than can be reckoned with.
func milliseconds(n int64) time.Duration {
	const most = int64(math.MaxInt64/time.Millisecond) / 2
	return time.Duration(min(max(n, 1), most)) * time.Millisecond
}

// later is the time of so many ms after now; what is too far away to be reckoned with never comes.
func later(now, ms int64) int64 {
	if ms > math.MaxInt64-now {
		return math.MaxInt64
	}
	return now + ms
}

// rest waits until a chore is due, nothing is held any more (zero: nothing is) or somebody pokes.
func (t *Table) rest(ctx context.Context, chores []*chore, held time.Time) bool {
	now, next := t.opts.Now(), chores[0].next
	for _, c := range chores {
		if latest := now.Add(c.every()); c.next.After(latest) {
			c.next = latest // it is due more often now
		}
		if c.next.Before(next) {
			next = c.next
		}
	}
	if !held.IsZero() && held.Before(next) {
		next = held
	}
	timer := time.NewTimer(next.Sub(now))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.work:
	case <-ctx.Done():
		return false
	}
	return true
}

// followModes makes all partitions follow their topics' modes, and returns when the first one that is held will.
func (t *Table) followModes() (held time.Time, err error) {
	now := t.opts.Now()
	for p := range t.each {
		until := p.held(now)
		if !until.IsZero() {
			if held.IsZero() || until.Before(held) {
				held = until
			}
			continue
		}
		if err := p.followMode(); err != nil {
			return held, err
		}
	}
	return held, nil
}

// online calls fn for each partition that works. What has gone wrong in one is logged and keeps nobody from the next.
func (t *Table) online(ctx context.Context, act string, fn func(*Partition) error) {
	for p := range t.each {
		if ctx.Err() != nil {
			return
		}
		if p.Refusal() != 0 {
			continue
		}
		if err := fn(p); err != nil && !p.Deleted() {
			t.opts.Logger.Error(act, "partition", p.name(), "error", err)
			if errors.Is(err, storage.ErrSync) {
				t.fail(act+" in "+p.name(), err)
			}
		}
	}
}

// sweep deletes the segments that retention lets go.
func (t *Table) sweep(ctx context.Context) error {
	segments := 0
	t.online(ctx, "deleting old segments failed", func(p *Partition) error {
		n, err := p.log.DeleteOldSegments(t.now(), p.HighWatermark())
		if n > 0 {
			segments += n
			p.startMoved()
		}
		return err
	})
	if t.opts.Events.Swept != nil {
		t.opts.Events.Swept(segments)
	}
	return nil
}

// tidy removes files whose delay has passed.
func (t *Table) tidy(ctx context.Context) error {
	t.online(ctx, "removing deleted segments failed", func(p *Partition) error { return p.log.Reap(t.now()) })
	return nil
}

// expire forgets producers that have been silent for long.
func (t *Table) expire(ctx context.Context) error {
	ttl := t.opts.Broker().ProducerIDExpirationMs
	t.online(ctx, "", func(p *Partition) error {
		p.log.ExpireProducers(t.now(), ttl)
		return nil
	})
	return nil
}

// checkpoint records how far the logs are durable. Without it recovery reads more, that is all.
func (t *Table) checkpoint(context.Context) error {
	for _, save := range []func() error{t.saveRecoveryPoints, t.SaveStarts} {
		if err := save(); err != nil {
			t.opts.Logger.Error("writing a checkpoint failed", "error", err)
		}
	}
	return nil
}

// syncSegments makes durable what the committer has written to segments without a sync, so that the write-ahead log can
// let go of it. Its error is fatal.
func (t *Table) syncSegments() error {
	var group errgroup.Group
	group.SetLimit(syncsAtOnce)
	for p := range t.each {
		if p.unmade.Load() || p.log == nil || p.Deleted() {
			continue
		}
		if p.log.RecoveryPoint() < p.log.EndOffset() { // also of one that went offline when it was half replayed
			group.Go(p.flush)
		}
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if err := t.saveRecoveryPoints(); err != nil { // recovery reads more then, that is all
		t.opts.Logger.Error("writing a checkpoint failed", "error", err)
	}
	return nil
}

// flush is SyncSegment with an event.
func (p *Partition) flush() error {
	now := p.table.opts.Now
	started := now()
	err := p.SyncSegment()
	if err == nil && p.table.opts.Events.Flushed != nil {
		p.table.opts.Events.Flushed(now().Sub(started))
	}
	return err
}

// keepFlushed syncs what the modes interval and os have written, when it is due.
func (t *Table) keepFlushed(ctx context.Context) error {
	for t.flushes.wait(ctx) {
		for {
			t.flushes.disarm()
			interval := milliseconds(t.opts.Broker().DurabilityIntervalMs)
			more, err := t.flushDue(interval)
			if err != nil {
				return err
			}
			if !more {
				break
			}
			if !t.waitFlush(ctx, interval) {
				return nil
			}
		}
	}
	return nil
}

// waitFlush waits for the interval, or until somebody is in a hurry.
func (t *Table) waitFlush(ctx context.Context, interval time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, interval)
	defer cancel()
	return t.flushes.wait(ctx) || errors.Is(context.Cause(ctx), context.DeadlineExceeded)
}

// flushDue syncs the partitions that are due, and reports whether others will be.
func (t *Table) flushDue(interval time.Duration) (more bool, err error) {
	for p := range t.each {
		if p.takeFlush(t.now(), interval) {
			if err := p.flush(); err != nil {
				return false, err
			}
		}
		more = more || p.hasUnflushed()
	}
	return more, nil
}

package commit

import (
	"context"
	"errors"
)

// Checkpoint frees the files of the log that nobody needs once sync has made durable all segments that were written
// without a sync. Rounds go on meanwhile. Files that hold bytes which their segment has not taken yet stay. An error of
// sync is fatal: nobody may answer another write after a failed fsync.
func (c *Committer) Checkpoint(ctx context.Context, sync func() error) error {
	select {
	case c.checkpoint <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-c.ended:
		return ErrClosed
	}
	defer func() { <-c.checkpoint }()
	upTo, err := c.requestRoll(ctx)
	if err != nil {
		return err
	}
	err = c.checkpointUpTo(upTo, sync)
	if errors.Is(err, ErrFatal) {
		c.kill(err)
	}
	return err
}

func (c *Committer) checkpointUpTo(upTo uint64, sync func() error) error {
	started := c.cfg.Now()
	files := 0
	err := sync()
	if err != nil {
		err = fatalError("syncing segments for a checkpoint", err)
	} else {
		c.recovered.Store(false)
		files, err = c.wal.recycle(upTo)
	}
	if c.cfg.Events.Checkpoint != nil {
		c.cfg.Events.Checkpoint(files, c.cfg.Now().Sub(started), err)
	}
	return err
}

// requestRoll asks the goroutine of Run to go on in another file, and returns the number of the first file that holds
// something which a sync of all segments would not make superfluous.
func (c *Committer) requestRoll(ctx context.Context) (uint64, error) {
	if err := c.wal.ensureSpare(); err != nil {
		if errors.Is(err, ErrFatal) {
			c.kill(err)
		}
		return 0, err
	}
	answer := make(chan uint64, 1)
	c.mu.Lock()
	c.rolls = append(c.rolls, answer)
	c.mu.Unlock()
	signal(c.wake)
	select {
	case upTo := <-answer:
		return upTo, nil
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	case <-c.ended:
		return 0, ErrClosed
	}
}

// answerRolls is requestRoll's other end. It also passes on what has gone wrong outside of rounds.
func (c *Committer) answerRolls() error {
	c.mu.Lock()
	rolls, fatal := c.rolls, c.fatal
	c.rolls = nil
	c.mu.Unlock()
	if fatal != nil {
		return fatal
	}
	if len(rolls) == 0 {
		return nil
	}
	upTo, err := c.roll()
	if err != nil {
		return err
	}
	for _, answer := range rolls {
		answer <- upTo
	}
	return nil
}

// roll goes on in another file if it can, and forgets partitions that are quiet.
func (c *Committer) roll() (uint64, error) {
	if err := c.wal.roll(); errors.Is(err, ErrFatal) {
		return 0, err
	}
	c.unsaved.Store(0)
	upTo := min(c.wal.header.number, c.wal.kept)
	for _, l := range c.stuck {
		upTo = min(upTo, l.pendingFile)
	}
	for key, l := range c.lanes {
		if l.idle() {
			delete(c.lanes, key)
		}
	}
	return upTo, nil
}

// lastCheckpoint empties the log at the end of Run, so that the next start has nothing to replay.
func (c *Committer) lastCheckpoint() error {
	c.mu.Lock()
	aborted := c.aborted
	c.mu.Unlock()
	if aborted {
		return ErrClosed
	}
	if c.cfg.SyncSegments == nil {
		return nil
	}
	err := c.wal.ensureSpare()
	if err == nil {
		var upTo uint64
		if upTo, err = c.roll(); err == nil {
			err = c.checkpointUpTo(upTo, c.cfg.SyncSegments)
		}
	}
	if errors.Is(err, ErrFatal) {
		return err
	}
	return nil // a longer replay is no failure
}

// kill makes the goroutine of Run end with err.
func (c *Committer) kill(err error) {
	c.mu.Lock()
	if c.fatal == nil {
		c.fatal = err
	}
	c.mu.Unlock()
	signal(c.wake)
}

package commit

import (
	"context"
	"errors"
)

// choresDue says whether the housekeeper has something to do.
func (c *Committer) choresDue() bool { return c.wantsSpare() || c.checkpointDue() }

// wantsSpare says that the current file will soon be full. A broker with little to do never fills a file with zeros.
func (c *Committer) wantsSpare() bool {
	return c.wal.ready.Load() == 0 && c.unsaved.Load() >= min(mib, c.cfg.FileBytes/4)
}

func (c *Committer) checkpointDue() bool {
	return c.cfg.SyncSegments != nil && (c.recovered.Load() || c.unsaved.Load() >= c.cfg.CheckpointBytes)
}

// keepHouse does beside the rounds what would hold them up.
func (c *Committer) keepHouse(ctx context.Context) {
	for {
		select {
		case <-c.chores:
		case <-ctx.Done():
			return
		}
		err := c.doChores(ctx)
		if errors.Is(err, ErrFatal) {
			c.kill(err)
			return
		}
		if err != nil { // such as a full disk: the current file grows meanwhile
			select {
			case <-c.cfg.After(c.cfg.RetryMax):
			case <-ctx.Done():
			}
		}
	}
}

func (c *Committer) doChores(ctx context.Context) error {
	if c.wantsSpare() {
		if err := c.wal.prepare(ctx); err != nil {
			return err
		}
	}
	if c.checkpointDue() {
		return c.Checkpoint(ctx, c.cfg.SyncSegments)
	}
	return nil
}

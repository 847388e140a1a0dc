package commit

import (
	"errors"
	"time"

	"golang.org/x/sync/errgroup"
)

// round commits the writes of one batch. The error is fatal; then what has not been answered is still in the lanes.
func (c *Committer) round(batch []*Write) error {
	started := c.cfg.Now()
	c.stats = RoundStats{Writes: len(batch)}
	c.sort(batch)
	c.drop()
	if err := c.writeWAL(); err != nil {
		return err
	}
	if err := c.writeDirect(); err != nil {
		return err
	}
	if err := c.sync(); err != nil {
		return err
	}
	if err := c.answerTogether(); err != nil {
		return err
	}
	c.stats.Took = c.cfg.Now().Sub(started)
	c.finish()
	return nil
}

// drop answers what stood behind a failure.
func (c *Committer) drop() {
	for _, l := range c.active {
		if len(l.dropped) > 0 {
			l.target.Dropped(l.dropped, l.failedErr)
			clear(l.dropped)
			l.dropped = l.dropped[:0]
		}
	}
}

// writeWAL writes the frames of the round: notes on the last round, then the writes in order of the queue, so that the
// members of a group stand together.
func (c *Committer) writeWAL() error {
	size := c.sizeOnRoadA()
	if size == 0 && len(c.notes) == 0 && !c.wal.torn {
		return nil
	}
	if !c.wal.fits(size) && c.wal.ready.Load() > 0 {
		if err := c.wal.roll(); errors.Is(err, ErrFatal) {
			return err
		}
	}
	n, err := c.writeFrames()
	c.notes = c.notes[:0] // they only help, and are not worth a second attempt
	if err == nil {
		c.stats.WALBytes = n
		c.unsaved.Add(n)
		return nil
	}
	if errors.Is(err, ErrFatal) {
		return err
	}
	if eraseErr := c.wal.abandon(); errors.Is(eraseErr, ErrFatal) {
		return eraseErr
	}
	c.refuse(err)
	return nil
}

func (c *Committer) sizeOnRoadA() (size int64) {
	for _, l := range c.active {
		if l.road == roadWAL {
			for _, w := range l.writes {
				size += frameSize(len(w.Bytes))
			}
		}
	}
	return size
}

func (c *Committer) writeFrames() (int64, error) {
	if err := c.wal.begin(); err != nil {
		return 0, err
	}
	for _, n := range c.notes {
		h := frameHeader{kind: Note, count: 1, key: n.key, base: n.to, last: n.to, position: -1}
		if err := c.wal.add(h, nil); err != nil {
			return 0, err
		}
	}
	for _, w := range c.taken {
		if w.lane.road != roadWAL {
			continue
		}
		h := frameHeader{
			kind: Data, index: uint32(w.index), count: uint32(w.members()),
			key: w.lane.key, base: w.Base, last: w.Last, position: w.Position,
		}
		if err := c.wal.add(h, w.Bytes); err != nil {
			return 0, err
		}
	}
	return c.wal.finish()
}

// refuse fails everything on road A: the log could not be written. A round that could not be erased again fails the other
// road too, since what it left must not be replayed behind newer writes of the same partition.
func (c *Committer) refuse(err error) {
	err = notWritten(err)
	refused := 0
	for _, l := range c.active {
		if l.road == roadWAL || c.wal.torn && l.road == roadDirect {
			refused += len(l.writes)
			l.failFrom(0, err)
		}
	}
	c.refused(refused, err)
}

func (c *Committer) refused(writes int, err error) {
	if writes > 0 && c.cfg.Events.Refused != nil {
		c.cfg.Events.Refused(writes, err)
	}
}

// writeDirect writes the segments of road B. A partition whose segment cannot be written fails alone.
func (c *Committer) writeDirect() error {
	for _, l := range c.active {
		if l.road != roadDirect {
			continue
		}
		n, err := l.writeSegment(l.writes)
		if errors.Is(err, ErrFatal) {
			return err
		}
		if err != nil {
			err = notWritten(err)
			c.refused(len(l.writes)-n, err)
			l.failFrom(n, err)
		}
		for _, w := range l.writes {
			c.stats.DirectBytes += int64(len(w.Bytes))
		}
	}
	return nil
}

// sync makes the round durable: the log and the segments of road B at once, as many as are allowed.
func (c *Committer) sync() error {
	log, segments := c.needsSync()
	if segments == 0 {
		if log {
			return c.syncWAL()
		}
		return nil
	}
	var group errgroup.Group
	group.SetLimit(c.cfg.SyncsMax)
	if log {
		group.Go(c.syncWAL)
	}
	for _, l := range c.active {
		if l.road == roadDirect && l.strict {
			group.Go(func() error { return c.syncSegment(l) })
		}
	}
	return group.Wait()
}

func (c *Committer) needsSync() (log bool, segments int) {
	for _, l := range c.active {
		switch {
		case l.road == roadWAL && l.strict:
			log = true
		case l.road == roadDirect && l.strict:
			segments++
		}
	}
	return log, segments
}

func (c *Committer) syncWAL() error {
	started := c.cfg.Now()
	err := c.wal.sync()
	c.stats.WALSync = max(c.cfg.Now().Sub(started), time.Nanosecond)
	return err
}

func (c *Committer) syncSegment(l *lane) error {
	started := c.cfg.Now()
	if err := l.target.SyncSegment(); err != nil {
		return fatalError("syncing a segment", err)
	}
	if c.cfg.Events.SegmentSync != nil {
		c.cfg.Events.SegmentSync(c.cfg.Now().Sub(started))
	}
	return nil
}

// answerTogether is answer, said to who wants to know that answers are about to be given.
func (c *Committer) answerTogether() (err error) {
	if c.cfg.Events.Answers == nil {
		return c.answer()
	}
	c.cfg.Events.Answers(func() { err = c.answer() })
	return err
}

// answer writes the segments of road A and tells everybody, partition by partition.
func (c *Committer) answer() error {
	for _, l := range c.active {
		switch l.road {
		case roadDirect:
			if l.strict {
				c.notes = append(c.notes, note{l.key, l.writes[len(l.writes)-1].Last + 1})
			}
			l.commit(len(l.writes))
		case roadWAL:
			if err := c.apply(l); err != nil {
				return err
			}
		}
		l.road = roadNone
	}
	return nil
}

// apply writes to the segment what is durable in the log.
func (c *Committer) apply(l *lane) error {
	if len(l.pending) > 0 {
		c.stick(l)
		return nil
	}
	n, err := l.writeSegment(l.writes)
	if errors.Is(err, ErrFatal) {
		return err
	}
	l.commit(n)
	switch {
	case err == nil:
	case errors.Is(err, ErrGone):
		l.failFrom(0, err)
	default:
		c.stick(l)
		c.stuckEvent(l, err)
	}
	return nil
}

// finish forgets the round.
func (c *Committer) finish() {
	c.stats.Partitions = len(c.active)
	for _, l := range c.active {
		l.reset()
	}
	clear(c.active)
	clear(c.taken)
	c.active, c.taken = c.active[:0], c.taken[:0]
	if c.cfg.Events.Round != nil {
		c.cfg.Events.Round(c.stats)
	}
}

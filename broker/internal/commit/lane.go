package commit

import (
	"errors"
	"fmt"
	"slices"
)

// lane is what the committer knows of one partition while it has something of it under way.
type lane struct {
	key    Key
	target Target

	// Of this round.
	active  bool
	writes  []*Write
	dropped []*Write // stood behind a write that failed
	bytes   int64
	road    road
	grouped bool
	strict  bool // at least one write waits for a sync

	// pending are durable in the log but not in the segment, which could not be written. The log is kept from file
	// pendingFile on until it can.
	pending     []*Write
	pendingFile uint64

	// failedAt is the offset that the partition had to take back, -1 if none. What has been enqueued with offsets behind it
	// before the target knew is dropped; the first write at that very offset is new.
	failedAt  int64
	failedErr error
}

type road uint8

const (
	roadNone road = iota // nothing left to do in this round
	roadWAL
	roadDirect
)

// lane finds or makes the lane of a write.
func (c *Committer) lane(w *Write) *lane {
	key := w.Target.Key()
	l := c.lanes[key]
	if l == nil {
		l = &lane{key: key, target: w.Target, failedAt: -1}
		c.lanes[key] = l
	}
	if l.target != w.Target { // the partition was closed and opened again
		l.target, l.failedAt = w.Target, -1
	}
	return l
}

// behindFailure says that the write has an offset that its partition had to take back.
func (l *lane) behindFailure(w *Write) bool { return l.failedAt >= 0 && w.Base > l.failedAt }

// sort gives the writes of the round to their lanes, except those that stand behind a failure, with their groups.
func (c *Committer) sort(batch []*Write) {
	for len(batch) > 0 {
		members := batch[:batch[0].members()]
		batch = batch[len(members):]
		err := c.failedBefore(members)
		for _, w := range members {
			if err != nil {
				w.lane.refuse(c, w, err)
			} else {
				w.lane.take(c, w)
			}
		}
	}
	for _, l := range c.active {
		l.chooseRoad(c.cfg.DirectBytes)
	}
}

// failedBefore finds the lanes of the members, and returns the error of one that stands behind a failure.
func (c *Committer) failedBefore(members []*Write) (err error) {
	for _, w := range members {
		w.lane = c.lane(w)
		if w.lane.behindFailure(w) {
			err = w.lane.failedErr
		}
	}
	return err
}

// activate puts the lane among those that the round has to look at.
func (l *lane) activate(c *Committer) {
	if !l.active {
		l.active = true
		c.active = append(c.active, l)
	}
}

func (l *lane) take(c *Committer, w *Write) {
	l.activate(c)
	l.failedAt = -1
	c.taken = append(c.taken, w)
	l.writes = append(l.writes, w)
	l.bytes += int64(len(w.Bytes))
	l.grouped = l.grouped || w.grouped()
	l.strict = l.strict || !w.Relaxed
}

// refuse drops a write that stands behind a failure, or fails one whose group has a member that does.
func (l *lane) refuse(c *Committer, w *Write, err error) {
	if !l.behindFailure(w) {
		l.fail([]*Write{w}, err)
		return
	}
	l.activate(c)
	l.dropped = append(l.dropped, w)
}

// fail tells the target, and remembers where its offsets go on. Nothing goes on in a partition that is gone.
func (l *lane) fail(ws []*Write, err error) {
	if len(ws) == 0 {
		return
	}
	if !errors.Is(err, ErrGone) {
		l.failedAt, l.failedErr = ws[0].Base, err
	}
	l.target.Failed(ws, err)
}

// failFrom fails the writes of the round from the nth on.
func (l *lane) failFrom(n int, err error) {
	l.fail(l.writes[n:], err)
	clear(l.writes[n:])
	l.writes = l.writes[:n]
	if n == 0 {
		l.road = roadNone
	}
}

// commit answers the first n writes of the round and forgets them.
func (l *lane) commit(n int) {
	if n > 0 {
		l.target.Committed(l.writes[:n])
		l.writes = slices.Delete(l.writes, 0, n)
	}
}

// chooseRoad sends much of one partition straight to its segment. A group goes through the log in any case, and so does
// everything of a partition whose segment cannot be written now.
func (l *lane) chooseRoad(directBytes int64) {
	switch {
	case len(l.writes) == 0:
		l.road = roadNone
	case l.grouped || len(l.pending) > 0:
		l.road = roadWAL
	case l.bytes >= directBytes || !l.strict:
		l.road = roadDirect
	default:
		l.road = roadWAL
	}
}

// writeSegment writes to the segment until a write fails, and returns how many it has written.
func (l *lane) writeSegment(ws []*Write) (int, error) {
	for i, w := range ws {
		if err := l.target.WriteSegment(w); err != nil {
			return i, err
		}
	}
	return len(ws), nil
}

// reset prepares for the next round. All writes have been answered, or are pending.
func (l *lane) reset() {
	clear(l.writes)
	l.writes = l.writes[:0]
	l.active, l.bytes, l.road, l.grouped, l.strict = false, 0, roadNone, false, false
}

// idle says that nothing needs to be remembered of the partition.
func (l *lane) idle() bool { return len(l.pending) == 0 && l.failedAt < 0 }

// stick keeps the writes of the round, which are durable in the log, until the segment takes them.
func (c *Committer) stick(l *lane) {
	if len(l.pending) == 0 {
		l.pendingFile = c.wal.header.number
		c.stuck = append(c.stuck, l)
	}
	l.pending = append(l.pending, l.writes...)
}

// retryStuck writes what is pending. It returns an error only when that is fatal.
func (c *Committer) retryStuck() error {
	still := c.stuck[:0]
	for i, l := range c.stuck {
		n, err := l.writeSegment(l.pending)
		if n > 0 {
			l.target.Committed(l.pending[:n])
			l.pending = slices.Delete(l.pending, 0, n)
		}
		if err != nil && errors.Is(err, ErrFatal) {
			c.stuck = append(still, c.stuck[i:]...)
			return err
		}
		if c.settle(l, err) {
			still = append(still, l)
		}
	}
	clear(c.stuck[len(still):])
	c.stuck = still
	return nil
}

// settle reports how an attempt to write pending bytes ended, and whether the lane is still stuck.
func (c *Committer) settle(l *lane, err error) bool {
	switch {
	case err == nil:
		if c.cfg.Events.Unstuck != nil {
			c.cfg.Events.Unstuck(l.key)
		}
		return false
	case errors.Is(err, ErrGone):
		gone := l.pending
		l.pending = nil
		l.fail(gone, err)
		return false
	}
	c.stuckEvent(l, err)
	return true
}

func (c *Committer) stuckEvent(l *lane, err error) {
	if c.cfg.Events.Stuck != nil {
		c.cfg.Events.Stuck(l.key, err)
	}
}

// notWritten wraps the cause of a failure that may be tried again.
func notWritten(err error) error {
	if errors.Is(err, ErrFatal) || errors.Is(err, ErrGone) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrNotWritten, err)
}

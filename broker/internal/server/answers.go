package server

import (
	"cmp"
	"errors"
	"slices"
	"sync/atomic"
	"time"
)

// answers counts the memory of responses that are not written yet, those of all connections. A connection does not have much
// of it: nothing more is started while what is answered waits. But the responses of peers that ask for much and read nothing
// would add up, as many as there are connections. When they take more than the limit, peers that have taken nothing for longer
// than patience lose their connections, those with the most first. Ranges of files are not in memory and do not count.
type answers struct {
	limit     int64
	patience  time.Duration
	unwritten atomic.Int64
	looked    atomic.Int64 // when somebody has looked for such peers last, unix ns
}

// lookEvery is how often it is looked for them at most: each look goes over all connections.
const lookEvery = 100 * time.Millisecond

// over returns by how much the limit is exceeded, if it is time to look for who has to go.
func (a *answers) over(now time.Time) int64 {
	over := a.unwritten.Load() - a.limit
	if over <= 0 {
		return 0
	}
	last := a.looked.Load()
	if now.UnixNano()-last < int64(lookEvery) || !a.looked.CompareAndSwap(last, now.UnixNano()) {
		return 0
	}
	return over
}

var errUnread = errors.New("responses were not read while memory for others was short")

// shed closes connections as answers says. It does not wait.
func (s *Server) shed() {
	now := time.Now()
	over := s.answers.over(now)
	if over <= 0 {
		return
	}
	type stalled struct {
		conn  *Conn
		bytes int64
	}
	var all []stalled
	for _, c := range s.open() {
		if bytes := c.stalled(now.Add(-s.answers.patience)); bytes > 0 {
			all = append(all, stalled{c, bytes})
		}
	}
	slices.SortFunc(all, func(a, b stalled) int { return cmp.Compare(b.bytes, a.bytes) })
	for _, v := range all {
		v.conn.abort(ending{ClosedSlow, errUnread})
		if over -= v.bytes; over <= 0 {
			return
		}
	}
}

// stalled returns the memory of the responses of a connection whose peer has taken nothing of them since a moment.
func (c *Conn) stalled(since time.Time) int64 {
	if began := c.wroteAt.Load(); began == 0 || began > since.UnixNano() {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return 0
	}
	return c.queue.unwritten
}

package fetchsession

import (
	"errors"
	"math"
	"sync"
)

// What Begin refuses a request for.
var (
	// ErrNotFound: the session is not in the cache, or not any more (FETCH_SESSION_ID_NOT_FOUND).
	ErrNotFound = errors.New("fetch session not found")
	// ErrEpoch: the request is not the one that follows the last (INVALID_FETCH_SESSION_EPOCH).
	ErrEpoch = errors.New("fetch session epoch is not the expected one")
	// ErrTopicIDs: the session names topics by id and the request by name, or the other way (FETCH_SESSION_TOPIC_ID_ERROR).
	ErrTopicIDs = errors.New("fetch session and request differ in naming topics by id")
)

// What the epoch of a request says besides its number.
const (
	epochInitial int32 = 0  // asks for a session
	epochFinal   int32 = -1 // ends one, or never had one
)

// EvictAfter is how long a session is safe from being pushed out by another, in ms.
const EvictAfter = 120_000

// bytesMax bounds the memory of all sessions together: the number of sessions alone does not, since one may name as many
// partitions as fit a request. It is for some 800,000 partitions.
const bytesMax = 256 << 20

// Head is what a request says of its session.
type Head struct {
	ID, Epoch int32
	ByID      bool // topics are named by id
}

// full reports whether the request names all of its partitions.
func (h Head) full() bool { return h.Epoch == epochInitial || h.Epoch == epochFinal }

// Cache holds the sessions of all clients. Its methods may be called from several goroutines.
type Cache struct {
	slots  int
	drawID func() int32

	mu         sync.Mutex
	sessions   map[int32]*Session
	partitions int
	bytes      int
}

// New returns a cache for so many sessions. drawID gives unpredictable numbers: a session is known by its number alone.
func New(slots int, drawID func() int32) *Cache {
	return &Cache{slots: slots, drawID: drawID, sessions: map[int32]*Session{}}
}

// Stats is how many sessions there are and how many partitions in all of them.
func (c *Cache) Stats() (sessions, partitions int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.sessions), c.partitions
}

// Begin returns the session that a request speaks of. For a full request that is scratch, emptied, and the session that
// the request names ends. For any other it is the one from the cache, lent to the caller until Return. A session that is
// lent already ends: its client has given up on the answer, and begins anew.
func (c *Cache) Begin(h Head, scratch *Session) (*Session, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.sessions[h.ID]
	if h.full() {
		if s != nil {
			c.remove(s)
		}
		scratch.Reset(h.ByID)
		return scratch, nil
	}
	switch {
	case s == nil:
		return nil, ErrNotFound
	case s.epoch != h.Epoch:
		return nil, ErrEpoch
	case s.byID != h.ByID:
		return nil, ErrTopicIDs
	case s.lent:
		c.remove(s)
		s.overtaken = true
		return nil, ErrNotFound
	}
	s.lent = true
	s.epoch = nextEpoch(s.epoch)
	return s, nil
}

// nextEpoch follows an epoch; 0 is only for new sessions.
func nextEpoch(epoch int32) int32 {
	if epoch == math.MaxInt32 {
		return 1
	}
	return epoch + 1
}

// Settle is called once the request's changes have been made to a session that Begin lent out. It reports whether the
// session goes on: without partitions it ends, and the request is answered as if there were none.
func (c *Cache) Settle(s *Session, now int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sessions[s.id] != s {
		return true // overtaken or pushed out meanwhile: the answer finds out
	}
	c.count(s)
	s.used = now
	switch {
	case s.size == 0:
		c.remove(s)
		return false
	case c.bytes > bytesMax:
		c.remove(s)
		s.overtaken = true // the client begins anew, and gets no session if there is still no room
	}
	return true
}

// count brings the sums up to date with what s holds now.
func (c *Cache) count(s *Session) {
	size, bytes := s.Len(), s.memory()
	c.partitions += size - s.size
	c.bytes += bytes - s.bytes
	s.size, s.bytes = size, bytes
}

// Keep makes the session of a full request one of the cache and returns its id, 0 when there is no room or the request
// asks for none. From then on s belongs to the cache.
func (c *Cache) Keep(s *Session, h Head, now int64) int32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h.Epoch != epochInitial || !c.room(s, now) {
		return 0
	}
	s.id, s.epoch = c.newID(), nextEpoch(epochInitial)
	s.created, s.used = now, now
	c.sessions[s.id] = s
	c.count(s)
	return s.id
}

// Return ends the loan of a session. It reports whether the fetch was overtaken: its results must not be sent then
// (INVALID_FETCH_SESSION_EPOCH).
func (c *Cache) Return(s *Session) (overtaken bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.lent = false
	return s.overtaken
}

func (c *Cache) newID() int32 {
	for {
		id := c.drawID() & math.MaxInt32
		if _, taken := c.sessions[id]; id != 0 && !taken {
			return id
		}
	}
}

func (c *Cache) remove(s *Session) {
	delete(c.sessions, s.id)
	c.partitions -= s.size
	c.bytes -= s.bytes
}

// room makes sure that one more session fits.
func (c *Cache) room(s *Session, now int64) bool {
	bytes := s.memory()
	if bytes > bytesMax {
		return false
	}
	for len(c.sessions) >= c.slots || c.bytes+bytes > bytesMax {
		if !c.pushOut(s.Len(), now) {
			return false
		}
	}
	return true
}

// pushOut ends a session in favour of one with so many partitions: one that was not used for EvictAfter; or one that is
// older than that and has fewer partitions, so that those stay whom a session saves most.
func (c *Cache) pushOut(partitions int, now int64) bool {
	oldest, smallest := c.candidates()
	switch {
	case oldest == nil:
		return false
	case now-oldest.used > EvictAfter:
		c.remove(oldest)
		return true
	case smallest != nil && smallest.size < partitions:
		c.remove(smallest)
		return true
	}
	return false
}

// candidates finds the session unused for longest and, among those that have lived long, the one with the fewest
// partitions. It looks at all of them: there is only something to look for when the cache is full.
func (c *Cache) candidates() (oldest, smallest *Session) {
	for _, s := range c.sessions {
		if oldest == nil || s.used < oldest.used {
			oldest = s
		}
		if s.used-s.created > EvictAfter && (smallest == nil || s.size < smallest.size) {
			smallest = s
		}
	}
	return oldest, smallest
}

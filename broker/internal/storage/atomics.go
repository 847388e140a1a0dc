package storage

import "sync/atomic"

// stamp is a timestamp and the last offset of the first batch that reached it.
type stamp struct{ time, offset int64 }

// Values of the time of a sharedStamp that are no time.
const (
	none    = -1 // no record has a timestamp
	unread  = -2 // not read from the time index yet
	storing = -3
)

// sharedStamp is a stamp that one goroutine raises while others read it. Times
// only rise, so that a reader who sees the same time twice has read its offset.
type sharedStamp struct{ time, offset atomic.Int64 }

func (s *sharedStamp) store(v stamp) {
	s.time.Store(storing)
	s.offset.Store(v.offset)
	s.time.Store(v.time)
}

func (s *sharedStamp) load() stamp {
	for {
		t := s.time.Load()
		if t == storing {
			continue
		}
		if v := (stamp{t, s.offset.Load()}); s.time.Load() == t {
			return v
		}
	}
}

// endsKept is how many batch ends are known without a look at any file: a
// consumer that keeps up asks for one of them.
const endsKept = 64

// ends remembers the positions at which the last batches end. One goroutine
// puts, others find meanwhile. Offsets never come twice, so that an offset which
// reads the same before and after its position belongs to it.
type ends struct {
	next  atomic.Uint32
	slots [endsKept]struct{ offset, pos atomic.Int64 }
}

func newEnds() *ends {
	e := new(ends)
	for i := range e.slots {
		e.slots[i].offset.Store(none)
	}
	return e
}

// put notes that the batches below offset end at pos.
func (e *ends) put(offset, pos int64) {
	n := e.next.Load()
	slot := &e.slots[n%endsKept]
	slot.offset.Store(none)
	slot.pos.Store(pos)
	slot.offset.Store(offset)
	e.next.Store(n + 1)
}

// find returns the position at which the batches below offset end.
func (e *ends) find(offset int64) (pos int64, ok bool) {
	if e == nil {
		return 0, false
	}
	for n, i := e.next.Load(), uint32(1); i <= endsKept; i++ {
		slot := &e.slots[(n-i)%endsKept]
		switch at := slot.offset.Load(); {
		case at == offset:
			pos = slot.pos.Load()
			return pos, slot.offset.Load() == offset
		case at < offset: // includes the slots never used: older ones are lower still
			return 0, false
		}
	}
	return 0, false
}

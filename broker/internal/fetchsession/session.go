package fetchsession

import "iter"

// Key names a partition of a fetch: by topic id from Fetch 13 on, by topic name before. The other one is zero.
type Key struct {
	Topic string
	ID    [16]byte
	Index int32
}

// Want is what a client asks of a partition.
type Want struct {
	Offset           int64
	MaxBytes         int32
	LeaderEpoch      int32 // current_leader_epoch, -1 when the client knows none
	LastFetchedEpoch int32 // -1 when the client has fetched nothing
}

// Partition is one partition of a session.
type Partition struct {
	Key
	Want
	// Name is the topic's name. In a session by topic ids it stays what it was when the id was first known, so that a
	// topic that was deleted and made again is told from one that never was (T13).
	Name string
	// Handle is the caller's to keep what it found the partition to be.
	Handle any

	sentHighWatermark int64 // -1: unknown, or the last answer was an error
	sentStart         int64
	prev, next, self  int32 // order, as indexes into Session.slots
}

// none ends a list of slots.
const none int32 = -1

// Session is the partitions that a client fetches, in the order in which they are read.
type Session struct {
	// These belong to whom the session is lent to.
	slots      []Partition
	index      map[Key]int32
	head, tail int32
	free       int32 // list of unused slots, by next
	names      int   // bytes of the topic names in slots

	id   int32
	byID bool
	// These are guarded by Cache.mu.
	epoch         int32
	size, bytes   int   // partitions, and memory for them, as of the last request
	created, used int64 // ms
	lent          bool
	overtaken     bool
}

// Reset makes s an empty session outside the cache, keeping its memory.
func (s *Session) Reset(byID bool) {
	clear(s.slots)
	clear(s.index)
	*s = Session{byID: byID, slots: s.slots[:0], index: s.index, head: none, tail: none, free: none}
	if s.index == nil {
		s.index = map[Key]int32{}
	}
}

// ID is the session's id, 0 outside the cache.
func (s *Session) ID() int32 { return s.id }

// Len is how many partitions are in the session.
func (s *Session) Len() int { return len(s.index) }

// Incremental reports whether answers leave out what has not changed.
func (s *Session) Incremental() bool { return s.id != 0 }

// All walks the partitions in order, each once, also when Report moves them meanwhile. The pointers are good until the next
// Put.
func (s *Session) All() iter.Seq[*Partition] {
	return func(yield func(*Partition) bool) {
		last := s.tail
		for i := s.head; i != none; {
			p := &s.slots[i]
			at := i
			i = p.next
			if !yield(p) || at == last {
				return
			}
		}
	}
}

// Put adds a partition at the end of the order, or changes what is asked of it where it stands.
func (s *Session) Put(k Key, w Want) {
	if i, ok := s.index[k]; ok {
		s.slots[i].Want = w
		return
	}
	i := s.slot()
	s.slots[i] = Partition{Key: k, Want: w, Name: k.Topic, sentHighWatermark: -1, sentStart: -1, self: i}
	s.index[k] = i
	s.names += len(k.Topic)
	s.append(i)
}

// partitionBytes is about what a slot takes with its place in the index.
const partitionBytes = 256

// memory is about how many bytes the session takes. What was forgotten leaves its slot behind.
func (s *Session) memory() int { return len(s.slots)*partitionBytes + s.names }

// Forget takes a partition out.
func (s *Session) Forget(k Key) {
	i, ok := s.index[k]
	if !ok {
		return
	}
	delete(s.index, k)
	s.names -= len(k.Topic)
	s.unlink(i)
	s.slots[i] = Partition{next: s.free}
	s.free = i
}

// slot takes an unused slot, or a new one.
func (s *Session) slot() int32 {
	if i := s.free; i != none {
		s.free = s.slots[i].next
		return i
	}
	s.slots = append(s.slots, Partition{})
	return int32(len(s.slots) - 1)
}

func (s *Session) append(i int32) {
	p := &s.slots[i]
	p.prev, p.next = s.tail, none
	if s.tail == none {
		s.head = i
	} else {
		s.slots[s.tail].next = i
	}
	s.tail = i
}

func (s *Session) unlink(i int32) {
	p := &s.slots[i]
	if p.prev == none {
		s.head = p.next
	} else {
		s.slots[p.prev].next = p.next
	}
	if p.next == none {
		s.tail = p.prev
	} else {
		s.slots[p.next].prev = p.prev
	}
}

// Result is what a partition's read has come to.
type Result struct {
	HighWatermark, Start int64
	Records              bool // there are some
	Failed               bool // an error, or a diverging epoch that the client must act on
}

// Owes reports whether the client has not been told how the partition stands: it is new in the session, it answered with
// an error last, or its start has moved. Such a fetch is answered at once (T26). A high watermark that moved without
// records to send does not count: a reader of committed records behind an open transaction would spin.
func (p *Partition) Owes(start int64) bool {
	return p.sentHighWatermark < 0 || p.sentStart != start
}

// Told reports whether the client knows that the partition stands so: then there is nothing to report without records.
func (p *Partition) Told(highWatermark, start int64) bool {
	return p.sentHighWatermark == highWatermark && p.sentStart == start
}

// Report tells whether the result r of p is part of an incremental answer, remembers it as told, and sends a partition
// with records to the end of the order, so that each gets its turn when an answer cannot hold them all. A failure is
// told every time, and what follows it as well (T25).
func (s *Session) Report(p *Partition, r Result) bool {
	told := p.Told(r.HighWatermark, r.Start)
	p.sentHighWatermark, p.sentStart = r.HighWatermark, r.Start
	if r.Failed {
		p.sentHighWatermark = -1
	}
	if r.Records && s.Incremental() {
		s.unlink(p.self)
		s.append(p.self)
	}
	return r.Records || r.Failed || !told
}

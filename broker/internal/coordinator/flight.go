package coordinator

import (
	"context"
	"maps"
	"slices"

	"github.com/skeinstream/skein/internal/machine"
)

// flight is one append on its way: what some steps have decided, and who is answered when it is durable.
type flight struct {
	shard   *shard
	life    int // of the machine that has decided it
	records []machine.Record
	group   []machine.Write
	bytes   int
	closed  bool // nothing more may be decided into it
	replies []reply
	notes   []machine.Note
	asks    []any
	durable bool
	done    func(error) // tells the worker

	onItsWay bool // the log has it
	early    bool // some of the replies wait for no more than that
}

const (
	// inFlightMax is how many appends of a shard are under way at a time. While they are, what is decided gathers, so that
	// a busy shard writes larger batches.
	inFlightMax = 4
	// groupsInFlightMax is the same for those with groups, which nothing gathers into.
	groupsInFlightMax = 64
	// flightBytes is from how many bytes of keys and values on a flight takes no more records.
	flightBytes = 128 << 10
)

// flight is the one that an output must wait for, nil when there is nothing to wait for. Records of several steps share
// one; those with a group have one for themselves, since they stand and fall together.
func (s *shard) flight(out *machine.Output) *flight {
	last := len(s.flights) - 1
	if len(out.Records) == 0 && len(out.Group) == 0 {
		if last < 0 {
			return nil
		}
		return s.flights[last]
	}
	if last < s.sent || s.flights[last].closed || len(out.Group) > 0 {
		s.flights = append(s.flights, s.newFlight())
		last = len(s.flights) - 1
	}
	f := s.flights[last]
	f.records = append(f.records, out.Records...)
	f.group = append(f.group, out.Group...)
	for i := range out.Records {
		f.bytes += len(out.Records[i].Key) + len(out.Records[i].Value)
	}
	f.closed = len(f.group) > 0 || f.bytes >= flightBytes
	if !s.dirty {
		s.dirty = true
		s.worker.dirty = append(s.worker.dirty, s)
	}
	return f
}

func (s *shard) newFlight() *flight {
	if n := len(s.free); n > 0 {
		f := s.free[n-1]
		s.free = s.free[:n-1]
		f.life = s.life
		return f
	}
	f := &flight{shard: s, life: s.life}
	f.done = func(err error) { s.worker.tell(event{shard: s, flight: f, err: err}) }
	return f
}

// recycle forgets what a flight carried. Nobody may know it any more.
func (s *shard) recycle(f *flight) {
	clear(f.replies)
	clear(f.notes)
	clear(f.asks)
	f.replies, f.notes, f.asks, f.bytes, f.closed, f.durable = f.replies[:0], f.notes[:0], f.asks[:0], 0, false, false
	f.onItsWay, f.early = false, false
	f.forget()
	if max(cap(f.records), cap(f.replies)) <= flightKept {
		s.free = append(s.free, f)
	}
}

// flightKept is how many records and replies a flight has room for that is used again. The end of a topic with a million
// offsets must not cost its records for ever.
const flightKept = 4096

// forget lets go of the records, which the log has taken.
func (f *flight) forget() {
	clear(f.records)
	clear(f.group)
	f.records, f.group = f.records[:0], f.group[:0]
}

// send gives the log what may go.
func (s *shard) send() {
	for s.maySend() {
		s.sendNext()
	}
}

func (s *shard) maySend() bool {
	switch {
	case s.log == nil || s.away || s.lent || s.sent == len(s.flights):
		return false
	case len(s.flights[s.sent].group) > 0:
		return s.underway < groupsInFlightMax
	}
	return s.underway < inFlightMax
}

func (s *shard) sendNext() {
	f := s.flights[s.sent]
	s.sent++
	s.flies(1)
	if visits := s.visits(f.group); len(visits) > 0 {
		s.away = true
		(&rendezvous{origin: f, log: s.log, visits: visits}).travel()
		return
	}
	s.log.Append(f.records, f.group, f.done)
	f.forget()
	f.goes()
}

// flies counts the appends under way.
func (s *shard) flies(more int) {
	s.underway += more
	s.worker.underway += more
}

// goes is called when the log has the flight: whoever waits for no more is told.
func (f *flight) goes() {
	f.onItsWay = true
	if !f.early {
		return
	}
	for i := range f.replies {
		if r := &f.replies[i]; r.early {
			r.give()
		}
	}
}

// appended hears what became of a flight.
func (s *shard) appended(f *flight, err error) {
	s.flies(-1)
	switch {
	case f.life != s.life: // its machine was dropped
		s.recycle(f)
		if s.underway == 0 && s.condition == loading {
			s.load()
		}
	case err != nil:
		s.drop(err)
		s.recycle(f)
	default:
		f.durable = true
		s.failures = 0
		s.release()
		s.send()
	}
}

// release answers what is durable, in the order in which it was decided.
func (s *shard) release() {
	n := 0
	for n < len(s.flights) && s.flights[n].durable {
		f := s.flights[n]
		for i := range f.replies {
			f.replies[i].give()
			f.replies[i].settle(nil)
		}
		for _, note := range f.notes {
			s.cfg.Logger.LogAttrs(context.Background(), note.Level, note.Message, note.Attrs...)
		}
		s.handOut(f.asks)
		s.recycle(f)
		n++
	}
	s.flights = slices.Delete(s.flights, 0, n)
	s.sent -= n
}

// handOut gives away what the machine asks for.
func (s *shard) handOut(asks []any) {
	for _, a := range asks {
		if s.cfg.Ask != nil {
			s.cfg.Ask(s.number, a)
		}
	}
}

// tokens is who is parked, in the order in which they came.
func (s *shard) tokens() []machine.Token { return slices.Sorted(maps.Keys(s.parked)) }

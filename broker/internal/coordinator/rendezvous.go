package coordinator

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/skeinstream/skein/internal/machine"
)

// rendezvous is how a shard makes one atomic append together with shards of a neighbour: a transaction ends, and its marker
// must stand in the logs of groups.
//
// A shard's log is the shard's alone, since its machine must know what stands in it and in which order. To let the origin
// write there as into any other partition would have the groups find out later, in an order that is not that of their log;
// and to write the markers one after the other would have readers see half a transaction. So the logs are lent. The origin
// goes round: each shard that it visits first sends what it has decided, then holds back whatever comes, and passes the
// visit on. The last one has everybody's log and makes the append, on its own worker. Then all get their logs back, each
// applies its marker and goes on; that takes microseconds, and nobody has waited on a goroutine meanwhile. When the append
// is durable all of them hear of it, as of any flight.
//
// Visits go in ascending order of topic and partition, and who is visited visits nobody, so none waits for another in a
// circle. The origin goes on deciding meanwhile, since nobody else needs its log.
type rendezvous struct {
	origin *flight
	log    Log // the origin's
	visits []*visit
	next   int // of visits

	parts   atomic.Int32 // of the append that are over: the call, and done's
	outcome error
}

// visit is the part of one neighbour.
type visit struct {
	of     *rendezvous
	shard  *shard
	write  machine.Write // into the shard's partition
	log    Log           // once lent
	flight *flight       // likewise: what stands for the append among the shard's own
	due    time.Time     // when the shard would have ticked
}

// visits are the neighbours that a group reaches into, in the order in which they are visited.
func (s *shard) visits(group []machine.Write) (visits []*visit) {
	if s.cfg.Neighbour == nil {
		return nil
	}
	for _, w := range group {
		n := s.cfg.Neighbour(w.Topic)
		if n != nil && w.Partition >= 0 && int(w.Partition) < len(n.shards) {
			visits = append(visits, &visit{shard: n.shards[w.Partition], write: w})
		}
	}
	slices.SortFunc(visits, func(a, b *visit) int {
		return cmp.Or(strings.Compare(a.write.Topic, b.write.Topic), cmp.Compare(a.write.Partition, b.write.Partition))
	})
	for i := range visits {
		if i > 0 && visits[i].shard == visits[i-1].shard {
			return nil // which no log takes, and a shard would wait for itself
		}
	}
	return visits
}

// travel goes to the next neighbour, or makes the append when there is none.
func (r *rendezvous) travel() {
	if r.next == len(r.visits) {
		r.append()
		return
	}
	v := r.visits[r.next]
	v.of = r
	if !v.shard.worker.tell(event{shard: v.shard, visit: v}) {
		r.fail(ErrNotCoordinator)
	}
}

// receive lends the shard's log, or refuses to.
func (s *shard) receive(v *visit) {
	if s.condition != active || s.log.Refusal() != nil {
		v.of.fail(fmt.Errorf("a shard that the append reaches into: %w", s.condition.refusal()))
		return
	}
	for s.sent < len(s.flights) {
		s.sendNext()
	}
	v.flight, v.log, v.due = s.newFlight(), s.log, s.due
	v.flight.closed, v.flight.onItsWay = true, true // nobody is told before it is
	s.flights = append(s.flights, v.flight)
	s.sent, s.lent = len(s.flights), true
	s.flies(1)
	s.worker.deadlines.set(s, time.Time{})
	v.of.next++
	v.of.travel()
}

// append makes the append, with everybody's log.
func (r *rendezvous) append() {
	lent := make([]Log, len(r.visits))
	for i, v := range r.visits {
		lent[i] = v.log
	}
	if err := r.log.AppendLent(r.origin.records, r.origin.group, lent, r.appended); err != nil {
		r.fail(err)
		return
	}
	r.giveBack(nil)
	r.over()
}

func (r *rendezvous) appended(err error) {
	r.outcome = err
	r.over()
}

// over tells everybody what has become of the append, when both its parts are over: the log may be at it yet when it calls
// done.
func (r *rendezvous) over() {
	if r.parts.Add(1) < 2 {
		return
	}
	for _, v := range r.visits {
		v.shard.worker.tell(event{shard: v.shard, flight: v.flight, err: r.outcome})
	}
	r.origin.done(r.outcome)
}

// fail ends a rendezvous without an append. Only the origin's machine is ahead of its log.
func (r *rendezvous) fail(err error) { r.giveBack(err) }

// giveBack gives everybody the log back that he has lent.
func (r *rendezvous) giveBack(err error) {
	for _, v := range r.visits[:r.next] {
		v.shard.worker.tell(event{shard: v.shard, visit: v, back: true, err: err})
	}
	origin := r.origin.shard
	origin.worker.tell(event{shard: origin, flight: r.origin, back: true, err: err})
}

// comeBack has the shard go on after a rendezvous.
func (s *shard) comeBack(e event) {
	switch {
	case e.visit == nil && e.err != nil: // it was the shard's own
		s.away = false
		s.appended(e.flight, e.err)
	case e.visit == nil:
		s.away = false
		e.flight.forget()
		e.flight.goes()
		s.send()
	default:
		s.resume(e.visit, e.err)
	}
}

// resume has a shard that was visited go on, with the marker applied if it was appended.
func (s *shard) resume(v *visit, err error) {
	s.lent = false
	if s.condition == active {
		s.worker.deadlines.set(s, v.due)
	}
	if err == nil {
		s.applyWrite(&v.write)
	} else {
		s.flies(-1)
		v.flight.durable = true
		s.release()
	}
	held := s.held
	s.held = nil
	for _, h := range held {
		switch h := h.(type) {
		case call:
			s.step(h)
		case event:
			s.hear(h)
		}
	}
	s.send()
}

func (s *shard) applyWrite(w *machine.Write) {
	defer s.contain()
	if w.Marker != nil {
		s.machine.Apply(machine.Record{Producer: w.Producer, Marker: w.Marker})
	}
	for _, r := range w.Records {
		r.Producer = w.Producer
		s.machine.Apply(r)
	}
}

// refuseHeld refuses what was held back, at the end of the worker.
func (s *shard) refuseHeld() {
	for _, h := range s.held {
		h.(interface{ refuse() }).refuse()
	}
	s.held = nil
}

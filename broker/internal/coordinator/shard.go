package coordinator

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/skeinstream/skein/internal/machine"
)

// condition is what a shard can do.
type condition uint8

const (
	loading  condition = iota // its log is read, or will be as soon as what is under way has been answered
	waiting                   // until it is loaded again
	active                    // it has a machine
	finished                  // the coordinator shuts down
)

// refusal is the error for those who come meanwhile.
func (c condition) refusal() error {
	if c == loading {
		return ErrLoading
	}
	return ErrNotCoordinator
}

// shard is one partition of the internal topic with its machine. It belongs to its worker.
type shard struct {
	cfg    *Config
	worker *worker
	loads  loads
	number int32

	condition condition
	serves    atomic.Bool     // condition is active, for everybody
	machine   machine.Machine // nil unless active, or finished
	log       Log             // likewise
	life      int             // counts machines
	failures  int             // since an append has succeeded
	welcome   bool            // Config.Loaded is still to be called
	tried     func()          // tells of the first load; nil after it

	last   machine.Token    // that was given out
	caller func(any, error) // whose step it is, until he is answered or parked
	soon   *early           // his input, when he is answered before what was decided is durable
	parked map[machine.Token]func(any, error)

	flights  []*flight // not durable yet, oldest first
	sent     int       // of flights, how many the log has
	underway int       // appends that the log has not answered, of earlier machines too
	free     []*flight
	dirty    bool // in worker.dirty
	away     bool // a rendezvous has the log, for the flight that was sent last
	lent     bool // to a rendezvous of another's; what comes meanwhile is held
	held     []any

	due   time.Time // in worker.deadlines: when to tick, or to load again
	place int
}

func newShard(cfg *Config, w *worker, number int32, l loads) *shard {
	s := &shard{cfg: cfg, worker: w, loads: l, number: number, parked: map[machine.Token]func(any, error){}}
	w.shards = append(w.shards, s)
	return s
}

// step gives a call to the machine.
func (s *shard) step(c call) {
	if s.lent {
		s.held = append(s.held, c)
		return
	}
	defer s.contain()
	if s.condition != active {
		c.done(nil, s.condition.refusal())
		return
	}
	var soon *early
	if in, isEarly := c.in.(early); isEarly {
		c.in, soon = in.in, &in
	}
	if _, reads := c.in.(machine.Read); !reads || s.welcome {
		refused := s.log.Refusal() != nil
		switch {
		case refused && !reads:
			c.done(nil, ErrNotCoordinator)
			return
		case !refused && s.welcome:
			s.greet()
		}
	}
	out := s.ask(c.in, c.done)
	s.soon = soon
	s.accept(out)
}

// ask gives the machine an input of done's.
func (s *shard) ask(in any, done func(any, error)) machine.Output {
	s.last++
	s.caller, s.soon = done, nil
	if w, ok := in.(written); ok {
		return machine.Output{Records: w.records, Replies: []machine.Reply{{To: s.last}}, Wake: s.due}
	}
	return s.machine.Step(s.worker.now, s.last, in)
}

// tick tells the machine the time, or ends the wait for the next attempt to load. What would have to be appended now and
// cannot be is better not decided.
func (s *shard) tick() {
	defer s.contain()
	now := s.worker.now
	switch {
	case s.condition == waiting:
		s.load()
	case s.log.Refusal() != nil:
		s.worker.deadlines.set(s, now.Add(refusedTick))
	default:
		s.accept(s.machine.Tick(now))
		if !s.due.IsZero() && !s.due.After(now) { // it would tick for ever
			s.worker.deadlines.set(s, now.Add(time.Millisecond))
		}
	}
}

// refusedTick is how long a tick is put off while the log takes no records.
const refusedTick = time.Second

// accept takes over what the machine has decided: the records are applied and wait to be appended, and so the replies.
func (s *shard) accept(out machine.Output) {
	for i := range out.Records {
		s.machine.Apply(out.Records[i])
	}
	f := s.flight(&out)
	for _, r := range out.Replies {
		answer := reply{value: r.Value}
		if s.soon != nil && r.To == s.last {
			answer.early, answer.durable = true, s.soon.durable
		}
		answer.done = s.take(r.To)
		s.answer(f, answer)
	}
	s.soon = nil
	if s.caller != nil {
		s.parked[s.last], s.caller = s.caller, nil
	}
	s.note(f, out.Notes)
	s.want(f, out.Asks)
	s.worker.deadlines.set(s, out.Wake)
}

func (s *shard) note(f *flight, notes []machine.Note) {
	if f != nil {
		f.notes = append(f.notes, notes...)
		return
	}
	for _, n := range notes {
		s.cfg.Logger.LogAttrs(context.Background(), n.Level, n.Message, n.Attrs...)
	}
}

// want hands asks out once the flight is durable.
func (s *shard) want(f *flight, asks []any) {
	if f != nil {
		f.asks = append(f.asks, asks...)
		return
	}
	s.handOut(asks)
}

// hear is told what became of what the shard has begun.
func (s *shard) hear(e event) {
	switch {
	case e.back:
		s.comeBack(e)
	case s.lent:
		s.held = append(s.held, e)
	case e.visit != nil:
		s.receive(e.visit)
	case e.welcome:
		s.welcome = s.cfg.Loaded != nil // if there is no machine now, the next one has it anyway
	case e.load != nil:
		s.loaded(e.load)
	default:
		s.appended(e.flight, e.err)
	}
}

func (s *shard) become(c condition) {
	s.condition = c
	s.serves.Store(c == active)
}

// load has the log read into a new machine, once nothing of the old one is under way any more.
func (s *shard) load() {
	s.become(loading)
	s.worker.deadlines.set(s, time.Time{})
	if s.underway == 0 {
		s.loads <- s // has room
	}
}

// loaded takes the new machine over.
func (s *shard) loaded(l *loaded) {
	defer s.noteTried()
	defer s.contain()
	if s.condition == finished {
		return
	}
	if l.err != nil {
		s.cfg.Logger.Error("a coordinator's log cannot be read, and is tried again", "shard", s.number, "error", l.err)
		s.wait()
		return
	}
	s.machine, s.log, s.welcome = l.machine, l.log, s.cfg.Loaded != nil
	s.become(active)
	s.accept(s.machine.Loaded(s.worker.now))
	if s.welcome && s.log.Refusal() == nil {
		s.greet()
	}
	if s.cfg.Events.Loaded != nil {
		s.cfg.Events.Loaded(s.number, l.records, l.took)
	}
}

// noteTried tells, once, that the shard has been loaded or could not be.
func (s *shard) noteTried() {
	if s.tried != nil {
		s.tried()
		s.tried = nil
	}
}

// greet lets the owner of the coordinator say what the machine must know first.
func (s *shard) greet() {
	s.welcome = false
	s.cfg.Loaded(s.number, func(in any, done func(error)) (answer any) {
		out := s.ask(in, func(_ any, err error) {
			if done != nil {
				done(err)
			}
		})
		for _, r := range out.Replies {
			if r.To == s.last {
				answer = r.Value
			}
		}
		s.accept(out)
		return answer
	})
}

// contain contains, when it is deferred, a panic to the machine that has it: what one group has broken must not take the
// broker from everybody else. It is as loud as it can be, and the machine is made anew.
func (s *shard) contain() {
	if p := recover(); p != nil {
		s.cfg.Logger.Error("a coordinator panicked", "shard", s.number, "panic", p, "stack", string(debug.Stack()))
		s.drop(fmt.Errorf("%w: %v", errPanic, p))
	}
}

var errPanic = errors.New("the machine panicked")

// drop gives the machine up: it is ahead of its log. Everybody who waits hears of it.
func (s *shard) drop(reason error) {
	s.cfg.Logger.Warn("a coordinator is made anew from its log", "shard", s.number, "error", reason)
	s.answerAll()
	s.life++
	s.machine, s.log = nil, nil
	if s.condition == finished {
		return
	}
	s.failures++
	if s.failures == 1 {
		s.load()
	} else {
		s.wait()
	}
}

// wait puts the next load off, ever longer.
func (s *shard) wait() {
	s.become(waiting)
	delay := s.cfg.RetryMin << min(max(s.failures-1, 0), 16)
	s.failures++
	s.worker.deadlines.set(s, s.worker.now.Add(min(delay, s.cfg.RetryMax)))
}

// stop gives the machine no more to decide. Who has no answer yet gets none from it; what it has decided is still written.
func (s *shard) stop() {
	s.become(finished)
	s.worker.deadlines.set(s, time.Time{})
	s.answerParked()
}

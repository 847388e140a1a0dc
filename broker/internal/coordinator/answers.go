package coordinator

import "github.com/skeinstream/skein/internal/machine"

// reply is an answer that waits. One that was given early has no done any more.
type reply struct {
	done    func(any, error)
	value   any
	early   bool
	durable func(error) // of an early one; may be nil
}

// give gives the answer, unless it was given early.
func (r *reply) give() {
	if done := r.done; done != nil {
		r.done = nil
		done(r.value, nil)
	}
}

// settle says whether what the answer was about is durable.
func (r *reply) settle(err error) {
	if r.durable != nil {
		r.durable(err)
	}
}

// fail tells who waits for the answer, or for it to be durable, that it is lost.
func (r *reply) fail() {
	if r.done != nil {
		r.done(nil, ErrNotCoordinator)
		return
	}
	r.settle(ErrNotCoordinator)
}

// take is who waits under a token, and does so no longer. It is nil for nobody.
func (s *shard) take(t machine.Token) (done func(any, error)) {
	if s.caller != nil && t == s.last {
		done, s.caller = s.caller, nil
		return done
	}
	done = s.parked[t]
	delete(s.parked, t)
	return done
}

// answer gives a reply once the flight is durable, or on its way for an early one; nil is nothing to wait for.
func (s *shard) answer(f *flight, r reply) {
	switch {
	case r.done == nil:
		s.cfg.Logger.Error("a machine has answered somebody who does not wait", "shard", s.number)
	case f == nil:
		r.give()
		r.settle(nil)
	case r.early && f.onItsWay:
		r.give()
		f.replies = append(f.replies, r)
	default:
		f.replies = append(f.replies, r)
		f.early = f.early || r.early
	}
}

// answerParked tells everybody whose answer is not decided to ask elsewhere.
func (s *shard) answerParked() {
	if done := s.caller; done != nil {
		s.caller = nil
		done(nil, ErrNotCoordinator)
	}
	for _, t := range s.tokens() {
		done := s.parked[t]
		delete(s.parked, t)
		done(nil, ErrNotCoordinator)
	}
}

// answerAll tells also those whose answer waits for an append.
func (s *shard) answerAll() {
	for _, f := range s.flights {
		for _, r := range f.replies {
			r.fail()
		}
		f.replies = f.replies[:0]
	}
	clear(s.flights)
	s.flights, s.sent = s.flights[:0], 0
	s.answerParked()
}

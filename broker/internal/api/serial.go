package api

import (
	"context"
	"sync"

	"github.com/skeinstream/skein/broker/internal/server"
)

// serial runs functions one after the other, in the order in which they were given, on a goroutine that lives only
// while there is something to run. The queue has no bound of its own: a connection has at most one such request under
// way, so the limit on connections is the limit here.
type serial struct {
	mu      sync.Mutex
	waiting []func()
	running chan struct{} // closed when the running goroutine ends; nil when none runs
}

// answer runs fn, which answers r, after everything that was given before. It does not wait.
func (s *serial) answer(r *server.Request, fn func()) {
	s.do(func() {
		defer r.Contain()
		fn()
	})
}

// do runs fn after everything that was given before. It does not wait.
func (s *serial) do(fn func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = append(s.waiting, fn)
	if s.running == nil {
		s.running = make(chan struct{})
		go s.drain()
	}
}

func (s *serial) drain() {
	for fn := s.next(); fn != nil; fn = s.next() {
		fn()
	}
}

// next takes the oldest waiting function, or ends the run.
func (s *serial) next() func() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) == 0 {
		close(s.running)
		s.running, s.waiting = nil, nil
		return nil
	}
	fn := s.waiting[0]
	s.waiting = s.waiting[1:]
	return fn
}

// wait returns when nothing runs and nothing waits, or when ctx ends.
func (s *serial) wait(ctx context.Context) error {
	s.mu.Lock()
	running := s.running
	s.mu.Unlock()
	if running == nil {
		return nil
	}
	select {
	case <-running:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

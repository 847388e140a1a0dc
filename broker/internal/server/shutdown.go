package server

import (
	"context"
	"net"
)

// Shutdown stops accepting and reading, ends the contexts of parked requests so that they answer early, waits until all
// that was asked is answered, and closes the connections. When ctx is done first it closes them at once, and returns
// ctx's error; their goroutines end as their handlers finish what they hold.
func (s *Server) Shutdown(ctx context.Context) error {
	s.stop()
	select {
	case <-s.empty:
		s.outbox.work.Wait()
		return nil
	case <-ctx.Done():
	}
	for _, c := range s.open() {
		c.abort(ending{ClosedByShutdown, context.Cause(ctx)})
	}
	return ctx.Err()
}

// stop begins the shutdown.
func (s *Server) stop() {
	s.mu.Lock()
	if !s.closing {
		s.closing = true
		s.checkEmpty()
	}
	listeners := make([]net.Listener, 0, len(s.listeners))
	for l := range s.listeners {
		listeners = append(listeners, l)
	}
	s.mu.Unlock()
	s.cancel(ErrShutdown)
	s.gate.close()
	for _, l := range listeners {
		_ = l.Close()
	}
	for _, c := range s.open() {
		c.stopReading()
	}
}

func (s *Server) open() []*Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	conns := make([]*Conn, 0, len(s.conns))
	for c := range s.conns {
		conns = append(conns, c)
	}
	return conns
}

// addListener returns false when the server is shutting down, as addConn does.
func (s *Server) addListener(l net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closing {
		s.listeners[l] = struct{}{}
	}
	return !s.closing
}

func (s *Server) removeListener(l net.Listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.listeners, l)
}

func (s *Server) addConn(c *Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closing {
		s.conns[c] = struct{}{}
	}
	return !s.closing
}

func (s *Server) removeConn(c *Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	s.checkEmpty()
}

// checkEmpty is called with mu held, when closing or conns has changed.
func (s *Server) checkEmpty() {
	if s.closing && len(s.conns) == 0 {
		close(s.empty)
	}
}

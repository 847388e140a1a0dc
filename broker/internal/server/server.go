package server

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Server serves connections until Shutdown. Make one with New.
type Server struct {
	cfg     Config
	handler Handler
	ctx     context.Context // of all connections
	cancel  context.CancelCauseFunc
	logs    logs
	budget  *budget
	gate    *gate
	answers answers
	pools   pools
	outputs sync.Pool
	outbox  outbox
	lastID  atomic.Uint64

	mu        sync.Mutex
	listeners map[net.Listener]struct{}
	conns     map[*Conn]struct{}
	closing   bool
	empty     chan struct{} // closed when closing and the last connection is gone
}

// New returns a server that asks h.
func New(cfg Config, h Handler) *Server {
	cfg = cfg.withDefaults()
	s := &Server{
		cfg: cfg, handler: h,
		budget:    newBudget(cfg.RequestMemory-cfg.RequestMemory/reserveShare, cfg.RequestMemory/reserveShare, cfg.Patience),
		gate:      newGate(cfg.Connections),
		listeners: map[net.Listener]struct{}{},
		conns:     map[*Conn]struct{}{},
		empty:     make(chan struct{}),
	}
	s.logs.Logger = cfg.Logger
	s.outbox.start()
	s.answers.limit, s.answers.patience = cfg.ResponseMemory, cfg.Patience
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	return s
}

// LimitConnections changes the limits on connections. Those that are open stay.
func (s *Server) LimitConnections(l ConnectionLimits) { s.gate.limit(l) }

// Serve accepts connections from l until Shutdown, then returns nil; an error of the listener itself is returned.
// It may be called for several listeners at a time. It closes l. Connections that it accepted may outlive it: Shutdown
// waits for them.
func (s *Server) Serve(l net.Listener, info ListenerInfo) error {
	defer l.Close()
	if !s.addListener(l) {
		return nil
	}
	defer s.removeListener(l)
	for pause := time.Duration(0); ; {
		conn, err := l.Accept()
		switch {
		case err == nil:
			pause = 0
			s.accepted(conn, info)
		case s.ctx.Err() != nil:
			return nil
		case isTemporary(err):
			pause = min(max(2*pause, 5*time.Millisecond), time.Second)
			s.logs.limited("accepting a connection failed; trying again", "listener", info.Name, "error", err)
			s.pause(pause)
		default:
			return err
		}
	}
}

// isTemporary tells whether accepting may succeed later: no free file descriptors, or a connection that was gone before
// it was accepted. The method is deprecated for the vagueness of what it covers; here it is what net/http asks, too.
func isTemporary(err error) bool {
	var t interface{ Temporary() bool }
	return errors.As(err, &t) && t.Temporary()
}

func (s *Server) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.ctx.Done():
	}
}

// accepted lets conn through the gate, and waits there when it must: no more are accepted meanwhile.
func (s *Server) accepted(conn net.Conn, info ListenerInfo) {
	e, ok := s.enter(conn, info)
	if !ok {
		return
	}
	go s.serve(conn, info, e)
}

// ServeConn serves one connection, as if info's listener had accepted it, until it is closed. It closes conn.
func (s *Server) ServeConn(conn net.Conn, info ListenerInfo) {
	if e, ok := s.enter(conn, info); ok {
		s.serve(conn, info, e)
	}
}

func (s *Server) enter(conn net.Conn, info ListenerInfo) (entry, bool) {
	e, p := s.gate.enter(conn.RemoteAddr())
	if p == passed {
		return e, true
	}
	_ = conn.Close()
	if p == tooManyOfAddress {
		ci := connectionInfo(0, conn, info)
		end := ending{ClosedLimit, errors.New("too many connections from this address")}
		s.logs.closed(ci, end)
		if f := s.cfg.Events.ConnectionClosed; f != nil {
			f(ci, ClosedLimit)
		}
	}
	return entry{}, false
}

func connectionInfo(id uint64, conn net.Conn, info ListenerInfo) ConnectionInfo {
	return ConnectionInfo{ID: id, Listener: info.Name, Remote: conn.RemoteAddr().String()}
}

// serve runs one connection that has passed the gate.
func (s *Server) serve(conn net.Conn, info ListenerInfo, e entry) {
	defer s.gate.leave(e)
	c := newConn(s, s.lastID.Add(1), conn, info)
	if !s.addConn(c) {
		c.end(ending{ClosedByShutdown, ErrShutdown})
		return
	}
	defer s.removeConn(c)
	ci := connectionInfo(c.id, conn, info)
	if f := s.cfg.Events.ConnectionOpened; f != nil {
		f(ci)
	}
	c.run()
	s.logs.closed(ci, c.ending)
	if f := s.cfg.Events.ConnectionClosed; f != nil {
		f(ci, c.ending.reason)
	}
}

func (s *Server) requestOver(r *Request, now time.Time, sent bool) {
	f := s.cfg.Events.RequestFinished
	if f == nil {
		return
	}
	res := &r.result
	info := RequestInfo{Key: r.Key, Version: r.Version, ErrorCode: res.response.ErrorCode, Handling: res.at.Sub(r.Received), Total: now.Sub(r.Received), BytesIn: r.frameBytes}
	if sent {
		info.BytesOut = res.size
	}
	if res.outcome == silent {
		info.Total = info.Handling
	}
	f(info)
}

// Stats are gauges for a scrape.
type Stats struct {
	Connections   int
	RequestMemory int64 // bytes of requests being read or answered
	// ResponseMemory is bytes of responses that wait for their peers, ranges of files not counted.
	ResponseMemory int64
}

// Stats returns the gauges as they are now.
func (s *Server) Stats() Stats {
	return Stats{Connections: len(s.open()), RequestMemory: s.budget.inUse(), ResponseMemory: s.answers.unwritten.Load()}
}

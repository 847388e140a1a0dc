package server

import (
	"context"
	"net"
)

// Server serves connections until Shutdown. Make one with New.
type Server struct {
	cfg     Config
	handler Handler
}

// New returns a server that asks h.
func New(cfg Config, h Handler) *Server {
	return &Server{cfg: cfg.withDefaults(), handler: h}
}

// Serve accepts connections from l until Shutdown, then returns nil; an error of the listener itself is returned.
// It may be called for several listeners at a time. It closes l.
func (s *Server) Serve(l net.Listener, info ListenerInfo) error { return nil }

// ServeConn serves one connection, as if info's listener had accepted it, until it is closed. It closes conn.
func (s *Server) ServeConn(conn net.Conn, info ListenerInfo) {}

// Shutdown stops accepting and reading, ends the contexts of parked requests so that they answer early, waits until all
// that was asked is answered, and closes the connections. When ctx is done first it closes them at once, and returns
// ctx's error.
func (s *Server) Shutdown(ctx context.Context) error { return nil }

// Stats are gauges for a scrape.
type Stats struct {
	Connections   int
	RequestMemory int64 // bytes of requests being read or answered
}

// Stats returns the gauges as they are now.
func (s *Server) Stats() Stats { return Stats{} }

package server

import (
	"context"
	"net"
)

// Conn is one connection of a client.
type Conn struct {
	id   uint64
	info ListenerInfo
	net  net.Conn
	ctx  context.Context
}

// ID is unique among the connections of one server.
func (c *Conn) ID() uint64 { return c.id }

// Listener is the listener that accepted the connection: whom to advertise depends on it.
func (c *Conn) Listener() ListenerInfo { return c.info }

// RemoteAddr is the peer's address.
func (c *Conn) RemoteAddr() net.Addr { return c.net.RemoteAddr() }

// Context ends when the connection does or when the server begins to shut down.
func (c *Conn) Context() context.Context { return c.ctx }

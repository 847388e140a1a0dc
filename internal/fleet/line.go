package fleet

import (
	"context"
	"net"
	"sync"
	"syscall"

	"github.com/skeinstream/skein/client"
)

// Line is how one process reaches the cluster. It may be cut, and mended.
type Line struct {
	base client.Config

	mu    sync.Mutex
	cut   bool
	conns []net.Conn
}

// NewLine reaches what base does.
func NewLine(base client.Config) *Line { return &Line{base: base} }

// Cluster is the cluster at the other end.
func (l *Line) Cluster() client.Config {
	c := l.base
	c.Dial = l.dial
	return c
}

func (l *Line) dial(ctx context.Context, network, address string) (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut {
		return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	}
	dial := l.base.Dial
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	conn, err := dial(ctx, network, address)
	if err == nil {
		l.conns = append(l.conns, conn)
	}
	return conn, err
}

// Cut ends all connections, and has none opened any more.
func (l *Line) Cut() { l.set(true) }

// Mend ends a Cut.
func (l *Line) Mend() { l.set(false) }

func (l *Line) set(cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = cut
	for _, conn := range l.conns {
		_ = conn.Close()
	}
	l.conns = nil
}

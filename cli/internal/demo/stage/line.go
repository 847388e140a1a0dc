package stage

import (
	"context"
	"errors"
	"net"
	"sync"

	"github.com/skeinstream/skein/client"
)

// line is how one member reaches the brokers, so that it can be cut.
type line struct {
	dial client.DialFunc

	mu    sync.Mutex
	dead  bool
	conns []net.Conn
}

var errCut = errors.New("the process is killed")

func (l *line) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	l.mu.Lock()
	dead := l.dead
	l.mu.Unlock()
	if dead {
		return nil, errCut
	}
	conn, err := l.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return conn, l.keep(conn)
}

func (l *line) keep(conn net.Conn) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead {
		return errors.Join(errCut, conn.Close())
	}
	l.conns = append(l.conns, conn)
	return nil
}

// cut ends all connections as the system does for a process that is killed.
func (l *line) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dead = true
	for _, conn := range l.conns {
		_ = conn.Close()
	}
	l.conns = nil
}

//go:build synctests

package rehearsal

import (
	"context"
	"net"
	"sync"
	"syscall"

	"github.com/skeinstream/skein/client"
)

// line is how a worker reaches the broker, until it has written as many times as its fuse is long.
type line struct {
	under client.DialFunc
	burnt chan struct{} // gets a value when the fuse is

	mu      sync.Mutex
	fuse    int  // 0 is none
	arrives bool // the last message does
	cut     bool
	conns   []net.Conn
}

func (l *line) dial(ctx context.Context, network, address string) (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut {
		return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	}
	conn, err := l.under(ctx, network, address)
	if err != nil {
		return nil, err
	}
	l.conns = append(l.conns, conn)
	return &burning{Conn: conn, line: l}, nil
}

// burns counts a message, and says whether it is sent.
func (l *line) burns() (sent, last bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut {
		return false, false
	}
	if l.fuse == 0 {
		return true, false
	}
	l.fuse--
	return l.fuse > 0 || l.arrives, l.fuse == 0
}

func (l *line) cuts() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut {
		return
	}
	l.cut = true
	for _, conn := range l.conns {
		_ = conn.Close()
	}
	l.conns = nil
	l.burnt <- struct{}{}
}

// mends has it carry again, with another fuse.
func (l *line) mends(fuse int, arrives bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut, l.fuse, l.arrives = false, fuse, arrives
}

// burning is a connection of a line.
type burning struct {
	net.Conn
	line *line
}

func (b *burning) Write(message []byte) (n int, err error) {
	sent, last := b.line.burns()
	if sent {
		n, err = b.Conn.Write(message)
	} else {
		err = syscall.ECONNRESET
	}
	if last {
		b.line.cuts()
	}
	return n, err
}

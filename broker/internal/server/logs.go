package server

import (
	"log/slog"
	"sync"
	"time"
)

// logs is what the server has to say. Anybody who reaches a port can make it speak, so lines about peers are limited:
// a few in a window, and the first of the next window says how many were left out.
type logs struct {
	*slog.Logger

	mu         sync.Mutex
	windowEnds time.Time
	lines      int
	left       int // lines left out
}

const (
	logWindow = 10 * time.Second
	logLines  = 10
)

// closed reports the end of a connection: quietly when that is daily life, as a warning when somebody should look at a
// client, its network or its settings.
func (l *logs) closed(c ConnectionInfo, e ending) {
	attrs := []any{"connection", c.ID, "remote", c.Remote, "listener", c.Listener, "reason", string(e.reason), "error", e.err}
	switch e.reason {
	case ClosedByPeer, ClosedIdle, ClosedByShutdown:
		l.Debug("connection closed", attrs...)
	default:
		l.limited("connection closed", attrs...)
	}
}

func (l *logs) limited(msg string, attrs ...any) {
	left, ok := l.admit(time.Now())
	if !ok {
		return
	}
	if left > 0 {
		attrs = append(attrs, "similar_left_out", left)
	}
	l.Warn(msg, attrs...)
}

// admit tells whether one more line fits the window, and how many did not fit the one before.
func (l *logs) admit(now time.Time) (left int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.After(l.windowEnds) {
		l.windowEnds = now.Add(logWindow)
		left, l.left, l.lines = l.left, 0, 0
	}
	if l.lines >= logLines {
		l.left++
		return 0, false
	}
	l.lines++
	return left, true
}

// panicked is never limited: it is a bug of ours.
func (l *logs) panicked(r *Request, p any, stack []byte) {
	l.Error("a request handler panicked; its connection is closed", "request", r.Key, "version", r.Version, "panic", p, "stack", string(stack))
}

func (l *logs) finishedTwice(r *Request) {
	l.Error("a request was answered twice; the second answer is dropped", "request", r.Key, "version", r.Version)
}

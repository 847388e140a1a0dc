package server

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Conn is one connection of a client. Its reader goroutine (run) takes requests off the socket, hands them to the handler
// and writes what is answered at once; what is answered later is written by way of the outbox, or by the reader if it has
// nothing better to do.
type Conn struct {
	id     uint64
	info   ListenerInfo
	server *Server
	net    net.Conn
	ctx    context.Context // its own life: see CONTRIBUTING
	cancel context.CancelCauseFunc

	// Of the reader alone.
	in       *input
	clientID string // the latest, so that requests share one string
	lastRead time.Time

	// Of the one who writes.
	writeUntil time.Time // the write deadline that is set

	wroteAt atomic.Int64 // when the write began that is under way, unix ns; 0: none is

	mu          sync.Mutex
	changed     sync.Cond // on mu, for the reader: queue, writing or ended has changed
	readerWaits bool      // in changed
	queue       queue
	serving     *Request // in the handler, on the reader: whatever it answers, the reader writes
	writing     bool     // somebody is writing
	lastWrite   time.Time
	mutedUntil  time.Time
	stopped     bool // Shutdown has set the read deadline for good
	failed      bool // a request has failed: nothing after it is started
	ended       bool
	ending      ending
}

// ending is why a connection ends.
type ending struct {
	reason CloseReason
	err    error
}

func (e *ending) Error() string { return e.err.Error() }

func (e *ending) Unwrap() error { return e.err }

var errIdle = errors.New("nothing was asked for too long")

func newConn(s *Server, id uint64, n net.Conn, info ListenerInfo) *Conn {
	c := &Conn{id: id, info: info, server: s, net: n, in: newInput(n, &s.pools), lastRead: time.Now()}
	c.changed.L = &c.mu
	tuneLoopback(n)
	c.ctx, c.cancel = context.WithCancelCause(s.ctx)
	return c
}

// ID is unique among the connections of one server.
func (c *Conn) ID() uint64 { return c.id }

// Listener is the listener that accepted the connection: whom to advertise depends on it.
func (c *Conn) Listener() ListenerInfo { return c.info }

// RemoteAddr is the peer's address.
func (c *Conn) RemoteAddr() net.Addr { return c.net.RemoteAddr() }

// Context ends when the connection does or when the server begins to shut down.
func (c *Conn) Context() context.Context { return c.ctx }

// run serves the connection until it ends, and returns when nothing of it is left: no request, no writer.
func (c *Conn) run() {
	err := c.handshake()
	if err == nil {
		err = c.rearm(c.lastRead)
	}
	for err == nil {
		err = c.next()
	}
	c.cancel(ErrConnection) // parked requests answer now
	c.await(func() bool { return c.queue.length == 0 && !c.writing })
	c.end(endingOf(err))
}

// endingOf says what an error of the reading side means.
func endingOf(err error) ending {
	var e *ending
	switch {
	case errors.As(err, &e):
		return *e
	case errors.Is(err, ErrShutdown):
		return ending{ClosedByShutdown, err}
	case errors.Is(err, errIdle):
		return ending{ClosedIdle, err}
	}
	return ending{ClosedByPeer, err}
}

// next takes one request from its first byte to the handler.
func (c *Conn) next() error {
	st, err := c.awaitFrame()
	if err != nil {
		return err
	}
	if err := c.awaitTurn(st.key); err != nil {
		return err
	}
	r, err := c.receive(st)
	if err != nil {
		return err
	}
	c.dispatch(r)
	return nil
}

// dispatch runs the handler. What it answers before it returns is written when the reader has no further request at hand.
func (c *Conn) dispatch(r *Request) {
	c.mu.Lock()
	c.queue.push(r)
	c.serving = r
	c.mu.Unlock()
	c.serve(r)
	c.mu.Lock()
	c.serving = nil
	c.mu.Unlock()
}

func (c *Conn) serve(r *Request) {
	defer r.Contain()
	if r.tooNew {
		c.server.handler.TooNew(r)
	} else {
		c.server.handler.Serve(c.ctx, r)
	}
}

// awaitTurn waits until a request with this key may be started.
func (c *Conn) awaitTurn(key int16) error {
	if err := c.awaitUnmuted(); err != nil {
		return err
	}
	if !c.await(func() bool { return c.ended || c.failed || c.queue.mayStart(key) }) || c.hasFailed() {
		return ErrConnection
	}
	return nil
}

func (c *Conn) hasFailed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed
}

// await waits until ok, which is asked with mu held, and writes meanwhile what is ready. It returns whether the
// connection has not ended.
func (c *Conn) await(ok func() bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !ok() {
		if c.queue.ready() && !c.writing {
			c.writing = true
			c.mu.Unlock()
			c.writeReady()
			c.mu.Lock()
			continue
		}
		c.readerWaits = true
		c.changed.Wait()
		c.readerWaits = false
	}
	return !c.ended
}

// awaitUnmuted waits until the throttle time of the last responses is over (KIP-219, T7).
func (c *Conn) awaitUnmuted() error {
	c.mu.Lock()
	until := c.mutedUntil
	c.mutedUntil = time.Time{}
	c.mu.Unlock()
	if until.IsZero() {
		return nil
	}
	c.flush()
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-c.ctx.Done():
		return context.Cause(c.ctx)
	}
}

// finish notes what became of r and sees to it that it is written: by the reader if that is free or has r in its hands,
// else by a writer of the outbox. It is called wherever responses come from, under locks too, and does not wait. It returns
// false, and does nothing, when r was finished before.
func (c *Conn) finish(r *Request, res result) bool {
	res.at = time.Now()
	c.mu.Lock()
	if r.result.outcome != unfinished {
		c.mu.Unlock()
		return false
	}
	r.result = res
	c.failed = c.failed || res.outcome == failed
	c.queue.finished(r)
	c.server.answers.unwritten.Add(res.memory)
	if ms := res.response.ThrottleMs; ms > 0 {
		c.mutedUntil = res.at.Add(time.Duration(ms) * time.Millisecond)
	}
	idle := c.queue.ready() && !c.writing && !c.readerWaits && c.serving != r
	if idle {
		c.writing = true
	}
	c.wakeReader()
	c.mu.Unlock()
	r.ReleaseBody()
	if idle {
		c.server.outbox.put(c)
	}
	if res.memory > 0 {
		c.server.shed()
	}
	return true
}

// wakeReader is called with mu held.
func (c *Conn) wakeReader() {
	if c.readerWaits {
		c.changed.Signal()
	}
}

// end closes the connection; the first reason given is kept. What is still in the queue is dropped as it is finished.
func (c *Conn) end(e ending) {
	if c.markEnded(e) {
		c.cancel(ErrConnection)
		_ = c.net.Close()
	}
}

// abort is end for other goroutines: it does not wait for the peer, as a TLS farewell may.
func (c *Conn) abort(e ending) {
	if !c.markEnded(e) {
		return
	}
	c.cancel(ErrConnection)
	if t, ok := c.net.(interface{ NetConn() net.Conn }); ok {
		_ = t.NetConn().Close()
		return
	}
	_ = c.net.Close()
}

func (c *Conn) markEnded(e ending) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return false
	}
	c.ended, c.ending = true, e
	c.wakeReader()
	return true
}

// evict makes c give up the request memory that it holds for a frame that does not arrive.
func (c *Conn) evict() { c.abort(ending{ClosedSlow, errSlowFrame}) }

var errSlowFrame = errors.New("the rest of a request did not come while others waited for its memory")

// stopReading ends the reader's wait for requests, now and for good.
func (c *Conn) stopReading() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	_ = c.net.SetReadDeadline(time.Unix(1, 0))
}

// rearm moves the read deadline on, or says why the reader must not go on reading.
func (c *Conn) rearm(now time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return ErrShutdown
	}
	active := now
	if c.queue.length == 0 {
		active = c.lastRead
		if c.lastWrite.After(active) {
			active = c.lastWrite
		}
	}
	until := active.Add(c.server.cfg.IdleTimeout)
	if !until.After(now) {
		return errIdle
	}
	return c.net.SetReadDeadline(until)
}

func isTimeout(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }

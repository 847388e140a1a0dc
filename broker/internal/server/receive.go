package server

import (
	"fmt"
	"time"
)

// Memory for a frame that is not here yet is taken in steps: little at first, so that announcing a large frame costs its
// sender as much as it costs us; then growing fast, so that an honest large frame is copied once or twice at most, and
// little of it.
const (
	stepFirst  = 64 << 10
	stepFactor = 16
	// reserveShare is which part of the request memory is only for frames that are here.
	reserveShare = 4
	// stepProgress is how much of a frame must come for its sender not to count as stalled.
	stepProgress = 64 << 10
)

// invalid is the ending for bytes that are no request we take.
func invalid(format string, args ...any) error {
	return &ending{ClosedInvalid, fmt.Errorf(format, args...)}
}

// awaitFrame waits for the first bytes of a frame and judges by them whether it is to be received.
func (c *Conn) awaitFrame() (start, error) {
	if !c.in.holdsFrame() {
		c.flush()
	}
	b, err := c.peek(sizeField)
	if err != nil {
		return start{}, err
	}
	if size := parseSize(b); size < headerMin || size > c.server.cfg.MaxRequestBytes {
		return start{}, invalid("a frame of %d bytes%s, where %d to %d are taken", size, hint(b), headerMin, c.server.cfg.MaxRequestBytes)
	}
	if b, err = c.peek(frameStart); err != nil {
		return start{}, err
	}
	st := parseStart(b)
	st.tooNew = !c.server.handler.Supports(st.key, st.version)
	if st.tooNew && st.key != keyApiVersions {
		return start{}, invalid("request %d version %d, which is not served", st.key, st.version)
	}
	return c.limited(st)
}

// limited holds a frame to the limits of its kind.
func (c *Conn) limited(st start) (start, error) {
	limits := c.server.handler.Limits(st.key)
	if limits.MaxBytes > 0 && st.size > limits.MaxBytes {
		return start{}, invalid("request %d version %d of %d bytes, where at most %d are taken", st.key, st.version, st.size, limits.MaxBytes)
	}
	st.spread = max(limits.Spread, 1)
	return st, nil
}

// hint names what else the first bytes of a connection may be.
func hint(b []byte) string {
	switch string(b[:sizeField]) {
	case "GET ", "HEAD", "POST", "PUT ":
		return " (HTTP?)"
	}
	if b[0] == 0x16 && b[1] == 3 {
		return " (TLS on a plain listener?)"
	}
	return ""
}

// peek is input.peek with the idle timeout.
func (c *Conn) peek(n int) ([]byte, error) {
	for {
		b, err := c.in.peek(n)
		if err == nil || !isTimeout(err) {
			return b, err
		}
		if err := c.rearm(time.Now()); err != nil {
			return nil, err
		}
	}
}

// read reads what is not buffered straight to where it belongs.
func (c *Conn) read(p []byte) (int, error) {
	for {
		n, err := c.net.Read(p)
		now := time.Now()
		if n > 0 {
			c.lastRead = now
			return n, nil
		}
		if isTimeout(err) {
			err = c.rearm(now)
		}
		if err != nil {
			return 0, err
		}
	}
}

// receive reads the frame that st announced and makes a request of it.
func (c *Conn) receive(st start) (*Request, error) {
	r := &Request{Key: st.key, Version: st.version, tooNew: st.tooNew, Conn: c, frameBytes: sizeField + st.size}
	r.lease.owner = c
	frame, err := c.receiveFrame(r, int(st.size))
	if err == nil {
		err = r.parse(frame)
	}
	if err == nil {
		err = c.spread(r, st.spread)
	}
	if err != nil {
		c.server.budget.release(&r.lease)
		c.server.pools.put(r.frame.Swap(nil))
		return nil, err
	}
	c.lastRead = time.Now()
	r.Received = c.lastRead
	return r, nil
}

// receiveFrame reads a frame of size bytes into memory of the budget.
func (c *Conn) receiveFrame(r *Request, size int) ([]byte, error) {
	var sizeBytes [sizeField]byte
	c.in.take(sizeBytes[:])
	here := len(c.in.buffered())
	if err := c.grow(r, 0, min(size, max(here, stepFirst))); err != nil {
		return nil, err
	}
	b := r.frame.Load().b
	n := c.in.take(b[:min(size, len(b))])
	if n < size {
		if err := c.receiveRest(r, n, size); err != nil {
			return nil, err
		}
	}
	return r.frame.Load().b[:size:size], nil
}

// receiveRest reads the frame on from its byte n, which has yet to come from the socket.
func (c *Conn) receiveRest(r *Request, n, size int) error {
	budget := c.server.budget
	budget.progress(&r.lease, time.Now())
	noted := n
	for n < size {
		b := r.frame.Load().b
		if n == len(b) {
			if err := c.grow(r, n, min(size, n*stepFactor)); err != nil {
				return err
			}
			b = r.frame.Load().b
		}
		m, err := c.read(b[n:min(size, len(b))])
		if err != nil {
			return err
		}
		n += m
		if n-noted >= stepProgress {
			noted = n
			budget.progress(&r.lease, c.lastRead)
		}
	}
	budget.filled(&r.lease)
	return nil
}

// grow gives r a block of size bytes at least, with the n bytes that it has.
func (c *Conn) grow(r *Request, n, size int) error {
	old := r.frame.Load()
	size, err := c.makeRoom(r, old, n, size)
	if err != nil {
		return err
	}
	grown := c.server.pools.get(size)
	if old != nil {
		copy(grown.b, old.b)
		c.server.budget.progress(&r.lease, time.Now()) // waiting has taken it off the list
	}
	r.frame.Store(grown)
	c.server.pools.put(old)
	return nil
}

// makeRoom takes memory for a block of size bytes in place of old, which may be nil, and returns its size: a whole frame
// when memory is short and all of it is here.
func (c *Conn) makeRoom(r *Request, old *block, n, size int) (int, error) {
	more := func(size int) int64 {
		_, blockSize := sizeClass(size)
		if old != nil {
			blockSize -= len(old.b)
		}
		return int64(blockSize)
	}
	budget := c.server.budget
	if budget.tryTake(&r.lease, more(size)) {
		return size, nil
	}
	c.flush()
	whole := int(r.frameBytes - sizeField)
	here := n+c.in.here() >= whole
	if here {
		size = whole
	}
	return size, budget.take(c.ctx, &r.lease, more(size), here)
}

// spread takes memory for what a frame that has arrived will become. While it was on its way it was no more than it is.
func (c *Conn) spread(r *Request, times int64) error {
	more := int64(len(r.frame.Load().b)) * (times - 1)
	budget := c.server.budget
	if more == 0 || budget.tryTake(&r.lease, more) {
		return nil
	}
	c.flush()
	return budget.take(c.ctx, &r.lease, more, true)
}

// parse reads the request header. Of an ApiVersions version from the future only what is needed for an answer is
// required to make sense (T1).
func (r *Request) parse(frame []byte) error {
	flexible := !r.tooNew && r.Conn.server.handler.Flexible(r.Key, r.Version)
	h, body, err := parseHeader(frame, flexible)
	if err != nil && !r.tooNew {
		return invalid("request %d version %d: %w", r.Key, r.Version, err)
	}
	r.CorrelationID = h.correlation
	r.Body = body
	r.flexible = flexible && r.Key != keyApiVersions // T2
	r.setClientID(h.clientID)
	return nil
}

func (r *Request) setClientID(id []byte) {
	if id == nil {
		return
	}
	c := r.Conn
	if c.clientID != string(id) {
		c.clientID = string(id)
	}
	r.ClientID, r.HasClientID = c.clientID, true
}

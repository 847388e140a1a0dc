package server

import (
	"fmt"
	"time"
)

// flush writes what is ready, unless somebody is writing already.
func (c *Conn) flush() {
	c.mu.Lock()
	write := c.queue.ready() && !c.writing
	if write {
		c.writing = true
	}
	c.mu.Unlock()
	if write {
		c.writeReady()
	}
}

// writeReady writes until nothing is ready any more. The caller has set writing; it is cleared at the end.
func (c *Conn) writeReady() { c.writeReadyTo(c.server.takeOutput(c)) }

func (c *Conn) writeReadyTo(out *output) {
	for c.takeBatch(out) {
		c.writeBatch(out)
	}
	c.server.putOutput(out)
}

// takeBatch ends the batch in out and fetches the next one.
func (c *Conn) takeBatch(out *output) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(out.batch) > 0 {
		c.server.answers.unwritten.Add(-c.queue.written(out.batch))
		c.lastWrite = out.writtenAt
	}
	c.wroteAt.Store(0)
	clear(out.batch)
	out.batch = c.queue.popReady(out.batch[:0])
	out.dead = c.ended
	if len(out.batch) == 0 {
		c.writing = false
	}
	c.wakeReader()
	return len(out.batch) > 0
}

// writeBatch writes the responses of out's batch, or drops them if the connection has ended.
func (c *Conn) writeBatch(out *output) {
	if out.dead {
		c.written(out, 0, ending{})
		return
	}
	sent, e := out.send()
	c.written(out, sent, e)
}

// written notes what was written of out's batch, and lets go of it. An ending with an error is why it was not all.
func (c *Conn) written(out *output, sent int, e ending) {
	if e.err != nil {
		c.end(e)
	}
	out.writtenAt = time.Now()
	for i, r := range out.batch {
		c.server.requestOver(r, out.writtenAt, i < sent)
		r.drop()
	}
}

// send writes the batch and returns how many of its requests were written, and why it stopped short.
func (o *output) send() (sent int, e ending) {
	for i, r := range o.batch {
		if r.result.outcome == failed {
			if err := o.flush(); err != nil {
				return 0, writeEnding(err)
			}
			return i, ending{ClosedFailed, fmt.Errorf("request %d version %d: %w", r.Key, r.Version, r.result.err)}
		}
		if err := o.response(r); err != nil {
			return 0, writeEnding(err)
		}
	}
	if err := o.flush(); err != nil {
		return 0, writeEnding(err)
	}
	return len(o.batch), ending{}
}

// response adds r's response to the output; some of it may have been written when it returns.
func (o *output) response(r *Request) error {
	if r.result.outcome != replied {
		return nil
	}
	resp := &r.result.response
	header := responseHeaderSize(r.flexible)
	o.add(appendResponseHeader(r.head[:0], r.CorrelationID, r.flexible, r.result.size-sizeField-header))
	if err := o.bytes(resp.Body); err != nil {
		return err
	}
	for i := range resp.Chunks {
		if err := o.chunk(&resp.Chunks[i]); err != nil {
			return err
		}
	}
	return nil
}

func (o *output) chunk(c *Chunk) error {
	if err := o.bytes(c.Bytes); err != nil {
		return err
	}
	if c.File.Len == 0 {
		return nil
	}
	return o.file(c.File)
}

func writeEnding(err error) ending {
	switch {
	case isTimeout(err):
		return ending{ClosedSlow, fmt.Errorf("the peer does not read its responses: %w", err)}
	case isFileError(err):
		return ending{ClosedFailed, err}
	}
	return ending{ClosedByPeer, err}
}

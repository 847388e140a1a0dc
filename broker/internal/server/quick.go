package server

// quickMax is up to how many bytes of responses are copied into one piece: that costs less than a call with several pieces
// does, and can be tried without waiting.
const quickMax = 8 << 10

// writeQuick is writeReady for those who must not wait: as soon as the peer would have to be waited for, or there is much to
// write, it goes on on a goroutine of its own.
func (c *Conn) writeQuick() {
	out := c.server.takeOutput(c)
	for c.takeBatch(out) {
		if out.dead {
			c.written(out, 0, ending{})
			continue
		}
		if out.raw == nil || !out.isQuick() {
			go c.writeOn(out, false)
			return
		}
		all, err := out.sendQuick()
		if err == nil && !all {
			go c.writeOn(out, true)
			return
		}
		c.writtenOrEnded(out, err)
	}
	c.server.putOutput(out)
}

// writeOn goes on with the batch in out, part of which may be gathered, and with what is ready behind it.
func (c *Conn) writeOn(out *output, gathered bool) {
	if gathered {
		c.writtenOrEnded(out, out.flush())
	} else {
		c.writeBatch(out)
	}
	c.writeReadyTo(out)
}

// writtenOrEnded notes that all of the batch was sent, or why it was not.
func (c *Conn) writtenOrEnded(out *output, err error) {
	if err != nil {
		c.written(out, 0, writeEnding(err))
		return
	}
	c.written(out, len(out.batch), ending{})
}

// isQuick tells whether the batch is nothing but a few bytes.
func (o *output) isQuick() bool {
	size := int64(0)
	for _, r := range o.batch {
		if r.result.outcome == failed || r.result.size-r.result.memory > headMax {
			return false // it ends the connection, or has files
		}
		size += r.result.size
	}
	return size <= quickMax
}

// sendQuick sends the batch as far as the socket takes it at once. What it does not take stays gathered.
func (o *output) sendQuick() (all bool, err error) {
	for _, r := range o.batch {
		if err := o.response(r); err != nil {
			return false, err
		}
	}
	if o.gathered == 0 {
		return true, nil
	}
	o.armDeadline()
	joined := o.join()
	n, err := o.quick.to(o.raw, joined.b[:o.gathered])
	rest := joined.b[n:o.gathered]
	o.reset()
	if err != nil || len(rest) == 0 {
		o.pools.put(joined)
		return err == nil, err
	}
	o.blocks = append(o.blocks, joined)
	o.add(rest)
	return false, nil
}

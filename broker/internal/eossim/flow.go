package eossim

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// flow sends requests one behind the other, without waiting for answers, as producers do that have several in flight. The answers
// that do not come are nil. The error is errDead. There may be no more requests than a link has room for answers.
func (c *client) flow(reqs []kmsg.Request, version int16, about []string, code func(kmsg.Response) int16) ([]kmsg.Response, error) {
	steps, resps := make([]step, len(reqs)), make([]kmsg.Response, len(reqs))
	for i, req := range reqs {
		req.SetVersion(version)
		steps[i] = step{sent: c.w.now(), key: req.Key(), version: version, about: about[i], err: errLost}
	}
	if c.dead() {
		c.drop()
		return resps, errDead
	}
	written, last := c.pour(reqs, steps)
	if last != arrives {
		written--
	}
	on := &c.links[forRecords]
	for i := 0; i < written && *on != nil; i++ {
		body, heard := (*on).wait()
		if !heard {
			drop(on)
			break
		}
		resp, err := parse(reqs[i], body)
		if resps[i], steps[i].err = resp, err; err == nil {
			steps[i].code = code(resp)
		}
	}
	if last != arrives {
		drop(on)
	}
	time.Sleep(spread(c.dice, c.w.plan.delay))
	for i := range steps {
		steps[i].got = c.w.now()
		c.trace.add(steps[i])
	}
	if c.dead() {
		c.drop()
		return resps, errDead
	}
	return resps, nil
}

// pour writes requests until the connection breaks, and says how many have come through, and how the last one ended.
func (c *client) pour(reqs []kmsg.Request, steps []step) (written int, last fateOf) {
	on := &c.links[forRecords]
	if *on == nil || (*on).line.cut.Load() {
		drop(on)
		if *on = c.dial(); *on == nil {
			return 0, arrives
		}
	}
	for i, req := range reqs {
		time.Sleep(spread(c.dice, c.w.plan.delay))
		f := c.fate()
		if steps[i].fate = f; f == loses || f == lags {
			drop(on)
			return written, arrives
		}
		c.correlation++
		if !(*on).write(kmsg.NewRequestFormatter(kmsg.FormatterClientID(c.name)).AppendRequest(nil, req, c.correlation)) {
			drop(on)
			return written, arrives
		}
		c.sent()
		if written++; f == breaks {
			drop(on)
		}
		if f != arrives {
			return written, f
		}
	}
	return written, arrives
}

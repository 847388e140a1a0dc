package simulation

import (
	"fmt"
	"strings"
	"time"
)

// Clock is the time of a run and what will happen in it.
type Clock struct {
	Start, Now time.Time
	events     queue
	tracing    bool
	trace      strings.Builder
}

// NewClock begins a run. Tracing has what is said written down, which takes a while.
func NewClock(tracing bool) *Clock {
	start := time.Unix(1_700_000_000, 0)
	return &Clock{Start: start, Now: start, tracing: tracing}
}

// At has something done at a moment, in order of moments and then of calls.
func (c *Clock) At(t time.Time, do func()) { c.events.push(t.Sub(c.Start), do) }

// After is At, so much later than now.
func (c *Clock) After(d time.Duration, do func()) { c.At(c.Now.Add(d), do) }

// Next goes on to the next thing that happens, and does it; false is that nothing will.
func (c *Clock) Next() bool {
	if len(c.events.heap) == 0 {
		return false
	}
	e := c.events.pop()
	c.Now = c.Start.Add(e.at)
	e.do()
	return true
}

// Tracing says whether what is said is written down: if not, nobody need make words.
func (c *Clock) Tracing() bool { return c.tracing }

// Say writes into the trace.
func (c *Clock) Say(format string, args ...any) {
	if c.tracing {
		fmt.Fprintf(&c.trace, "%9.3fs ", c.Now.Sub(c.Start).Seconds())
		fmt.Fprintf(&c.trace, format+"\n", args...)
	}
}

// Trace is all that was said.
func (c *Clock) Trace() string { return c.trace.String() }

// Later is the later of two moments.
func Later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

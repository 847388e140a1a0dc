package consumer

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/skeinstream/skein/consumer/internal/membership"
)

// desk is where the driver leaves what the user's next Poll has to take: callbacks to run and errors to return.
type desk struct {
	mu    sync.Mutex
	call  *call
	errs  []error
	fatal error // returned by every Poll from now on
	// deadline is that of the callback which waits or runs; zero without one.
	deadline time.Time

	rung   bool
	tapped int                // how many wait for the tap: a Poll that has it does not wait
	awaken context.CancelFunc // of the Poll that waits
}

// call is a callback that the group waits for.
type call struct {
	membership.Call
	generation int32
	deadline   time.Time
	// over ends when the group has gone on without the member.
	over context.Context
	end  context.CancelCauseFunc
}

// ring has a Poll that waits look at the desk, and the next one, too.
func (d *desk) ring() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rung = true
	if d.awaken != nil {
		d.awaken()
	}
}

// tap has a Poll that waits let go of the tap, n at a time.
func (d *desk) tap(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tapped += n
	if n > 0 && d.awaken != nil {
		d.awaken()
	}
}

// quiet begins a look at the desk: what comes from now on rings again.
func (d *desk) quiet() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rung = false
}

// arm returns a context that ends when the desk rings, or has since quiet.
func (d *desk) arm(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.awaken = cancel
	if d.rung || d.tapped > 0 {
		cancel()
	}
	return ctx, func() {
		d.mu.Lock()
		d.awaken = nil
		d.mu.Unlock()
		cancel()
	}
}

func (d *desk) leave(c *call) {
	d.mu.Lock()
	d.call, d.deadline = c, c.deadline
	d.mu.Unlock()
	d.ring()
}

// fail leaves an error. One that waits already is not told twice: who does not poll for a while is not to poll through all of them.
func (d *desk) fail(err error, fatal bool) {
	if err == nil {
		return
	}
	d.mu.Lock()
	if fatal {
		d.fatal = err
	} else if !slices.ContainsFunc(d.errs, func(e error) bool { return e.Error() == err.Error() }) {
		d.errs = append(d.errs, err)
	}
	d.mu.Unlock()
	d.ring()
}

// pending is the callback that waits to be run, if any.
func (d *desk) pending() *call {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.call
}

// ended says that the callback has ended.
func (d *desk) ended() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.deadline = time.Time{}
}

// take clears the callback, which begins.
func (d *desk) take() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.call = nil
}

// err is what Poll has to return.
func (d *desk) err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.errs) > 0 {
		err := d.errs[0]
		d.errs = d.errs[1:]
		return err
	}
	return d.fatal
}

package main

import (
	"context"
	"time"

	"github.com/skeinstream/skein/bench/internal/machine"
)

// A number that was taken while somebody else used the machine says nothing.
// So before each phase the program waits until nobody does, and runs the phase
// again when somebody came meanwhile; in the end it takes what it gets.
const (
	quietShare = 0.10 // of all processors, for others
	quietLook  = 500 * time.Millisecond
	quietTries = 5
)

// awaitQuiet waits until others leave the machine alone, or patience ends.
func (c *comparison) awaitQuiet(ctx context.Context, broker machine.Process) {
	if c.options.plan.noisy {
		return
	}
	for until, said := time.Now().Add(c.options.patience), false; time.Now().Before(until) && ctx.Err() == nil; said = true {
		others, err := c.look(ctx, broker)
		if err != nil || others < quietShare {
			return
		}
		if !said {
			c.say("  waiting: others use %.0f%% of the machine", 100*others)
		}
	}
}

// look is what others use just now.
func (c *comparison) look(ctx context.Context, broker machine.Process) (float64, error) {
	w, err := machine.NewWatch(broker)
	if err != nil {
		return 0, err
	}
	timer := time.NewTimer(quietLook)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return w.Others()
}

// undisturbed runs attempt until nobody disturbs it, a few times at most.
func (c *comparison) undisturbed(ctx context.Context, broker machine.Process, attempt func(try int) error) error {
	for try := 1; ; try++ {
		c.awaitQuiet(ctx, broker)
		w, err := machine.NewWatch(broker)
		if err != nil {
			return err
		}
		if err := attempt(try); err != nil {
			return err
		}
		others, err := w.Others()
		if err != nil || others < quietShare || c.options.plan.noisy {
			return err
		}
		c.say("  disturbed: others used %.0f%% of the machine", 100*others)
		if try == quietTries {
			c.disturbed++
			return nil
		}
	}
}

// Package quiet keeps measurements apart from whoever else uses the machine. A
// number that was taken while somebody did says nothing. So before each phase a
// program waits until nobody does, and runs the phase again when somebody came
// meanwhile; in the end it takes what it gets.
package quiet

import (
	"context"
	"time"

	"github.com/skeinstream/skein/bench/internal/machine"
)

const (
	share = 0.10 // of all processors, for others
	looks = 500 * time.Millisecond
	tries = 5
)

// Keeper waits for quiet moments. It is for one goroutine.
type Keeper struct {
	Patience  time.Duration // with others who use the machine, before each attempt
	Noisy     bool          // never mind who else uses it
	Say       func(format string, args ...any)
	Disturbed int // attempts that others disturbed, to the last try
}

// Await waits until others than this program and broker, which may be 0, leave
// the machine alone, or patience ends.
func (k *Keeper) Await(ctx context.Context, broker machine.Process) {
	if k.Noisy {
		return
	}
	for until, said := time.Now().Add(k.Patience), false; time.Now().Before(until) && ctx.Err() == nil; said = true {
		others, err := look(ctx, broker)
		if err != nil || others < share {
			return
		}
		if !said {
			k.Say("  waiting: others use %.0f%% of the machine", 100*others)
		}
	}
}

// look is what others use just now.
func look(ctx context.Context, broker machine.Process) (float64, error) {
	w, err := machine.NewWatch(broker)
	if err != nil {
		return 0, err
	}
	timer := time.NewTimer(looks)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return w.Others()
}

// Undisturbed runs attempt until nobody disturbs it, a few times at most; try
// counts from 1. Processes that an attempt starts have to end within it, else
// they are others.
func (k *Keeper) Undisturbed(ctx context.Context, broker machine.Process, attempt func(try int) error) error {
	for try := 1; ; try++ {
		k.Await(ctx, broker)
		w, err := machine.NewWatch(broker)
		if err != nil {
			return err
		}
		if err := attempt(try); err != nil {
			return err
		}
		others, err := w.Others()
		if err != nil || others < share || k.Noisy {
			return err
		}
		k.Say("  disturbed: others used %.0f%% of the machine", 100*others)
		if try == tries {
			k.Disturbed++
			return nil
		}
	}
}

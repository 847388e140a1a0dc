//go:build synctests

package main

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/skeinstream/skein/examples/internal/rehearsal"
	"github.com/skeinstream/skein/examples/internal/stage"
	"github.com/skeinstream/skein/producer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestOrdersAreThereOnceWhateverHappens is R-F22: the relay dies between any two requests, and is not heard for longer than its transaction may take.
func TestOrdersAreThereOnceWhateverHappens(t *testing.T) {
	for i, script := range []rehearsal.Script{
		{Kinds: []rehearsal.Fault{rehearsal.Crash}},
		{Kinds: []rehearsal.Fault{rehearsal.Absence}},
		{Kinds: []rehearsal.Fault{rehearsal.Crash, rehearsal.Absence, rehearsal.End}},
	} {
		script.Fuse = 40
		script.Seed, script.Faults = uint64(i), 8
		if faults := rehearsal.Run(t, shop(2*time.Minute, 1500), script); faults < 2 {
			t.Errorf("%v: only %d faults", script, faults)
		}
	}
}

// TestARelayTakesOverFromOneThatRuns: each has to begin where the last one was stopped, and that one has to notice.
func TestARelayTakesOverFromOneThatRuns(t *testing.T) {
	play := shop(time.Minute, 1000)
	play.Work = func(ctx context.Context, at stage.Place, _ string) error {
		var relays sync.WaitGroup
		var fenced atomic.Int32
		defer func() {
			if fenced.Load() < 20 {
				t.Errorf("only %d relays have noticed that another one has taken over", fenced.Load())
			}
		}()
		defer relays.Wait()
		for n := 0; ctx.Err() == nil; n++ {
			relays.Go(func() {
				switch err := work(ctx, at.Cluster, outbox(at)); {
				case errors.Is(err, producer.ErrFenced):
					fenced.Add(1)
				case err != nil:
					t.Errorf("relay %d has ended with %v", n, err)
				}
			})
			_ = stage.Wait(ctx, 1700*time.Millisecond)
		}
		return nil
	}
	rehearsal.Run(t, play, rehearsal.Script{})
}

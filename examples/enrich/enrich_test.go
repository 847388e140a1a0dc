//go:build synctests

package main

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/skeinstream/skein/examples/internal/rehearsal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestPaymentsAreThereOnceWhateverHappens is R-F22, with payments among them that cannot be joined.
func TestPaymentsAreThereOnceWhateverHappens(t *testing.T) {
	for i, script := range []rehearsal.Script{
		{Kinds: []rehearsal.Fault{rehearsal.Crash, rehearsal.Absence}},
		{Kinds: []rehearsal.Fault{rehearsal.Crash, rehearsal.Absence, rehearsal.End}, Nameless: true},
	} {
		script.Seed, script.Faults = uint64(i), 10
		if faults := rehearsal.Run(t, bank(time.Minute, 4500), script); faults < 2 {
			t.Errorf("%v: only %d faults", script, faults)
		}
	}
}

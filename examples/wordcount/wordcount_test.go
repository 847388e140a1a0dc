//go:build synctests

package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/skeinstream/skein/examples/internal/rehearsal"
)

// asProgram has the test's own binary be the program.
const asProgram = "SKEIN_EXAMPLE_IS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	goleak.VerifyTestMain(m)
}

// TestCountsAreRightWhateverHappens is R-F22: workers die between any two requests of theirs, and come back, with their names or without; others are
// not heard for so long that they are taken for dead, and go on; and some come and go in peace, so that partitions move.
func TestCountsAreRightWhateverHappens(t *testing.T) {
	for i, script := range []rehearsal.Script{
		{Kinds: []rehearsal.Fault{rehearsal.Crash}},
		{Kinds: []rehearsal.Fault{rehearsal.Absence}},
		{Kinds: []rehearsal.Fault{rehearsal.End}, Steady: true, Nameless: true},
		{Kinds: []rehearsal.Fault{rehearsal.Crash, rehearsal.Absence, rehearsal.End}, Nameless: true},
	} {
		script.Seed, script.Faults = uint64(i), 10
		if faults := rehearsal.Run(t, opticks(time.Minute, 400), script); faults < 2 {
			t.Errorf("%v: only %d faults", script, faults)
		}
	}
}

// TestTheProgram runs it as one does by hand, kill -9 included.
func TestTheProgram(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-kills", "3")
	cmd.Env = append(os.Environ(), asProgram+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Count(string(out), "was killed with kill -9") != 3 || !strings.Contains(string(out), "every count is right") {
		t.Errorf("%v\n%s", err, out)
	}
}

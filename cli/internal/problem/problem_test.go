package problem

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

func TestExitCodeTellsUsageFailureAndInterrupt(t *testing.T) {
	cause := errors.New("disk on fire")
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{cause, 1},
		{New("put it out", "cannot write: %w", cause), 1},
		{fmt.Errorf("reading: %w", Usage("", "wrong flag")), 2},
		{fmt.Errorf("consuming: %w", context.Canceled), 130},
		{context.DeadlineExceeded, 1},
	} {
		if got := ExitCode(c.err); got != c.want {
			t.Errorf("ExitCode(%v) = %d, want %d", c.err, got, c.want)
		}
	}
}

func TestErrorKeepsItsCauseAndHint(t *testing.T) {
	cause := errors.New("disk on fire")
	err := fmt.Errorf("producing: %w", New("put it out", "cannot write: %w", cause))
	if !errors.Is(err, cause) {
		t.Error("the cause is lost")
	}
	if got := Hint(err); got != "put it out" {
		t.Errorf("hint = %q", got)
	}
	if got := err.Error(); got != "producing: cannot write: disk on fire" {
		t.Errorf("text = %q", got)
	}
}

package problem

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

func TestNearestNamesTheLikelySlip(t *testing.T) {
	names := []string{"retention.ms", "retention.bytes", "cleanup.policy", "segment.ms", "orders"}
	for _, c := range []struct{ name, want string }{
		{"retention.msec", "retention.ms"},
		{"Retention.MS", "retention.ms"},
		{"cleanup.polcy", "cleanup.policy"},
		{"clenaup.policy", "cleanup.policy"},
		{"order", "orders"},
		{"policy", "cleanup.policy"},
		{"entirely.different", ""},
		{"", ""},
	} {
		if got := Nearest(c.name, names); got != c.want {
			t.Errorf("Nearest(%q) = %q, want %q", c.name, got, c.want)
		}
	}
}

func TestDistanceCountsASwapOnce(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"abc", "", 3}, {"", "ab", 2}, {"abc", "acb", 1}, {"kitten", "sitting", 3}} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

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

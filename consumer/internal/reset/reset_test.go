package reset

import (
	"testing"
	"time"
)

func TestTimestamps(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_000)
	for policy, want := range map[Policy]int64{
		Latest: End, Earliest: Start, ByDuration(time.Hour): 1_700_000_000_000 - 3_600_000, ByDuration(0): 1_700_000_000_000 - 1,
	} {
		if got := policy.Timestamp(now); got != want {
			t.Errorf("policy %d asks for %d, want %d", policy, got, want)
		}
		if err := policy.Check(); err != nil {
			t.Error(err)
		}
	}
	if Policy(-3).Check() == nil {
		t.Error("a policy that is none was taken")
	}
}

// FR-F8, FR-F9: what is below the start is skipped whatever the policy, but none; what is within was a passing error.
func TestOutOfRange(t *testing.T) {
	for _, c := range []struct {
		policy   Policy
		position int64
		want     Verdict
	}{
		{Latest, 49, Skip}, {Latest, 50, Stay}, {Latest, 100, Stay}, {Latest, 101, Apply},
		{Earliest, 0, Skip}, {Earliest, 101, Apply},
		{None, 49, Ask}, {None, 101, Ask}, {None, 77, Stay},
		{ByDuration(time.Hour), 49, Skip}, {ByDuration(time.Hour), 101, Apply},
	} {
		if got := c.policy.OutOfRange(c.position, 50, 100); got != c.want {
			t.Errorf("policy %d at %d: %d, want %d", c.policy, c.position, got, c.want)
		}
	}
}

package nearest

import (
	"strings"
	"testing"
)

func TestNameFindsTheLikelySlip(t *testing.T) {
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
		{strings.Repeat("retention.ms", 1<<18), ""}, // at once
	} {
		if got := Name(c.name, names); got != c.want {
			t.Errorf("Name(%q) = %q, want %q", c.name, got, c.want)
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

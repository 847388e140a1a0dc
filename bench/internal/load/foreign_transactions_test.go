package load

import (
	"testing"
	"time"
)

func TestCommittedIsRead(t *testing.T) {
	got, err := parseCommitted("WARN something\ntook 2000000000\ncommits 1000000 3000000 2000000\n")
	if err != nil || got.Groups != 3 || got.Rate() != 1.5 || got.Commit.P50 != 2*time.Millisecond {
		t.Errorf("%+v, %v", got, err)
	}
	for _, out := range []string{"", "took 5\ncommits\n", "commits 1 2\n", "took x\n"} {
		if got, err := parseCommitted(out); err == nil {
			t.Errorf("%q: %+v", out, got)
		}
	}
}

package groups

import "testing"

func at(n int64) *int64 { return &n }

// TestLagIsWorkThatCanBeDone: FR-C18, with its numbers.
func TestLagIsWorkThatCanBeDone(t *testing.T) {
	for _, c := range []struct {
		name         string
		committed    int64
		ends         ends
		level        Isolation
		lag, blocked int64
	}{
		{"in the middle", 90, ends{0, 100, 100}, ReadCommitted, 10, 0},
		{"retention has deleted everything", 0, ends{22, 22, 22}, ReadCommitted, 0, 0},
		{"retention has deleted some", 3, ends{20, 30, 30}, ReadUncommitted, 10, 0},
		{"an open transaction", 200, ends{0, 1663, 200}, ReadCommitted, 0, 1463},
		{"the same for who reads everything", 200, ends{0, 1663, 200}, ReadUncommitted, 1463, 0},
		{"before an open transaction", 150, ends{0, 1663, 200}, ReadCommitted, 50, 1463},
		{"behind the last stable offset", 300, ends{0, 1663, 200}, ReadCommitted, 0, 1363},
		{"behind the end, after unclean loss", 500, ends{0, 100, 100}, ReadUncommitted, 0, 0},
		{"stable was asked for later", 100, ends{0, 100, 120}, ReadCommitted, 0, 0},
		{"an empty log", 0, ends{}, ReadCommitted, 0, 0},
	} {
		p := Position{Committed: &c.committed}
		p.measure(c.ends, c.level)
		if *p.Lag != c.lag || p.Blocked != c.blocked || *p.Start != c.ends.start {
			t.Errorf("%s: lag %d, blocked %d; want %d, %d", c.name, *p.Lag, p.Blocked, c.lag, c.blocked)
		}
	}
}

func TestNothingCommittedIsNoLag(t *testing.T) {
	var p Position
	p.measure(ends{5, 9, 9}, ReadCommitted)
	if p.Lag != nil || *p.End != 9 || *p.Start != 5 {
		t.Errorf("%+v", p)
	}
}

func TestTotalsTellWhatTheyLeaveOut(t *testing.T) {
	got := Sum([]Position{
		{End: at(10), Lag: at(4), Blocked: 2}, {End: at(10), Lag: at(1)}, {End: at(10)}, {Committed: at(3), Error: "the topic does not exist"},
	})
	if want := (Total{Lag: 5, Blocked: 2, Uncommitted: 1, Unknown: 1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestLevelsAreReadAsConsumersWriteThem(t *testing.T) {
	for text, want := range map[string]Isolation{"read_committed": ReadCommitted, "read-uncommitted": ReadUncommitted} {
		if got, ok := ParseIsolation(text); !ok || got != want {
			t.Errorf("%s: %s, %v", text, got, ok)
		}
	}
	if _, ok := ParseIsolation("dirty"); ok {
		t.Error("dirty is a level")
	}
}

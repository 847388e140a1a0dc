package group

import (
	"math"
	"testing"
	"time"
)

// After the last generation comes the first, with members and without: clients would take the one that follows in 32 bits for
// none at all.
func TestGenerationsBeginAnew(t *testing.T) {
	l := newLone()
	tick := func(d time.Duration) {
		l.now = l.now.Add(d)
		for _, r := range l.m.Tick(l.now).Records {
			l.m.Apply(r)
		}
	}
	join := func() {
		if code, _ := l.join(t, joinOf(3, "", nil)); code != 0 {
			t.Fatalf("joining: %d", code)
		}
		tick(time.Minute / 2)
	}
	expectGeneration := func(state State, want int32) {
		t.Helper()
		if g := l.m.group("g"); g.state != state || g.generation != want {
			t.Errorf("%v in generation %d, want %v in %d", g.state, g.generation, state, want)
		}
	}
	join()
	expectGeneration(CompletingRebalance, 1)
	l.m.group("g").generation = math.MaxInt32
	tick(time.Hour) // the member is gone
	expectGeneration(Empty, 1)
	l.m.group("g").generation = math.MaxInt32
	join()
	expectGeneration(CompletingRebalance, 1)
}

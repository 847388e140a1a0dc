package membership

import (
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// pauses answers so many heartbeats and returns how long the member waited before each.
func (l *life) pauses(n int) (all []time.Duration) {
	for range n {
		before := l.now
		for l.log = nil; len(l.log) == 0; {
			l.now = l.wake
			l.note(l.m.Tick(l.now))
		}
		all = append(all, l.now.Sub(before))
		l.hears(nil)
	}
	return all
}

// A round that takes partitions away is followed by another one, which members hear of by a heartbeat: it must not be a whole
// interval away. Where nothing follows, the interval is what it is told to be after a while.
func TestHeartbeatsAreCloseAfterARound(t *testing.T) {
	want := []time.Duration{10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3000, 3000}
	for i := range want {
		want[i] *= time.Millisecond
	}
	l := newLife(t, Config{FirstHeartbeat: 10 * time.Millisecond}).settles(cs, "t-0")
	if got := l.pauses(len(want)); !slices.Equal(got, want) {
		t.Errorf("pauses %v, want %v", got, want)
	}
	l.passes(3*time.Second).hears(kerr.RebalanceInProgress).joins(2, cs).isGiven("t-0").ends()
	if got := l.pauses(2); !slices.Equal(got, want[:2]) {
		t.Errorf("in the next generation pauses %v, want %v", got, want[:2])
	}
}

func TestHeartbeatsAreNoFurtherApartThanTheyAreToldToBe(t *testing.T) {
	l := newLife(t, Config{HeartbeatInterval: 5 * time.Millisecond, FirstHeartbeat: 10 * time.Millisecond}).settles(cs, "t-0")
	if got, want := l.pauses(2), []time.Duration{5 * time.Millisecond, 5 * time.Millisecond}; !slices.Equal(got, want) {
		t.Errorf("pauses %v, want %v", got, want)
	}
}

package figures

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func TestWhatIsOldCountsInTotalsAlone(t *testing.T) {
	var f Figure
	if s := f.Snapshot(noon); s != (Snapshot{}) {
		t.Errorf("nothing was recorded: %+v", s)
	}
	f.Record(noon, 10*time.Millisecond)
	f.Record(noon.Add(time.Second), 30*time.Millisecond)
	s := f.Snapshot(noon.Add(2 * time.Second))
	if s.Count != 2 || s.Total != 40*time.Millisecond || s.Avg != 20*time.Millisecond || s.Max != 30*time.Millisecond || !s.Last.Equal(noon.Add(time.Second)) {
		t.Errorf("at first: %+v", s)
	}
	if math.Abs(s.Rate-2.0/30) > 1e-9 {
		t.Errorf("a rate of %v", s.Rate)
	}
	f.Record(noon.Add(40*time.Second), 2*time.Millisecond)
	if s = f.Snapshot(noon.Add(41 * time.Second)); s.Max != 30*time.Millisecond || s.Avg != 14*time.Millisecond || s.Count != 3 {
		t.Errorf("in the second sample: %+v", s)
	}
	if s = f.Snapshot(noon.Add(70 * time.Second)); s.Max != 2*time.Millisecond || s.Avg != 2*time.Millisecond || s.Count != 3 {
		t.Errorf("in the third: %+v", s)
	}
	if s = f.Snapshot(noon.Add(time.Hour)); s.Max != 0 || s.Avg != 0 || s.Rate != 0 || s.Count != 3 || s.Total != 42*time.Millisecond {
		t.Errorf("an hour later: %+v", s)
	}
}

// TestTheWindowIsOfHalfAMinuteToAMinute: whatever is recorded, what is younger than half a minute counts, what is older than a minute does not.
func TestTheWindowIsOfHalfAMinuteToAMinute(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var f Figure
		now := noon
		var at []time.Time
		for range rapid.IntRange(1, 30).Draw(t, "events") {
			now = now.Add(time.Duration(rapid.IntRange(0, 100_000).Draw(t, "ms")) * time.Millisecond)
			f.Record(now, time.Second)
			at = append(at, now)
		}
		now = now.Add(time.Duration(rapid.IntRange(0, 100_000).Draw(t, "then")) * time.Millisecond)
		s := f.Snapshot(now)
		var young, notOld float64
		for _, a := range at {
			if now.Sub(a) < SampleWindow {
				young++
			}
			if now.Sub(a) < 2*SampleWindow {
				notOld++
			}
		}
		if least := young / (2 * SampleWindow).Seconds(); s.Rate < least-1e-9 || s.Rate > notOld/SampleWindow.Seconds()+1e-9 {
			t.Fatalf("a rate of %v, with %v events in half a minute and %v in a whole one", s.Rate, young, notOld)
		}
		if (s.Max > 0) != (s.Rate > 0) || s.Count != int64(len(at)) {
			t.Fatalf("%+v of %d", s, len(at))
		}
	})
}

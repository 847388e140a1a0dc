// Package figures counts and measures as Kafka's clients do, so that a dashboard made for those fits: totals for ever; averages, maxima and rates
// over the last half minute to a minute, in two samples of which the older one is thrown away when the newer is full (metrics.num.samples=2,
// metrics.sample.window.ms=30000).
package figures

import "time"

// SampleWindow is how long a sample is.
const SampleWindow = 30 * time.Second

// Figure is one kind of event, with how long each took. Its zero value has none. Its methods are called by one goroutine at a time.
type Figure struct {
	count        int64
	total        time.Duration
	newer, older sample
	last         time.Time
}

type sample struct {
	began time.Time
	count int64
	total time.Duration
	max   time.Duration
}

// Snapshot is what a Figure says.
type Snapshot struct {
	// Count is how many there were, Total how long all of them took.
	Count int64
	Total time.Duration
	// Avg and Max are of the last half minute to a minute; 0 if there was none.
	Avg, Max time.Duration
	// Rate is how many there were a second, over the same time.
	Rate float64
	// Last is when the last one ended; the zero time if there was none.
	Last time.Time
}

// Record takes note of an event that ends now.
func (f *Figure) Record(now time.Time, took time.Duration) {
	f.turn(now)
	f.count++
	f.total += took
	f.last = now
	f.newer.count++
	f.newer.total += took
	f.newer.max = max(f.newer.max, took)
}

// turn begins a sample when the one at hand is full, and forgets what is too old.
func (f *Figure) turn(now time.Time) {
	if f.newer.began.IsZero() {
		f.newer.began = now
	}
	age := now.Sub(f.newer.began)
	if age < SampleWindow {
		return
	}
	f.older = sample{}
	began := now.Add(-age % SampleWindow) // as if there had been a sample after the other
	if age < 2*SampleWindow {
		f.older = f.newer
	}
	f.newer = sample{began: began}
}

// Snapshot says how things are now.
func (f *Figure) Snapshot(now time.Time) Snapshot {
	f.turn(now)
	s := Snapshot{Count: f.count, Total: f.total, Last: f.last, Max: max(f.newer.max, f.older.max)}
	n, total := f.newer.count+f.older.count, f.newer.total+f.older.total
	if n > 0 {
		s.Avg = total / time.Duration(n)
	}
	s.Rate = float64(n) / f.span(now).Seconds()
	return s
}

// span is the time that the samples are of: a whole one at least, so that the first event is not a high rate.
func (f *Figure) span(now time.Time) time.Duration {
	began := f.newer.began
	if !f.older.began.IsZero() {
		began = f.older.began
	}
	return max(now.Sub(began), SampleWindow)
}

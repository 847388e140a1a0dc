package storage

import (
	"context"
	"sync"
	"time"
)

// Throttle holds all cleaners of a broker together to a rate
// (log.cleaner.io.max.bytes.per.second), reads and writes alike.
type Throttle struct {
	rate float64 // bytes a second

	mu   sync.Mutex
	free time.Time // when what has been passed so far will have been paid for
}

// throttleSlack is how far cleaners may run ahead of the rate, so that they do
// not wait for every few bytes.
const throttleSlack = 100 * time.Millisecond

// NewThrottle makes a throttle of so many bytes a second; 0 or less is no limit.
func NewThrottle(bytesPerSecond float64) *Throttle { return &Throttle{rate: bytesPerSecond} }

// Pace passes n bytes and waits as long as the rate asks for. It fits
// CleanerConfig.Pace. Its error is that of ctx.
func (t *Throttle) Pace(ctx context.Context, n int) error {
	if t.rate <= 0 {
		return ctx.Err()
	}
	wait := t.pass(n, time.Now())
	if wait < throttleSlack {
		return ctx.Err()
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// pass notes n bytes and returns how long they take, together with what came
// before and has not been paid for.
func (t *Throttle) pass(n int, now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.free.Before(now) {
		t.free = now
	}
	t.free = t.free.Add(time.Duration(float64(n) / t.rate * float64(time.Second)))
	return t.free.Sub(now)
}

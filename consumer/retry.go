package consumer

import (
	"context"
	"iter"
	"time"
)

const (
	retryMin = 100 * time.Millisecond
	retryMax = time.Second
)

// attempts are the first, second, third and so on, with waits between them that grow, until ctx ends.
func attempts(ctx context.Context) iter.Seq[int] {
	return func(yield func(int) bool) {
		for n, wait := 1, retryMin; yield(n) && sleep(ctx, wait) == nil; n, wait = n+1, min(2*wait, retryMax) {
			continue
		}
	}
}

// retry calls f until it succeeds or ctx ends. It returns the end of ctx as its error then.
func retry(ctx context.Context, f func() error) error {
	for range attempts(ctx) {
		if f() == nil {
			return nil
		}
	}
	return ctx.Err()
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

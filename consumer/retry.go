package consumer

import (
	"context"
	"time"
)

const (
	retryMin = 100 * time.Millisecond
	retryMax = time.Second
)

// retry calls f until it succeeds or ctx ends, with waits that grow. It returns the end of ctx as its error then.
func retry(ctx context.Context, f func() error) error {
	for wait := retryMin; ; wait = min(2*wait, retryMax) {
		if f() == nil {
			return nil
		}
		if err := sleep(ctx, wait); err != nil {
			return err
		}
	}
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

package work

import (
	"cmp"
	"time"
)

// Config is what the loop was told.
type Config struct {
	// Interval is how long a transaction takes in records before it is committed; less than 0 is one batch each.
	Interval time.Duration
	// Records is after how many records it is committed at the latest; 0 is no bound.
	Records int
	// Timeout is the transaction timeout: after that the broker aborts what is open.
	Timeout time.Duration
	// Renew is for how long a producer is tried to be made, before another is; 0 is a minute.
	Renew time.Duration
	// Look is how often progress without records, past the ends of transactions, is committed.
	Look time.Duration
	// Retries is how often a record that cannot be processed is tried again, less than 0 for ever; then it is skipped, or is the end of the loop.
	Retries int
	Skip    bool
	// Backoff is the pause before the first such retry, and after a transaction that was refused a second time; it doubles up to BackoffMax.
	Backoff, BackoffMax time.Duration
}

func (c Config) withDefaults() Config {
	c.Interval = cmp.Or(c.Interval, 100*time.Millisecond)
	c.Timeout = cmp.Or(c.Timeout, 10*time.Second)
	c.Renew = cmp.Or(c.Renew, time.Minute)
	c.Look = cmp.Or(c.Look, 5*time.Second)
	c.Backoff = cmp.Or(c.Backoff, 100*time.Millisecond)
	c.BackoffMax = cmp.Or(c.BackoffMax, 10*time.Second)
	return c
}

// backoff is the pause before the n-th retry, from 1 on.
func (c Config) backoff(n int) time.Duration {
	d := c.Backoff
	for range n - 1 {
		if d >= c.BackoffMax/2 {
			return c.BackoffMax
		}
		d *= 2
	}
	return min(d, c.BackoffMax)
}

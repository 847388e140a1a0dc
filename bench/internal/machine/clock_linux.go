package machine

import (
	"time"

	"golang.org/x/sys/unix"
)

// Monotonic is the time since the machine was started. All processes of one
// machine read the same clock, Java's System.nanoTime too, and nobody sets it.
func Monotonic() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic("reading the monotonic clock: " + err.Error()) // Linux has one
	}
	return time.Duration(t.Nano())
}

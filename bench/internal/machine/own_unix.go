//go:build unix

package machine

import (
	"fmt"
	"syscall"
	"time"
)

// ownTime is the processor time of this process and of its children that have
// ended.
func ownTime() (time.Duration, error) {
	var all time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var usage syscall.Rusage
		if err := syscall.Getrusage(who, &usage); err != nil {
			return 0, fmt.Errorf("reading own processor time: %w", err)
		}
		all += time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	return all, nil
}

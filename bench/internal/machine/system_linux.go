package machine

import (
	"os"
	"syscall"
	"time"
)

// syncData is fdatasync.
func syncData(f *os.File) error { return syscall.Fdatasync(int(f.Fd())) }

// Settle writes out what others have left in the page cache, so that it is not
// written during the next measurement.
func Settle() { syscall.Sync() }

// Pause sleeps for d to about 50 µs; the runtime's own timers round up to a
// millisecond when nothing else happens.
func Pause(d time.Duration) {
	if d <= 0 {
		return
	}
	t := syscall.NsecToTimespec(int64(d))
	_ = syscall.Nanosleep(&t, nil) // an early return costs the caller one more round
}

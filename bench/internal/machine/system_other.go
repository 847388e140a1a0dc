//go:build !linux

package machine

import (
	"os"
	"time"
)

func syncData(f *os.File) error { return f.Sync() }

// Settle does nothing here.
func Settle() {}

// Pause sleeps for d.
func Pause(d time.Duration) { time.Sleep(d) }

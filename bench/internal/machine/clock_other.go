//go:build !linux

package machine

import "time"

// Monotonic is, where processes share no monotonic clock that can be read, the
// time since 1970.
func Monotonic() time.Duration { return time.Duration(time.Now().UnixNano()) }

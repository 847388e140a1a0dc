package server

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// available is how many bytes a socket holds that can be read at once.
func available(raw syscall.RawConn) (n int) {
	err := raw.Control(func(fd uintptr) {
		if got, err := unix.IoctlGetInt(int(fd), unix.TIOCINQ); err == nil {
			n = max(got, 0)
		}
	})
	if err != nil {
		return 0 // it is closed: the next read says so
	}
	return n
}

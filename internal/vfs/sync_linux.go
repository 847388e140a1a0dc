package vfs

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncData uses fdatasync, which leaves out the times of the file: on a preallocated file it is one write to the device
// where fsync is two.
func syncData(f *os.File) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var syncErr error
	err = conn.Control(func(fd uintptr) {
		for {
			syncErr = unix.Fdatasync(int(fd))
			if syncErr != unix.EINTR {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	if syncErr != nil {
		return &os.PathError{Op: "fdatasync", Path: f.Name(), Err: syncErr}
	}
	return nil
}

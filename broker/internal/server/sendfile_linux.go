package server

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

const canSendfile = true

// sendFile sends up to n bytes of f from pos on, and returns how many.
func sendFile(to syscall.RawConn, f *os.File, pos, n int64) (sent int64, err error) {
	from, err := f.SyscallConn()
	if err != nil {
		return 0, &fileError{err}
	}
	var sendErr, writeErr error
	ctlErr := from.Control(func(in uintptr) {
		writeErr = to.Write(func(out uintptr) bool {
			sent, sendErr = sendOnce(int(out), int(in), pos, n)
			return sendErr != unix.EAGAIN
		})
	})
	switch {
	case ctlErr != nil:
		return 0, &fileError{ctlErr}
	case writeErr != nil:
		return 0, writeErr
	}
	return sent, sendErr
}

// sendMore sends some of b, and tells the system that more follows at once.
func sendMore(to syscall.RawConn, b []byte) (n int, err error) {
	writeErr := to.Write(func(fd uintptr) bool {
		for {
			n, err = unix.SendmsgN(int(fd), b, nil, nil, unix.MSG_MORE)
			if err != unix.EINTR {
				return err != unix.EAGAIN
			}
		}
	})
	return max(n, 0), errors.Join(writeErr, err)
}

func sendOnce(out, in int, pos, n int64) (int64, error) {
	for {
		sent, err := unix.Sendfile(out, in, &pos, int(n))
		if err != unix.EINTR {
			return int64(max(sent, 0)), err
		}
	}
}

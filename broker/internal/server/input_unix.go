//go:build unix

package server

import (
	"errors"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

const errAgain = unix.EAGAIN

// rawReader returns conn's own view of its socket, or nil for connections that are none, or that hide one (TLS).
func rawReader(conn net.Conn) syscall.RawConn {
	switch c := conn.(type) {
	case *net.TCPConn:
		return rawConn(c)
	case *net.UnixConn:
		return rawConn(c)
	}
	return nil
}

func rawConn(c syscall.Conn) syscall.RawConn {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil
	}
	return raw
}

func readSocket(fd uintptr, p []byte) (int, error) {
	for {
		n, err := unix.Read(int(fd), p)
		if err != unix.EINTR {
			return n, err
		}
	}
}

// sendNow sends as much of b as the socket takes without waiting.
func sendNow(to syscall.RawConn, b []byte) (n int, err error) {
	writeErr := to.Write(func(fd uintptr) bool {
		for {
			if n, err = unix.Write(int(fd), b); err != unix.EINTR {
				return true
			}
		}
	})
	if err == errAgain {
		err = nil
	}
	return max(n, 0), errors.Join(writeErr, err)
}

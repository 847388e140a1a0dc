//go:build unix

package server

import (
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

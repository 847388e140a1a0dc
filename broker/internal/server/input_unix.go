//go:build unix

package server

import (
	"cmp"
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

// oneWrite is a write of what a socket takes without waiting. It is used again, since what it is would be allocated for each.
type oneWrite struct {
	b     []byte
	n     int
	err   error
	write func(fd uintptr) bool
}

// to sends as much of b as the socket takes.
func (s *oneWrite) to(raw syscall.RawConn, b []byte) (n int, err error) {
	if s.write == nil {
		s.write = s.try
	}
	s.b, s.n, s.err = b, 0, nil
	failed := raw.Write(s.write)
	s.b = nil
	return s.n, cmp.Or(failed, s.err)
}

func (s *oneWrite) try(fd uintptr) bool {
	n, err := unix.Write(int(fd), s.b)
	for err == unix.EINTR {
		n, err = unix.Write(int(fd), s.b)
	}
	if s.n = max(n, 0); err != errAgain {
		s.err = err
	}
	return true
}

//go:build !unix

package server

import (
	"errors"
	"net"
	"syscall"
)

var errAgain = errors.New("no bytes yet")

// rawReader returns nil: sockets of this system are read with a buffer in hand.
func rawReader(net.Conn) syscall.RawConn { return nil }

func readSocket(uintptr, []byte) (int, error) { return 0, errAgain }

// oneWrite sends nothing: there is no rawReader either.
type oneWrite struct{}

func (*oneWrite) to(syscall.RawConn, []byte) (int, error) { return 0, nil }

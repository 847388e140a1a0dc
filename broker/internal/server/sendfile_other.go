//go:build !linux

package server

import (
	"errors"
	"os"
	"syscall"
)

const canSendfile = false

func sendFile(syscall.RawConn, *os.File, int64, int64) (int64, error) {
	return 0, errors.ErrUnsupported
}

func sendMore(syscall.RawConn, []byte) (int, error) {
	return 0, errors.ErrUnsupported
}

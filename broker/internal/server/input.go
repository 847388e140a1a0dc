package server

import (
	"io"
	"net"
	"syscall"
)

const (
	// readBlock is how much one read of a socket may bring: several small frames that were sent one after the other.
	readBlock = 32 << 10
	// readBlockHeld is the same where a read needs its buffer while it waits (TLS, memory connections).
	readBlockHeld = 4 << 10
)

// input is the buffered reading side of one connection. It holds a block only while there are bytes in it: where the
// system allows, it waits for a socket to become readable before it takes one, so that idle connections hold none.
type input struct {
	conn  net.Conn
	pools *pools
	raw   syscall.RawConn // nil where reads cannot wait without a buffer
	ready func(fd uintptr) bool

	block *block
	r, w  int // block.b[r:w] is unread
	// carry is the beginning of a frame of which too little is here to keep a block for it.
	carry    [frameStart]byte
	carried  int
	rawBytes int // result of ready
	rawErr   error
}

func newInput(conn net.Conn, p *pools) *input {
	in := &input{conn: conn, pools: p}
	in.raw = rawReader(conn)
	if in.raw != nil {
		in.ready = in.readReady
	}
	return in
}

// buffered is what has been read and not yet consumed.
func (in *input) buffered() []byte {
	if in.block == nil {
		return in.carry[:in.carried]
	}
	return in.block.b[in.r:in.w]
}

// peek waits until n bytes, frameStart at most, are buffered and returns them without consuming them.
func (in *input) peek(n int) ([]byte, error) {
	for {
		if b := in.buffered(); len(b) >= n {
			return b[:n], nil
		}
		if err := in.fill(); err != nil {
			return nil, err
		}
	}
}

// holdsFrame tells whether a whole frame is buffered.
func (in *input) holdsFrame() bool {
	b := in.buffered()
	return len(b) >= sizeField && int64(len(b)-sizeField) >= parseSize(b)
}

// here is how many bytes have come that have not been consumed, as far as can be told.
func (in *input) here() int {
	n := len(in.buffered())
	if in.raw != nil {
		n += available(in.raw)
	}
	return n
}

// take copies up to len(p) buffered bytes and consumes them.
func (in *input) take(p []byte) int {
	n := copy(p, in.buffered())
	if in.block == nil {
		in.carried = copy(in.carry[:], in.carry[n:in.carried])
		return n
	}
	in.r += n
	in.shed()
	return n
}

// fill reads once. The bytes buffered before are less than a frame's start.
func (in *input) fill() error {
	if in.raw == nil {
		in.grab(readBlockHeld)
		n, err := in.conn.Read(in.block.b[in.w:])
		in.w += n
		return noError(n, err)
	}
	in.shed()
	if err := in.raw.Read(in.ready); err != nil {
		return err
	}
	return noError(in.rawBytes, in.rawErr)
}

// noError drops an error that came with bytes: the next read meets it again.
func noError(n int, err error) error {
	if n > 0 {
		return nil
	}
	return err
}

// readReady reads what the socket holds, or returns false when it holds nothing: RawConn then waits, and asks again.
func (in *input) readReady(fd uintptr) bool {
	in.grab(readBlock)
	n, err := readSocket(fd, in.block.b[in.w:])
	if err == errAgain {
		in.shed()
		return false
	}
	if n == 0 && err == nil {
		err = io.EOF
	}
	in.w += max(n, 0)
	in.rawBytes, in.rawErr = n, err
	return true
}

// grab sees to a block with room, the unread bytes at its front.
func (in *input) grab(size int) {
	if in.block == nil {
		in.block = in.pools.get(size)
		in.r, in.w = 0, copy(in.block.b, in.carry[:in.carried])
		in.carried = 0
		return
	}
	in.w = copy(in.block.b, in.block.b[in.r:in.w])
	in.r = 0
}

// shed gives the block back if a carry can hold what is unread.
func (in *input) shed() {
	if in.block == nil || in.w-in.r >= frameStart {
		return
	}
	in.carried = copy(in.carry[:], in.block.b[in.r:in.w])
	in.pools.put(in.block)
	in.block = nil
}

package server

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/skeinstream/skein/internal/vfs"
)

const (
	// gatherMax is how many bytes one write gathers, and gatherPieces in how many pieces (Linux takes 1024).
	gatherMax    = 256 << 10
	gatherPieces = 1000
	// sendfileMin is the file range from which on sendfile costs less than reading it into a gathered write: level at 64
	// KiB, a third to a half less at 1 MiB (BenchmarkFileResponse, with the server in a process of its own).
	sendfileMin = 64 << 10
	// aheadMax is up to how many gathered bytes are sent so that the file range behind them joins their packet.
	aheadMax = 4 << 10
	// fileBlock is how much of a file is read at a time where sendfile is not to be had.
	fileBlock = 128 << 10
)

// output is the writing side of a connection while somebody writes to it. It gathers pieces and writes them together: in one
// writev where the connection is a socket and there is much, else copied into one buffer. Each Write of a TLS connection is a
// record.
type output struct {
	conn  *Conn
	raw   syscall.RawConn // nil unless the connection takes writev and sendfile
	pools *pools

	batch     []*Request // of Conn.writeReady
	dead      bool
	writtenAt time.Time

	pieces   net.Buffers
	gathered int      // bytes in pieces
	blocks   []*block // that pieces lie in
	spare    net.Buffers
	quick    oneWrite
}

func (s *Server) takeOutput(c *Conn) *output {
	o, ok := s.outputs.Get().(*output)
	if !ok {
		o = &output{pools: &s.pools}
	}
	o.conn, o.raw = c, c.in.raw
	return o
}

func (s *Server) putOutput(o *output) {
	o.reset() // a failed write leaves pieces, which the next connection must not meet
	o.conn, o.raw = nil, nil
	s.outputs.Put(o)
}

// add gathers a piece that is small.
func (o *output) add(b []byte) {
	o.pieces = append(o.pieces, b)
	o.gathered += len(b)
}

// bytes gathers b, and writes when enough is gathered.
func (o *output) bytes(b []byte) error {
	for len(b) > 0 {
		n := min(len(b), gatherMax-o.gathered)
		o.add(b[:n])
		b = b[n:]
		if err := o.flushFull(); err != nil {
			return err
		}
	}
	return nil
}

func (o *output) flushFull() error {
	if o.gathered < gatherMax && len(o.pieces) < gatherPieces {
		return nil
	}
	return o.flush()
}

// file sends a range of a file: long ranges without passing through our memory if that can be.
func (o *output) file(r FileRange) error {
	if o.raw != nil && r.Len >= sendfileMin && canSendfile {
		if f, ok := vfs.OSFile(r.File); ok {
			return o.sendfile(f, r.Pos, r.Len)
		}
	}
	return o.copyFile(r)
}

// copyFile gathers a range of a file by reading it.
func (o *output) copyFile(r FileRange) error {
	for r.Len > 0 {
		n := int(min(r.Len, fileBlock))
		if o.gathered+n > gatherMax { // a block goes out whole: flush gives it back
			if err := o.flush(); err != nil {
				return err
			}
		}
		b := o.pools.get(n)
		o.blocks = append(o.blocks, b)
		if m, err := r.File.ReadAt(b.b[:n], r.Pos); m < n {
			return &fileError{err}
		}
		o.add(b.b[:n])
		if err := o.flushFull(); err != nil {
			return err
		}
		r.Pos += int64(n)
		r.Len -= int64(n)
	}
	return nil
}

// sendfile sends a range of f by the system's call, which leaves the file's own offset alone.
func (o *output) sendfile(f *os.File, pos, length int64) error {
	if err := o.flushAhead(); err != nil {
		return err
	}
	for length > 0 {
		o.armDeadline()
		n, err := sendFile(o.raw, f, pos, min(length, sendfileStep))
		if err != nil {
			return err
		}
		if n == 0 {
			return &fileError{errors.New("the file ends before the range does")}
		}
		pos += n
		length -= n
	}
	return nil
}

// sendfileStep bounds one call, so that the write deadline means progress.
const sendfileStep = 1 << 20

// flush writes what is gathered.
func (o *output) flush() error {
	if len(o.pieces) == 0 {
		return nil
	}
	o.armDeadline()
	err := o.write()
	o.reset()
	return err
}

// reset forgets what is gathered.
func (o *output) reset() {
	clear(o.pieces)
	o.pieces, o.gathered = o.pieces[:0], 0
	for i, b := range o.blocks {
		o.pools.put(b)
		o.blocks[i] = nil
	}
	o.blocks = o.blocks[:0]
}

// flushAhead is flush before a sendfile: what is little does not become a packet of its own, for which the peer would
// wake up and then wait.
func (o *output) flushAhead() error {
	if o.gathered == 0 || o.gathered > aheadMax {
		return o.flush()
	}
	o.armDeadline()
	joined := o.join()
	defer o.pools.put(joined)
	for b := joined.b[:o.gathered]; len(b) > 0; {
		n, err := sendMore(o.raw, b)
		if err != nil {
			return err
		}
		b = b[n:]
	}
	o.reset()
	return nil
}

// join copies what is gathered into one block.
func (o *output) join() *block {
	joined := o.pools.get(o.gathered)
	b := joined.b[:0]
	for _, p := range o.pieces {
		b = append(b, p...)
	}
	return joined
}

func (o *output) write() error {
	switch {
	case len(o.pieces) == 1:
		_, err := o.conn.net.Write(o.pieces[0])
		return err
	case o.raw != nil && o.gathered > quickMax:
		o.spare = o.pieces // WriteTo consumes what it is called on
		_, err := o.spare.WriteTo(o.conn.net)
		return err
	}
	joined := o.join()
	defer o.pools.put(joined)
	_, err := o.conn.net.Write(joined.b[:o.gathered])
	return err
}

// armDeadline sees to it that the next write has WriteTimeout at least. Timers cost more than looking at the clock, so
// it sets one and a half times of it, and only when less than one is left.
func (o *output) armDeadline() {
	timeout := o.conn.server.cfg.WriteTimeout
	now := time.Now()
	o.conn.wroteAt.Store(now.UnixNano())
	if o.conn.writeUntil.Sub(now) < timeout {
		o.conn.writeUntil = now.Add(timeout + timeout/2)
		_ = o.conn.net.SetWriteDeadline(o.conn.writeUntil) // a closed connection says so at the write
	}
}

// fileError is a response's file that could not be read: our fault, not the peer's.
type fileError struct{ err error }

func (e *fileError) Error() string { return fmt.Sprintf("reading a response from its file: %v", e.err) }

func (e *fileError) Unwrap() error { return e.err }

func isFileError(err error) bool {
	var e *fileError
	return errors.As(err, &e)
}

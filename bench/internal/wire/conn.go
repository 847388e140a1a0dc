package wire

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// answerPatience bounds the wait for one answer: a broker that listens before
// it serves lets the request lie until it does, and one that gathers members
// parks their requests.
const answerPatience = 60 * time.Second

// largestAnswer bounds what is read: the leader of a large group gets the
// subscriptions of all of its members.
const largestAnswer = 8 << 20

// Conn is a connection to a broker, for one goroutine. Answers come in the
// order of the requests.
type Conn struct {
	raw   net.Conn
	in    *bufio.Reader
	frame []byte // not sent yet
	sent  int32  // correlation of the last request
	seen  int32  // and of the last answer
	stop  func() bool
}

// Dial connects; the connection breaks when ctx ends.
func Dial(ctx context.Context, addr string) (*Conn, error) {
	var dialer net.Dialer
	raw, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	c := &Conn{raw: raw, in: bufio.NewReader(raw)}
	c.stop = context.AfterFunc(ctx, func() { raw.Close() })
	return c, nil
}

// Close ends the connection.
func (c *Conn) Close() error {
	c.stop()
	return c.raw.Close()
}

// Ask sends req and reads its answer; nothing else is in flight.
func (c *Conn) Ask(req kmsg.Request) (kmsg.Response, error) {
	c.Put(req)
	if err := c.Send(); err != nil {
		return nil, err
	}
	resp := req.ResponseKind()
	resp.SetVersion(req.GetVersion())
	return resp, c.Next(resp)
}

// Put adds a request to those that Send will send.
func (c *Conn) Put(req kmsg.Request) {
	c.sent++
	frame := kmsg.NewRequestFormatter(kmsg.FormatterClientID("skein-bench")).AppendRequest(nil, req, c.sent)
	c.frame = append(c.frame, frame...)
}

// Send sends what Put has gathered, all in one.
func (c *Conn) Send() error {
	if err := c.raw.SetDeadline(time.Now().Add(answerPatience)); err != nil {
		return err
	}
	_, err := c.raw.Write(c.frame)
	c.frame = c.frame[:0]
	return err
}

// Waiting tells whether part of an answer is here already.
func (c *Conn) Waiting() bool { return c.in.Buffered() > 0 }

// Next reads the next answer into resp, whose version is set.
func (c *Conn) Next(resp kmsg.Response) error {
	body, err := c.read()
	if err != nil {
		return err
	}
	if resp.IsFlexible() {
		body = body[1:] // an empty section of tags
	}
	return resp.ReadFrom(body)
}

// read reads one frame and takes the correlation off.
func (c *Conn) read() ([]byte, error) {
	var head [8]byte
	if _, err := io.ReadFull(c.in, head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n < 5 || n > largestAnswer {
		return nil, fmt.Errorf("an answer of %d bytes", n)
	}
	c.seen++
	if got := int32(binary.BigEndian.Uint32(head[4:])); got != c.seen {
		return nil, fmt.Errorf("an answer to request %d, not %d", got, c.seen)
	}
	body := make([]byte, n-4)
	_, err := io.ReadFull(c.in, body)
	return body, err
}

package wire

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// answerPatience bounds the wait for one answer: a broker that listens before
// it serves lets the request lie until it does.
const answerPatience = 60 * time.Second

// largestAnswer bounds what is read; no answer asked for here is near it.
const largestAnswer = 1 << 20

// conn is a connection with one request in flight.
type conn struct {
	net.Conn
	correlation int32
}

// ask sends req and decodes the answer.
func (c *conn) ask(req kmsg.Request) (kmsg.Response, error) {
	c.correlation++
	frame := kmsg.NewRequestFormatter(kmsg.FormatterClientID("skein-bench")).AppendRequest(nil, req, c.correlation)
	if err := c.SetDeadline(time.Now().Add(answerPatience)); err != nil {
		return nil, err
	}
	if _, err := c.Write(frame); err != nil {
		return nil, err
	}
	body, err := c.read(req.IsFlexible())
	if err != nil {
		return nil, err
	}
	resp := req.ResponseKind()
	resp.SetVersion(req.GetVersion())
	return resp, resp.ReadFrom(body)
}

// read reads one frame and takes its header off.
func (c *conn) read(flexible bool) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n < 5 || n > largestAnswer {
		return nil, fmt.Errorf("an answer of %d bytes", n)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(c, body); err != nil {
		return nil, err
	}
	if got := int32(binary.BigEndian.Uint32(body)); got != c.correlation {
		return nil, fmt.Errorf("an answer to request %d, not %d", got, c.correlation)
	}
	if flexible {
		return body[5:], nil // and an empty section of tags
	}
	return body[4:], nil
}

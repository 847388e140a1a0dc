package differential

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// answerPatience is how long an answer may take before its absence is the
// answer. Nothing waits for it but a broker that says nothing, so it is long
// enough for a machine that has other things to do.
const answerPatience = 90 * time.Second

// errNoAnswer stands for a broker that keeps the connection and says nothing.
var errNoAnswer = errors.New("no answer")

// conn is a bare connection: it sends exactly the request it is given.
type conn struct {
	addr        string
	client      string // its client id; "differential" when empty
	nc          net.Conn
	correlation int32
}

// exchange sends a request and reads its answer. It connects when it must. An
// error means that the broker closed the connection or gave no answer.
func (c *conn) exchange(request kmsg.Request) (kmsg.Response, error) {
	if err := c.send(request); err != nil {
		return nil, err
	}
	response, err := c.answer(request, answerPatience)
	if err != nil {
		c.close()
	}
	return response, err
}

// answer reads the answer to the last request.
func (c *conn) answer(request kmsg.Request, patience time.Duration) (kmsg.Response, error) {
	body, err := c.receive(patience)
	if err != nil {
		return nil, err
	}
	response := request.ResponseKind()
	response.SetVersion(request.GetVersion())
	// ApiVersions answers always have the old header.
	if response.IsFlexible() && request.Key() != kmsg.ApiVersions.Int16() {
		if len(body) == 0 || body[0] != 0 {
			return nil, errors.New("the response header holds tags")
		}
		body = body[1:]
	}
	if err := response.ReadFrom(body); err != nil {
		return nil, fmt.Errorf("unreadable answer: %w", err)
	}
	return response, nil
}

// send sends a request without waiting for an answer.
func (c *conn) send(request kmsg.Request) error {
	if c.nc == nil {
		nc, err := net.Dial("tcp", c.addr)
		if err != nil {
			return err
		}
		c.nc = nc
	}
	c.correlation++
	client := c.client
	if client == "" {
		client = "differential"
	}
	frame := kmsg.NewRequestFormatter(kmsg.FormatterClientID(client)).AppendRequest(nil, request, c.correlation)
	_, err := c.nc.Write(frame)
	return err
}

// receive reads one answer and returns what follows its correlation id.
func (c *conn) receive(patience time.Duration) ([]byte, error) {
	if err := c.nc.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	var head [8]byte
	if _, err := io.ReadFull(c.nc, head[:]); err != nil {
		return nil, named(err)
	}
	size := int(binary.BigEndian.Uint32(head[:4]))
	if got := int32(binary.BigEndian.Uint32(head[4:])); got != c.correlation {
		return nil, fmt.Errorf("correlation id %d, want %d", got, c.correlation)
	}
	body := make([]byte, size-4)
	_, err := io.ReadFull(c.nc, body)
	return body, named(err)
}

// named gives the two ways of not answering one name each.
func named(err error) error {
	var timeout net.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &timeout) && timeout.Timeout():
		return errNoAnswer
	default:
		return errClosed
	}
}

var errClosed = errors.New("connection closed")

func (c *conn) close() {
	if c.nc != nil {
		c.nc.Close()
		c.nc = nil
	}
}

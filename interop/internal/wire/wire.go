// Package wire asks a broker exactly what it is given, over a connection of its own for each request: one that waits for its
// answer keeps nobody else waiting.
package wire

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// sent is a request that is on its way to the broker.
type sent struct {
	request kmsg.Request
	conn    net.Conn
	stop    func() bool
}

func send(ctx context.Context, addr, client string, r kmsg.Request) (*sent, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	s := &sent{r, conn, context.AfterFunc(ctx, func() { conn.Close() })}
	if _, err := conn.Write(kmsg.NewRequestFormatter(kmsg.FormatterClientID(client)).AppendRequest(nil, r, 1)); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *sent) close() {
	s.stop()
	s.conn.Close()
}

func (s *sent) answer() (kmsg.Response, error) {
	defer s.close()
	var size uint32
	if err := binary.Read(s.conn, binary.BigEndian, &size); err != nil {
		return nil, err
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(s.conn, body); err != nil {
		return nil, err
	}
	response := s.request.ResponseKind()
	header := 4
	if response.IsFlexible() {
		header++ // no tagged fields
	}
	return response, response.ReadFrom(body[min(header, len(body)):])
}

// Ask sends a request and waits for the answer.
func Ask[R kmsg.Response](ctx context.Context, addr, client string, r kmsg.Request) (answer R, err error) {
	s, err := send(ctx, addr, client, r)
	if err != nil {
		return answer, err
	}
	got, err := s.answer()
	if err != nil {
		return answer, fmt.Errorf("%s: %w", kmsg.NameForKey(r.Key()), err)
	}
	return got.(R), nil
}

// Answer is what a caller was told, or why not.
type Answer struct {
	Who      string
	Response kmsg.Response
	Err      error
}

// Callers are clients whose requests wait, which all are about groups, and of whom one goroutine asks.
type Callers struct {
	ctx     context.Context
	addr    string
	waiting []chan Answer
}

// NewCallers makes callers of the broker at addr, who are there until ctx ends.
func NewCallers(ctx context.Context, addr string) *Callers { return &Callers{ctx: ctx, addr: addr} }

// Send sends a request of a client about a group. The broker has begun with it when Send returns: it has answered another
// about the same group that came later. How busy the machine is changes the order of no two requests.
func (c *Callers) Send(who, client, group string, r kmsg.Request) {
	answered := make(chan Answer, 1)
	c.waiting = append(c.waiting, answered)
	s, err := send(c.ctx, c.addr, client, r)
	if err != nil {
		answered <- Answer{Who: who, Err: err}
		return
	}
	go func() {
		got, err := s.answer()
		answered <- Answer{who, got, err}
	}()
	nobody := &kmsg.HeartbeatRequest{Version: 4, Group: group, MemberID: "nobody"}
	_, _ = Ask[*kmsg.HeartbeatResponse](c.ctx, c.addr, "nobody", nobody)
}

// Waiting is how many have no answer yet.
func (c *Callers) Waiting() int { return len(c.waiting) }

// Collect hears answers until so many lines were said, for as long as patience, and then for a moment what else there is, or
// until nobody waits. It tells when there were enough.
func (c *Callers) Collect(expected int, patience time.Duration, hear func(Answer) []string) (lines []string, enough time.Time) {
	const moment = 50 * time.Millisecond
	for end := time.Now().Add(patience); ; <-time.After(2 * time.Millisecond) {
		c.waiting = slices.DeleteFunc(c.waiting, func(answered chan Answer) bool {
			select {
			case a := <-answered:
				lines = append(lines, hear(a)...)
				return true
			default:
				return false
			}
		})
		if len(lines) >= expected && enough.IsZero() {
			enough = time.Now()
			end = enough.Add(moment)
		}
		if len(c.waiting) == 0 || time.Now().After(end) {
			return lines, enough
		}
	}
}

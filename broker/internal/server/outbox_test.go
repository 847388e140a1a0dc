//go:build unix

package server

import (
	"bytes"
	"fmt"
	"net"
	"testing"
	"time"
)

// together parks a request of each of n clients and answers all of them in one Together.
func together(t *testing.T, n int, body []byte) (ts *testServer, waiting chan *Request, clients []*client, answer func()) {
	t.Helper()
	waiting = make(chan *Request, n)
	ts = handle(parked(waiting)).start(t, Config{})
	addr := ts.listen()
	var requests []*Request
	for i := range n {
		c := ts.dialTCP(addr)
		clients = append(clients, c)
		c.send(frame(keyProduce, 0, int32(i), ""))
		requests = append(requests, <-waiting)
	}
	return ts, waiting, clients, func() {
		for _, r := range requests {
			r.Reply(Response{Body: body})
		}
	}
}

// The answers of a few connections are written when Together returns, without any other goroutine.
func TestTogetherWritesALittleItself(t *testing.T) {
	ts, _, clients, answer := together(t, fewConns, []byte("a"))
	ts.Together(answer)
	for _, c := range ts.open() {
		c.mu.Lock()
		if c.queue.length != 0 || c.writing {
			t.Errorf("connection %d has %d requests, writing: %v", c.id, c.queue.length, c.writing)
		}
		c.mu.Unlock()
	}
	for i, c := range clients {
		c.wantAnswer(int32(i), "a")
	}
}

func TestTogetherAnswersMany(t *testing.T) {
	ts, _, clients, answer := together(t, 20, []byte("a"))
	ts.Together(func() { ts.Together(answer) })
	for i, c := range clients {
		c.wantAnswer(int32(i), "a")
	}
}

// Nobody waits for a peer that reads nothing: neither who answers, nor the others.
func TestTogetherWaitsForNoPeer(t *testing.T) {
	waiting := make(chan *Request, 256)
	ts := handle(parked(waiting)).start(t, Config{})
	addr := ts.listen()
	quick := ts.dialTCP(addr)
	slow := ts.dialTCP(addr)
	if err := slow.conn.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	body := bytes.Repeat([]byte("x"), quickMax/2)
	sent := int32(0)
	for stalled := false; !stalled; {
		slow.send(frame(keyProduce, 0, sent, ""))
		sent++
		r := <-waiting
		ts.Together(func() { r.Reply(Response{Body: body}) })
		stalled = r.Conn.stalled(time.Now()) > 0
	}
	for i := range int32(3) {
		quick.send(frame(keyProduce, 0, i, ""))
		r := <-waiting
		ts.Together(func() { r.Reply(Response{Body: []byte(fmt.Sprint(i))}) })
		quick.wantAnswer(i, fmt.Sprint(i))
	}
	for i := range sent {
		slow.wantAnswer(i, string(body))
	}
}

// A peer that is gone ends its connection and nobody else's.
func TestTogetherWithAPeerThatIsGone(t *testing.T) {
	ts, again, clients, answer := together(t, 2, []byte("a"))
	if err := clients[0].conn.(*net.TCPConn).SetLinger(0); err != nil {
		t.Fatal(err)
	}
	clients[0].conn.Close()
	ts.Together(answer)
	ts.wantReason(ClosedByPeer)
	clients[1].wantAnswer(1, "a")
	clients[1].send(frame(keyProduce, 0, 7, ""))
	(<-again).Reply(Response{Body: []byte("b")})
	clients[1].wantAnswer(7, "b")
}

// However long writers keep up without ever coming to the end, the outbox holds no more than what waits.
func TestTheOutboxForgetsWhatWasTaken(t *testing.T) {
	var o outbox // without writers: takes are the test's
	o.put(new(Conn))
	for range 10_000 {
		o.put(new(Conn))
		o.mu.Lock()
		if o.take() == nil {
			t.Fatal("nothing is there")
		}
		o.mu.Unlock()
	}
	if len(o.ready) > 4 {
		t.Errorf("%d entries for %d connections", len(o.ready), o.waiting())
	}
}

package server

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	keyFetch    = 1
	keyMetadata = 3
)

// flexibleFrom is the version from which on the test's requests are flexible.
const flexibleFrom = 9

// scripted is a Handler whose answers a test writes. It serves keys 0 to 3 and 18, versions 0 to 12.
type scripted struct {
	serve  func(ctx context.Context, r *Request)
	limits map[int16]Limits
}

func (h *scripted) Supports(key, version int16) bool {
	return (key >= 0 && key <= 3 || key == keyOffsetCommit || key == 9 || key == keyApiVersions) && version >= 0 && version <= 12
}
func (h *scripted) Flexible(_, version int16) bool        { return version >= flexibleFrom }
func (h *scripted) Limits(key int16) Limits               { return h.limits[key] }
func (h *scripted) Serve(ctx context.Context, r *Request) { h.serve(ctx, r) }
func (h *scripted) TooNew(r *Request)                     { r.Reply(Response{Body: []byte("too new")}) }
func handle(f func(context.Context, *Request)) *scripted  { return &scripted{serve: f} }
func echo(_ context.Context, r *Request)                  { r.Reply(Response{Body: bytes.Clone(r.Body)}) }
func parked(to chan *Request) func(context.Context, *Request) {
	return func(_ context.Context, r *Request) { to <- r }
}
func (h *scripted) start(t *testing.T, cfg Config) *testServer { return startServer(t, cfg, h) }

// testServer is a server with what it logged and reported.
type testServer struct {
	*Server
	t    *testing.T
	logs syncBuffer

	closed chan CloseReason // of connections, in their order

	mu   sync.Mutex
	over []RequestInfo
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) lines() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var lines []string
	for l := range bytes.Lines(b.b.Bytes()) {
		lines = append(lines, string(l))
	}
	return lines
}

func startServer(t *testing.T, cfg Config, h Handler) *testServer {
	t.Helper()
	ts := &testServer{t: t, closed: make(chan CloseReason, 10000)}
	cfg.Logger = slog.New(slog.NewTextHandler(&ts.logs, nil))
	cfg.Events = Events{
		ConnectionClosed: func(_ ConnectionInfo, reason CloseReason) { ts.closed <- reason },
		RequestFinished:  ts.noteOver,
	}
	ts.Server = New(cfg, h)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := ts.Shutdown(ctx); err != nil {
			t.Errorf("shutting down: %v", err)
		}
	})
	return ts
}

func (ts *testServer) noteOver(r RequestInfo) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.over = append(ts.over, r)
}

// wantReason waits until a connection is closed, for this reason.
func (ts *testServer) wantReason(want CloseReason) {
	ts.t.Helper()
	if got := <-ts.closed; got != want {
		ts.t.Fatalf("closed for %q, want %q", got, want)
	}
}

// dial returns a client over memory; it works in a synctest bubble.
func (ts *testServer) dial() *client {
	near, far := net.Pipe()
	go ts.ServeConn(far, ListenerInfo{Name: "memory", Host: "h", Port: 1})
	ts.t.Cleanup(func() { near.Close() })
	return &client{t: ts.t, conn: near}
}

// listen serves a loopback socket and returns its address.
func (ts *testServer) listen() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		ts.t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- ts.Serve(l, ListenerInfo{Name: "tcp", Host: "h", Port: 2}) }()
	ts.t.Cleanup(func() {
		l.Close()
		<-done
	})
	return l.Addr().String()
}

func (ts *testServer) dialTCP(addr string) *client {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		ts.t.Fatal(err)
	}
	ts.t.Cleanup(func() { conn.Close() })
	return &client{t: ts.t, conn: conn}
}

// client speaks raw frames.
type client struct {
	t    *testing.T
	conn net.Conn
}

// frame builds a request with header 1, or header 2 from flexibleFrom on.
func frame(key, version int16, correlation int32, body string) []byte {
	b := binary.BigEndian.AppendUint16(make([]byte, 4), uint16(key))
	b = binary.BigEndian.AppendUint16(b, uint16(version))
	b = binary.BigEndian.AppendUint32(b, uint32(correlation))
	b = append(b, 0, 2, 'm', 'e')
	if version >= flexibleFrom {
		b = append(b, 0)
	}
	b = append(b, body...)
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b
}

func (c *client) send(frames ...[]byte) {
	c.t.Helper()
	if _, err := c.conn.Write(bytes.Join(frames, nil)); err != nil {
		c.t.Fatalf("sending: %v", err)
	}
}

// ask sends without waiting for the peer to read, which a memory connection else does.
func (c *client) ask(frames ...[]byte) {
	go func() { _, _ = c.conn.Write(bytes.Join(frames, nil)) }()
}

func (c *client) receive() (correlation int32, body string) {
	c.t.Helper()
	correlation, body, err := c.tryReceive()
	if err != nil {
		c.t.Fatalf("receiving: %v", err)
	}
	return correlation, body
}

func (c *client) tryReceive() (int32, string, error) {
	var head [8]byte
	if _, err := io.ReadFull(c.conn, head[:]); err != nil {
		return 0, "", err
	}
	body := make([]byte, binary.BigEndian.Uint32(head[:])-4)
	_, err := io.ReadFull(c.conn, body)
	return int32(binary.BigEndian.Uint32(head[4:])), string(body), err
}

func (c *client) wantAnswer(correlation int32, body string) {
	c.t.Helper()
	gotCorrelation, gotBody := c.receive()
	if gotCorrelation != correlation || gotBody != body {
		c.t.Fatalf("got answer %d %.40q, want %d %.40q", gotCorrelation, gotBody, correlation, body)
	}
}

func (c *client) wantClosed() {
	c.t.Helper()
	_, err := io.ReadFull(c.conn, make([]byte, 1))
	if err == nil || isTimeout(err) {
		c.t.Fatalf("the connection is open, want it closed (%v)", err)
	}
}

package server

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A hostile frame costs its sender the connection, us one line, and nobody else anything.
func TestHostileFramesCloseOneConnectionWithOneLine(t *testing.T) {
	size := func(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }
	for _, tt := range []struct {
		name  string
		bytes []byte
		log   string
	}{
		{"size 0", size(0), "a frame of 0 bytes"},
		{"size -1", size(1<<32 - 1), "a frame of -1 bytes"},
		{"size -2147483648", size(1 << 31), "a frame of -2147483648 bytes"},
		{"too small for a header", append(size(7), 0, 3, 0, 0, 0, 0, 0), "a frame of 7 bytes"},
		{"over socket.request.max.bytes (T17)", size(1001), "where 8 to 1000 are taken"},
		{"over the limit of its kind", frame(2, 0, 1, strings.Repeat("x", 100)), "where at most 100 are taken"},
		{"HTTP", []byte("GET / HTTP/1.1\r\n"), "HTTP?"},
		{"TLS", []byte("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"), "TLS on a plain listener?"},
		{"an unknown key", frame(999, 0, 1, ""), "request 999 version 0"},
		{"a negative key", frame(-1, 0, 1, ""), "request -1 version 0"},
		{"an unknown version", frame(keyMetadata, 99, 1, ""), "request 3 version 99"},
		{"a negative version", frame(keyMetadata, -1, 1, ""), "request 3 version -1"},
		{"a client id cut off", unhexFrame("0003 0000 00000001 0009 61"), "cut off"},
		{"tags cut off", unhexFrame("0003 0009 00000001 ffff 05"), "cut off"},
		{"ApiVersions without a client id", unhexFrame("0012 0000 00000001"), "cut off"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			eachTransport(t, func(t *testing.T, dial func(*testServer) *client) {
				h := handle(echo)
				h.limits = map[int16]Limits{2: {MaxBytes: 100}}
				ts := h.start(t, Config{MaxRequestBytes: 1000})
				hostile, other := dial(ts), ts.dial()
				hostile.ask(frame(keyMetadata, 0, 1, "before"), tt.bytes)
				hostile.wantAnswer(1, "before")
				hostile.wantClosed()
				other.ask(frame(keyMetadata, 0, 1, "well"))
				other.wantAnswer(1, "well")
				ts.wantReason(ClosedInvalid)
				if lines := ts.logs.lines(); len(lines) != 1 || !strings.Contains(lines[0], tt.log) || !strings.Contains(lines[0], "level=WARN") {
					t.Errorf("log %q, want one warning with %q", lines, tt.log)
				}
			})
		})
	}
}

func TestLogLinesAboutPeersAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ts := handle(echo).start(t, Config{})
		hostile := func() {
			c := ts.dial()
			c.ask([]byte("GET / HTTP/1.1"))
			c.wantClosed()
			synctest.Wait()
		}
		for range 50 {
			hostile()
		}
		if n := len(ts.logs.lines()); n != logLines {
			t.Errorf("%d lines, want %d", n, logLines)
		}
		time.Sleep(logWindow + 1)
		hostile()
		if lines := ts.logs.lines(); len(lines) != logLines+1 || !strings.Contains(lines[logLines], "similar_left_out=40") {
			t.Errorf("last of %d lines %q, want one that counts 40 left out", len(lines), lines[len(lines)-1])
		}
	})
}

func TestPeersThatComeAndGoAreSilent(t *testing.T) {
	ts := handle(echo).start(t, Config{})
	addr := ts.listen()
	ts.dialTCP(addr).conn.Close() // a port check
	c := ts.dialTCP(addr)
	c.send(frame(keyMetadata, 0, 1, "")[:6])
	c.conn.Close() // within a frame
	ts.wantReason(ClosedByPeer)
	if lines := ts.logs.lines(); len(lines) != 0 {
		t.Errorf("log %q, want none", lines)
	}
}

func TestLargestFrameIsTaken(t *testing.T) {
	eachTransport(t, func(t *testing.T, dial func(*testServer) *client) {
		body := strings.Repeat("0123456789abcdef", 300<<10/16)
		f := frame(keyMetadata, 0, 1, body)
		c := dial(handle(echo).start(t, Config{MaxRequestBytes: int64(len(f) - sizeField)}))
		for range 3 {
			c.ask(f)
			c.wantAnswer(1, body)
		}
	})
}

// connections.max.idle.ms, to the instant, and only while nothing is in flight.
func TestIdleTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waiting := make(chan *Request, 1)
		ts := handle(parked(waiting)).start(t, Config{IdleTimeout: time.Minute})
		c := ts.dial()
		time.Sleep(50 * time.Second)
		c.send(frame(keyFetch, 0, 1, ""))
		r := <-waiting
		time.Sleep(5 * time.Minute) // parked, not idle
		r.Reply(Response{})
		c.wantAnswer(1, "")
		begin := time.Now()
		c.wantClosed()
		if d := time.Since(begin); d != time.Minute {
			t.Errorf("closed after %v idle, want 1m", d)
		}
		synctest.Wait()
		ts.wantReason(ClosedIdle)
	})
}

// connections.max.idle.ms=-1 is for ever: that long a write may take, too.
func TestNoIdleTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ts := handle(echo).start(t, Config{IdleTimeout: math.MaxInt64})
		c := ts.dial()
		for i := range int32(3) {
			c.ask(frame(keyMetadata, 0, i, "still there"))
			c.wantAnswer(i, "still there")
			time.Sleep(24 * time.Hour)
		}
	})
}

func TestIdleTimeoutWithinAFrame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ts := handle(echo).start(t, Config{IdleTimeout: time.Minute})
		c := ts.dial()
		f := frame(keyMetadata, 0, 1, strings.Repeat("x", 200<<10))
		for b := range slices.Chunk(f[:180<<10], 20<<10) {
			c.send(b)
			time.Sleep(59 * time.Second)
			if len(ts.closed) > 0 {
				t.Fatal("closed while bytes came")
			}
		}
		begin := time.Now()
		c.wantClosed()
		if d := time.Since(begin); d != time.Second {
			t.Errorf("closed %v after the last wait, want 1s", d)
		}
	})
}

func TestMaxConnectionsMakesNewcomersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ts := handle(echo).start(t, Config{Connections: ConnectionLimits{Max: 2}})
		first, second := ts.dial(), ts.dial()
		first.send(frame(keyMetadata, 0, 1, ""))
		first.wantAnswer(1, "")
		second.send(frame(keyMetadata, 0, 1, ""))
		second.wantAnswer(1, "")
		third := ts.dial()
		third.ask(frame(keyMetadata, 0, 1, ""))
		synctest.Wait()
		if n := ts.Stats().Connections; n != 2 {
			t.Errorf("%d connections, want 2", n)
		}
		first.conn.Close()
		third.wantAnswer(1, "")
	})
}

func TestLimitsChangeWhileServing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ts := handle(echo).start(t, Config{Connections: ConnectionLimits{Max: 1}})
		first := ts.dial()
		first.send(frame(keyMetadata, 0, 1, ""))
		first.wantAnswer(1, "")
		second := ts.dial()
		second.ask(frame(keyMetadata, 0, 1, ""))
		synctest.Wait()
		if n := ts.Stats().Connections; n != 1 {
			t.Errorf("%d connections, want 1", n)
		}
		ts.LimitConnections(ConnectionLimits{Max: 2})
		second.wantAnswer(1, "")
	})
}

func TestMaxConnectionsPerIP(t *testing.T) {
	for _, tt := range []struct {
		name string
		cfg  Config
	}{
		{"limit for all", Config{Connections: ConnectionLimits{MaxPerIP: 1}}},
		{"nobody may", Config{Connections: ConnectionLimits{MaxPerIP: -1, PerIPOverrides: map[string]int{"127.0.0.1": 1}}}},
		{"limit of its own", Config{Connections: ConnectionLimits{MaxPerIP: 5, PerIPOverrides: map[string]int{"127.0.0.1": 1}}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ts := handle(echo).start(t, tt.cfg)
			addr := ts.listen()
			first := ts.dialTCP(addr)
			first.send(frame(keyMetadata, 0, 1, ""))
			first.wantAnswer(1, "")
			ts.dialTCP(addr).wantClosed()
			ts.wantReason(ClosedLimit)
			memory := ts.dial() // no address, no limit
			memory.ask(frame(keyMetadata, 0, 2, ""))
			memory.wantAnswer(2, "")
		})
	}
}

// A handler that panics takes its connection with it, loudly, and nothing else.
func TestPanicInAHandlerClosesItsConnection(t *testing.T) {
	eachTransport(t, func(t *testing.T, dial func(*testServer) *client) {
		ts := handle(func(_ context.Context, r *Request) {
			if r.Key == keyFetch {
				panic("broken")
			}
			r.Reply(Response{})
		}).start(t, Config{})
		c, other := dial(ts), ts.dial()
		c.ask(frame(keyMetadata, 0, 1, ""), frame(keyFetch, 0, 2, ""))
		c.wantAnswer(1, "")
		c.wantClosed()
		other.ask(frame(keyMetadata, 0, 3, ""))
		other.wantAnswer(3, "")
		ts.wantReason(ClosedFailed)
		if log := strings.Join(ts.logs.lines(), ""); !strings.Contains(log, "level=ERROR") || !strings.Contains(log, "broken") {
			t.Errorf("log %q, want an error that shows the panic", log)
		}
		if used := ts.Stats().RequestMemory; used != 0 {
			t.Errorf("%d bytes of request memory are still held", used)
		}
	})
}

func TestSecondAnswerIsDroppedAndLogged(t *testing.T) {
	ts := handle(func(_ context.Context, r *Request) {
		r.Reply(Response{Body: []byte("one")})
		r.Reply(Response{Body: []byte("two")})
	}).start(t, Config{})
	c := ts.dialTCP(ts.listen())
	c.send(frame(keyMetadata, 0, 1, ""), frame(keyMetadata, 0, 2, ""))
	c.wantAnswer(1, "one")
	c.wantAnswer(2, "one")
	if log := strings.Join(ts.logs.lines(), ""); !strings.Contains(log, "answered twice") {
		t.Errorf("log %q", log)
	}
}

// Whatever bytes come, the server answers whole frames or closes, and lets go of all it held.
func FuzzConnection(f *testing.F) {
	f.Add(frame(keyMetadata, 0, 1, "hello"), uint8(3))
	f.Add(slices.Concat(frame(keyProduce, 9, 1, "a"), frame(keyApiVersions, 77, 2, "b"), []byte{0, 0, 0, 0}), uint8(0))
	f.Fuzz(func(t *testing.T, b []byte, chunk uint8) {
		ts := New(Config{MaxRequestBytes: 1 << 20}, handle(echo))
		near, far := net.Pipe()
		served := make(chan struct{})
		go func() { defer close(served); ts.ServeConn(far, ListenerInfo{}) }()
		go func() {
			defer near.Close()
			for piece := range slices.Chunk(b, int(chunk)+1) {
				if _, err := near.Write(piece); err != nil {
					return
				}
			}
		}()
		c := &client{t: t, conn: near}
		for {
			if _, _, err := c.tryReceive(); err != nil {
				if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrClosedPipe) && !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Fatal(err)
				}
				break
			}
		}
		<-served
		if st := ts.Stats(); st != (Stats{}) {
			t.Fatalf("left behind: %+v", st)
		}
		if err := ts.Shutdown(t.Context()); err != nil {
			t.Fatal(fmt.Errorf("shutting down: %w", err))
		}
	})
}

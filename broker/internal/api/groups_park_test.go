package api

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"regexp"
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/coordinator"
	"github.com/skeinstream/skein/broker/internal/server"
	"github.com/skeinstream/skein/internal/group"
)

// waiting is a broker of which all groups let everybody wait, behind a server of the test's own.
type waiting struct {
	*testBroker
	groups *fakeGroups
	server *server.Server
	served []chan struct{} // closed when a connection has ended
}

func withWaiting(t *testing.T, test func(w *waiting)) {
	t.Helper()
	g := &fakeGroups{answer: func(string, any) (any, error) { return waits{}, nil }}
	withGroups(t, g, func(b *testBroker) {
		test(&waiting{testBroker: b, groups: g, server: server.New(server.Config{}, b.Handler)})
	})
}

// joined is a new connection on which a JoinGroup of this size waits.
func (w *waiting) joined(size int) net.Conn {
	w.t.Helper()
	near, far := net.Pipe()
	ended := make(chan struct{})
	w.served = append(w.served, ended)
	go func() {
		defer close(ended)
		w.server.ServeConn(far, testListener)
	}()
	req := joinOf(bytes.Repeat([]byte{7}, size))
	if _, err := near.Write(frameOf(11, req.Version, true, req.AppendTo(nil))); err != nil {
		w.t.Fatal(err)
	}
	synctest.Wait()
	return near
}

func joinOf(metadata []byte) *kmsg.JoinGroupRequest {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Version, req.Group, req.SessionTimeoutMillis, req.ProtocolType = 9, "g", 10_000, "consumer"
	req.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: metadata}}
	return req
}

// readJoin reads the answer.
func readJoin(t *testing.T, conn net.Conn) *kmsg.JoinGroupResponse {
	t.Helper()
	head := make([]byte, 4)
	if _, err := io.ReadFull(conn, head); err != nil {
		t.Fatal(err)
	}
	body := make([]byte, int(head[2])<<8|int(head[3]))
	if _, err := io.ReadFull(conn, body); err != nil {
		t.Fatal(err)
	}
	resp := kmsg.NewPtrJoinGroupResponse()
	resp.Version = 9
	if err := resp.ReadFrom(body[5:]); err != nil {
		t.Fatal(err)
	}
	return resp
}

func (w *waiting) shutDown() {
	w.t.Helper()
	if err := w.server.Shutdown(context.Background()); err != nil {
		w.t.Error(err)
	}
}

func TestParkedJoinIsAnsweredWhenTheGroupDecides(t *testing.T) {
	withWaiting(t, func(w *waiting) {
		conn := w.joined(10)
		resp := kmsg.NewPtrJoinGroupResponse()
		resp.Generation, resp.MemberID = 3, "m"
		w.groups.parked()[0](resp, nil)
		if got := readJoin(t, conn); got.ErrorCode != 0 || got.Generation != 3 || got.MemberID != "m" {
			t.Errorf("%+v", got)
		}
		w.shutDown()
	})
}

// A client that has gone: the slot of its connection is free at once, and the late answer harms nobody.
func TestParkedJoinOfAClientThatHasGone(t *testing.T) {
	withWaiting(t, func(w *waiting) {
		conn := w.joined(10)
		_ = conn.Close()
		synctest.Wait()
		select {
		case <-w.served[0]:
		default:
			t.Error("the connection is still there")
		}
		if n := w.server.Stats().Connections; n != 0 {
			t.Errorf("%d connections", n)
		}
		for _, done := range w.groups.parked() {
			done(kmsg.NewPtrJoinGroupResponse(), nil)
		}
		again := w.joined(10)
		w.groups.parked()[0](nil, coordinator.ErrNotCoordinator)
		if got := readJoin(t, again); got.ErrorCode != kerr.NotCoordinator.Code {
			t.Errorf("%+v", got)
		}
		w.shutDown()
	})
}

// R-K11: who waits while the broker stops hears NOT_COORDINATOR, at once.
func TestParkedJoinAtShutdown(t *testing.T) {
	withWaiting(t, func(w *waiting) {
		conn := w.joined(10)
		go w.shutDown()
		if got := readJoin(t, conn); got.ErrorCode != kerr.NotCoordinator.Code || got.Generation != -1 {
			t.Errorf("%+v", got)
		}
		synctest.Wait()
		<-w.served[0]
		for _, done := range w.groups.parked() {
			done(nil, coordinator.ErrNotCoordinator)
		}
	})
}

// Requests that wait for minutes hold neither the memory that requests are counted against nor a goroutine each.
func TestParkedJoinsAreCheap(t *testing.T) {
	withWaiting(t, func(w *waiting) {
		var conns []net.Conn
		for range 50 {
			conns = append(conns, w.joined(100_000))
		}
		if used := w.server.Stats().RequestMemory; used != 0 {
			t.Errorf("%d bytes of request memory are in use", used)
		}
		parked := goroutinesInBubble()
		req := joinOf(nil)
		for _, done := range w.groups.parked() {
			done(kmsg.NewPtrJoinGroupResponse(), nil)
		}
		for _, conn := range conns {
			readJoin(t, conn)
		}
		synctest.Wait()
		idle := goroutinesInBubble()
		for _, conn := range conns {
			if _, err := conn.Write(frameOf(11, 9, true, req.AppendTo(nil))); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if again := goroutinesInBubble(); parked > idle || again > idle || idle < len(conns) {
			t.Errorf("%d and then %d goroutines with 50 joins parked, %d without", parked, again, idle)
		}
		w.shutDownWith(conns)
	})
}

// goroutinesInBubble are those of the test that calls it, in a bubble: what the rest of the process has comes and goes.
func goroutinesInBubble() int {
	stacks := make([]byte, 4<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	mine := regexp.MustCompile(`synctest bubble \d+`).Find(stacks) // the first is the caller's
	return bytes.Count(stacks, append(mine, ']'))
}

// shutDownWith reads the last answers meanwhile.
func (w *waiting) shutDownWith(conns []net.Conn) {
	for _, conn := range conns {
		go func() { _, _ = io.Copy(io.Discard, conn) }()
	}
	w.shutDown()
}

// What a member offers is kept by its group, while the memory that it arrived in carries other requests.
func TestJoinsKeepNothingOfTheFrame(t *testing.T) {
	withWaiting(t, func(w *waiting) {
		const size = 5000
		var conns []net.Conn
		conns = append(conns, w.joined(size))
		in := w.groups.inputs()[0].in.(group.Join)
		for range 20 {
			near, far := net.Pipe()
			go w.server.ServeConn(far, testListener)
			other := joinOf(bytes.Repeat([]byte{9}, size))
			if _, err := near.Write(frameOf(11, 9, true, other.AppendTo(nil))); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			conns = append(conns, near)
		}
		if got := in.Request.Protocols[0].Metadata; !bytes.Equal(got, bytes.Repeat([]byte{7}, size)) {
			t.Error("the metadata has changed")
		}
		w.shutDownWith(conns)
	})
}

func TestWhatAJoinTellsTheGroup(t *testing.T) {
	uuid := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	withWaiting(t, func(w *waiting) {
		conns := []net.Conn{w.joined(1), w.joined(1)}
		var ids []string
		for _, in := range w.groups.inputs() {
			join := in.in.(group.Join)
			if in.key != "g" || join.ClientID != "c" || join.Request.Version != 9 || !uuid.MatchString(join.NewID) {
				t.Errorf("%+v", in)
			}
			ids = append(ids, join.NewID)
		}
		if ids[0] == ids[1] {
			t.Error("two members have one id")
		}
		w.shutDownWith(conns)
	})
}

func TestHostsLookLikeKafkas(t *testing.T) {
	for _, c := range []struct{ ip, want string }{
		{"127.0.0.1", "/127.0.0.1"},
		{"::ffff:10.1.2.3", "/10.1.2.3"},
		{"::1", "/0:0:0:0:0:0:0:1"},
		{"fe80::a0:0:1200", "/fe80:0:0:0:0:a0:0:1200"},
	} {
		if got := hostOf(&net.TCPAddr{IP: net.ParseIP(c.ip), Port: 1}); got != c.want {
			t.Errorf("%s: %q, want %q", c.ip, got, c.want)
		}
	}
	near, far := net.Pipe()
	defer func() { _ = errors.Join(near.Close(), far.Close()) }()
	if got := hostOf(near.RemoteAddr()); got != "/pipe" {
		t.Errorf("in memory: %q", got)
	}
}

package api

import (
	"context"
	"encoding/binary"
	"io"
	"log/slog"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/server"
	"github.com/skeinstream/skein/internal/vfs"
)

// panics notes that a handler has panicked: the server logs nothing else as an error.
type panics struct {
	slog.Handler
	seen atomic.Pointer[string]
}

func (*panics) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelError }

func (p *panics) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	r.Attrs(func(a slog.Attr) bool {
		text += "\n" + a.String()
		return true
	})
	p.seen.Store(&text)
	return nil
}

// FuzzGroupRequests sends the same few bytes as requests of every kind about groups to a machine that has seen others: none
// of them may panic, and every one is answered, closes its connection, or waits in the machine.
func FuzzGroupRequests(f *testing.F) {
	b := startWith(f, vfs.NewMemory(), nil, playedGroups())
	b.create(topic("a", 4, 1))
	b.fuzz(f, groupRequests(b, "g"), func(key int16) bool { return len(groupEntriesOf(key)) > 0 })
}

// fuzz begins with requests in every version and sends what becomes of those whose key is one of the fuzzed.
func (b *testBroker) fuzz(f *testing.F, seeds []kmsg.Request, fuzzed func(key int16) bool) {
	for _, req := range seeds {
		e := b.table[req.Key()]
		for v := e.min; v <= e.max; v++ {
			req.SetVersion(v)
			f.Add(req.Key(), v, req.AppendTo(nil))
		}
	}
	p := &panics{Handler: slog.DiscardHandler}
	s := server.New(server.Config{Logger: slog.New(p)}, b.Handler)
	f.Cleanup(func() { _ = s.Shutdown(context.Background()) })
	f.Fuzz(func(t *testing.T, key, version int16, body []byte) {
		if fuzzed(key) {
			b.fuzzed(t, s, p, key, version, body)
		}
	})
}

// fuzzed sends a request over a connection of its own to s, whose errors p notes.
func (b *testBroker) fuzzed(t *testing.T, s *server.Server, p *panics, key, version int16, body []byte) {
	e, ok := b.table[key]
	if !ok || version < e.min || version > e.max || len(body) > 1<<16 {
		return
	}
	near, far := net.Pipe()
	served := make(chan struct{})
	go func() {
		defer close(served)
		s.ServeConn(far, testListener)
	}()
	_, _ = near.Write(frameOf(key, version, b.Flexible(key, version), body))
	_ = near.SetReadDeadline(time.Now().Add(20 * time.Millisecond)) // it may wait
	checkAnswer(t, b, near, key, version)
	_ = near.Close()
	<-served
	if what := p.seen.Load(); what != nil {
		t.Fatalf("%s v%d %x: %s", kmsg.NameForKey(key), version, body, *what)
	}
}

func groupEntriesOf(key int16) (found []entry) {
	for _, e := range groupEntries() {
		if e.key == key {
			found = append(found, e)
		}
	}
	return found
}

// checkAnswer reads an answer, if there is one, which must be readable.
func checkAnswer(t *testing.T, b *testBroker, conn net.Conn, key, version int16) {
	head := make([]byte, 8)
	if _, err := io.ReadFull(conn, head); err != nil {
		return
	}
	body := make([]byte, binary.BigEndian.Uint32(head)-4)
	if _, err := io.ReadFull(conn, body); err != nil {
		return
	}
	if b.Flexible(key, version) {
		body = body[1:]
	}
	resp := kmsg.ResponseForKey(key)
	resp.SetVersion(version)
	if err := resp.ReadFrom(body); err != nil {
		t.Errorf("%s v%d: the answer %x cannot be read: %v", kmsg.NameForKey(key), version, body, err)
	}
}

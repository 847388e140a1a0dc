package api

import (
	"context"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/catalog"
	"github.com/skeinstream/skein/broker/internal/server"
	"github.com/skeinstream/skein/internal/settings"
	"github.com/skeinstream/skein/internal/vfs"
)

// testBroker is a handler behind a server, over a catalog in memory, with one connection to it.
type testBroker struct {
	*Handler
	t    testing.TB
	conn net.Conn
}

var testListener = server.ListenerInfo{Name: "PLAINTEXT", Host: "broker.example", Port: 1234}

// start runs a broker with node id 1 and these static settings.
func start(t testing.TB, static map[string]string) *testBroker {
	return startOver(t, vfs.NewMemory(), static)
}

func startOver(t testing.TB, fs vfs.FS, static map[string]string) *testBroker {
	return startWith(t, fs, static, nil)
}

// startWith is startOver with a coordinator of groups.
func startWith(t testing.TB, fs vfs.FS, static map[string]string, groups Groups) *testBroker {
	t.Helper()
	return startWhole(t, fs, static, Deps{Groups: groups})
}

// startWhole is startOver with coordinators.
func startWhole(t testing.TB, fs vfs.FS, static map[string]string, coordinators Deps) *testBroker {
	t.Helper()
	c, err := catalog.Open(fs, "catalog", catalog.Options{Random: rand.NewChaCha8([32]byte{})})
	if err != nil {
		t.Fatal(err)
	}
	h := New(Deps{
		Catalog: c, Groups: coordinators.Groups, Transactions: coordinators.Transactions,
		NodeID: 1, Static: static, Now: func() time.Time { return time.UnixMilli(1_000_000) },
	})
	h.Broker = func() *settings.Broker {
		b, err := settings.ResolveBroker(h.layers(c.Snapshot()))
		if err != nil {
			t.Error(err)
		}
		return &b
	}
	b := &testBroker{Handler: h, t: t}
	b.serve()
	t.Cleanup(func() { _ = c.Close() })
	return b
}

// serve puts the handler behind a server until the test ends.
func (b *testBroker) serve() {
	s := server.New(server.Config{}, b.Handler)
	near, far := net.Pipe()
	served := make(chan struct{})
	go func() {
		defer close(served)
		s.ServeConn(far, testListener)
	}()
	b.conn = near
	b.t.Cleanup(func() {
		_ = near.Close()
		<-served
		if err := b.Shutdown(context.Background()); err != nil {
			b.t.Error(err)
		}
	})
}

// frameOf is a request with correlation id 7 from the client c.
func frameOf(key, version int16, flexible bool, body []byte) []byte {
	frame := []byte{0, 0, 0, 0}
	frame = binary.BigEndian.AppendUint16(frame, uint16(key))
	frame = binary.BigEndian.AppendUint16(frame, uint16(version))
	frame = append(frame, 0, 0, 0, 7, 0, 1, 'c')
	if flexible {
		frame = append(frame, 0)
	}
	frame = append(frame, body...)
	binary.BigEndian.PutUint32(frame, uint32(len(frame)-4))
	return frame
}

// raw sends one request and returns what follows the correlation id in the response.
func (b *testBroker) raw(key, version int16, flexible bool, body []byte) []byte {
	b.t.Helper()
	frame := frameOf(key, version, flexible, body)
	go func() { _, _ = b.conn.Write(frame) }()
	head := make([]byte, 8)
	if _, err := io.ReadFull(b.conn, head); err != nil {
		b.t.Fatalf("%s v%d: %v", kmsg.NameForKey(key), version, err)
	}
	rest := make([]byte, binary.BigEndian.Uint32(head)-4)
	if _, err := io.ReadFull(b.conn, rest); err != nil {
		b.t.Fatal(err)
	}
	return rest
}

// ask sends req in a version and returns the response.
func ask[Resp kmsg.Response](b *testBroker, version int16, req kmsg.Request) Resp {
	b.t.Helper()
	req.SetVersion(version)
	body := b.raw(req.Key(), version, req.IsFlexible(), req.AppendTo(nil))
	resp := req.ResponseKind()
	resp.SetVersion(version)
	if resp.IsFlexible() && req.Key() != 18 {
		body = body[1:]
	}
	if err := resp.ReadFrom(body); err != nil {
		b.t.Fatalf("%s v%d: %v", kmsg.NameForKey(req.Key()), version, err)
	}
	return resp.(Resp)
}

// topic asks for a topic to be created.
func topic(name string, partitions int32, factor int16, configs ...string) kmsg.CreateTopicsRequestTopic {
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, partitions, factor
	for i := 0; i+1 < len(configs); i += 2 {
		k := kmsg.NewCreateTopicsRequestTopicConfig()
		k.Name, k.Value = configs[i], &configs[i+1]
		t.Configs = append(t.Configs, k)
	}
	return t
}

// create creates topics, which must succeed.
func (b *testBroker) create(topics ...kmsg.CreateTopicsRequestTopic) {
	b.t.Helper()
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Topics = topics
	for _, r := range ask[*kmsg.CreateTopicsResponse](b, 7, req).Topics {
		if r.ErrorCode != 0 {
			b.t.Fatalf("creating %s: %d %s", r.Topic, r.ErrorCode, said(r.ErrorMessage))
		}
	}
}

// said shows a message that may be null.
func said(message *string) string {
	if message == nil {
		return "<null>"
	}
	return *message
}

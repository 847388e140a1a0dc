package cli

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// fakeBroker speaks Kafka's frames for a test: it says which versions it knows and has answer answer the rest.
type fakeBroker struct {
	t        *testing.T
	listener net.Listener
	versions map[int16]int16 // the highest of each request
	answer   func(kmsg.Request) kmsg.Response
	lock     sync.Mutex // of what answer works on
	serving  sync.WaitGroup
}

func (b *fakeBroker) start() string {
	var err error
	if b.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		b.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	b.serving.Go(func() { b.accept(ctx) })
	b.t.Cleanup(func() {
		cancel()
		b.listener.Close()
		b.serving.Wait()
	})
	return b.listener.Addr().String()
}

func (b *fakeBroker) accept(ctx context.Context) {
	for {
		conn, err := b.listener.Accept()
		if err != nil {
			return
		}
		b.serving.Go(func() {
			stop := context.AfterFunc(ctx, func() { conn.Close() })
			defer stop()
			defer conn.Close()
			for b.exchange(conn) == nil {
			}
		})
	}
}

const headerLength = 10 // key, version, correlation id, and the length of the client id

// exchange answers one request.
func (b *fakeBroker) exchange(conn net.Conn) error {
	var size [4]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		return err
	}
	frame := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(conn, frame); err != nil {
		return err
	}
	req := kmsg.RequestForKey(int16(binary.BigEndian.Uint16(frame)))
	if req == nil {
		return errors.New("an unknown request")
	}
	req.SetVersion(int16(binary.BigEndian.Uint16(frame[2:])))
	body := frame[headerLength+max(0, int(int16(binary.BigEndian.Uint16(frame[8:])))):]
	if req.IsFlexible() {
		body = body[1:] // no tags
	}
	newest := req.Key() == int16(kmsg.ApiVersions) && req.GetVersion() > b.versions[req.Key()]
	if newest { // answered in the oldest form
		req.SetVersion(0)
	} else if err := req.ReadFrom(body); err != nil {
		b.t.Errorf("%T: %v", req, err)
		return err
	}
	resp := b.respond(req, newest)
	out := append(make([]byte, 4), frame[4:8]...)
	if resp.IsFlexible() && req.Key() != int16(kmsg.ApiVersions) {
		out = append(out, 0)
	}
	out = resp.AppendTo(out)
	binary.BigEndian.PutUint32(out, uint32(len(out)-4))
	_, err := conn.Write(out)
	return err
}

func (b *fakeBroker) respond(req kmsg.Request, tooNew bool) kmsg.Response {
	if req.Key() != int16(kmsg.ApiVersions) {
		b.lock.Lock()
		defer b.lock.Unlock()
		return b.answer(req)
	}
	resp := req.ResponseKind().(*kmsg.ApiVersionsResponse)
	if tooNew {
		resp.ErrorCode = 35 // UNSUPPORTED_VERSION
	}
	for key, highest := range b.versions {
		k := kmsg.NewApiVersionsResponseApiKey()
		k.ApiKey, k.MaxVersion = key, highest
		resp.ApiKeys = append(resp.ApiKeys, k)
	}
	return resp
}

// host is where the broker listens, as its answers tell it.
func (b *fakeBroker) host() (string, int32) {
	a := b.listener.Addr().(*net.TCPAddr)
	return a.IP.String(), int32(a.Port)
}

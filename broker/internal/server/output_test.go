package server

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/big"
	mathrand "math/rand/v2"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skeinstream/skein/internal/vfs"
)

// fileOf writes content to a file on the disk.
func fileOf(t testing.TB, content []byte) vfs.File {
	t.Helper()
	f, err := vfs.Disk().Create(filepath.Join(t.TempDir(), "segment"))
	if err == nil {
		_, err = f.WriteAt(content, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func randomBytes(seed uint64, n int) []byte {
	b := make([]byte, n)
	r := mathrand.NewChaCha8([32]byte{byte(seed)})
	_, _ = r.Read(b)
	return b
}

// certificate is a throw-away one for 127.0.0.1.
func certificate(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func (ts *testServer) dialTLS() *client {
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{certificate(ts.t)}})
	if err != nil {
		ts.t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- ts.Serve(l, ListenerInfo{Name: "tls"}) }()
	conn, err := tls.Dial("tcp", l.Addr().String(), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		ts.t.Fatal(err)
	}
	ts.t.Cleanup(func() {
		conn.Close()
		l.Close()
		<-done
	})
	return &client{t: ts.t, conn: conn}
}

// Pieces of every size, from memory and from files, arrive as one frame, on every transport.
func TestResponsesOfManyPieces(t *testing.T) {
	content := randomBytes(1, 3<<20)
	file := fileOf(t, content)
	memory := vfs.NewMemory()
	inMemory, err := memory.Create("segment")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := inMemory.WriteAt(content, 0); err != nil {
		t.Fatal(err)
	}
	var tiny []Chunk // more pieces than one writev takes
	for i := range 3000 {
		tiny = append(tiny, Chunk{Bytes: content[i : i+1]})
	}
	at := func(f vfs.File, pos, n int64) Chunk { return Chunk{File: FileRange{f, pos, n}} }
	for _, tt := range []struct {
		name   string
		chunks []Chunk
	}{
		{"none", nil},
		{"bytes", []Chunk{{Bytes: content[:10]}, {Bytes: content[10:20]}}},
		{"many bytes", []Chunk{{Bytes: content}}},
		{"tiny pieces", tiny},
		{"small file range", []Chunk{at(file, 100, 1000)}},
		{"large file range", []Chunk{at(file, 77, 2<<20)}},
		{"the whole file", []Chunk{at(file, 0, 3<<20)}},
		{"mixed", []Chunk{{Bytes: content[:50]}, at(file, 5, 20), {Bytes: content[:60]}, at(file, 1<<20, 100<<10), at(file, 3, 300), {Bytes: content[:9]}, {Bytes: content[:9], File: FileRange{file, 9, 1 << 20}}}},
		{"a file that is none of the system's", []Chunk{at(inMemory, 11, 2<<20), {Bytes: content[:5]}, at(inMemory, 0, 10)}},
	} {
		want := []byte("head")
		for _, c := range tt.chunks {
			want = append(want, c.Bytes...)
			want = append(want, content[c.File.Pos:c.File.Pos+c.File.Len]...)
		}
		for name, dial := range map[string]func(*testServer) *client{
			"memory": (*testServer).dial, "tls": (*testServer).dialTLS,
			"socket": func(ts *testServer) *client { return ts.dialTCP(ts.listen()) },
		} {
			t.Run(tt.name+" over "+name, func(t *testing.T) {
				released := make(chan struct{}, 1)
				c := dial(handle(func(_ context.Context, r *Request) {
					r.Reply(Response{Body: append(r.Buffer(100), "head"...), Chunks: tt.chunks, Release: func() { released <- struct{}{} }})
				}).start(t, Config{}))
				for i := range int32(3) {
					c.ask(frame(keyFetch, 0, i, ""))
					if correlation, got := c.receive(); correlation != i || got != string(want) {
						t.Fatalf("answer %d of %d bytes differs from what was sent, %d bytes", correlation, len(got), len(want))
					}
					<-released
				}
			})
		}
	}
}

// A file that is shorter than was promised cannot be made good: the connection closes, and somebody is told.
func TestFileShorterThanPromised(t *testing.T) {
	for _, size := range []int64{100, 1 << 20} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			file := fileOf(t, make([]byte, size))
			ts := handle(func(_ context.Context, r *Request) {
				r.Reply(Response{Chunks: []Chunk{{File: FileRange{file, 1, size}}}})
			}).start(t, Config{})
			c := ts.dialTCP(ts.listen())
			c.send(frame(keyFetch, 0, 1, ""))
			if _, _, err := c.tryReceive(); err == nil {
				t.Fatal("got a whole answer")
			}
			ts.wantReason(ClosedFailed)
		})
	}
}

// What a failed response leaves behind must not reach the next connection.
func TestFailedResponseLeavesNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := vfs.NewMemory()
		empty, err := memory.Create("segment")
		if err != nil {
			t.Fatal(err)
		}
		ts := handle(func(_ context.Context, r *Request) {
			if r.Key == keyFetch {
				r.Reply(Response{Body: []byte("secret"), Chunks: []Chunk{{File: FileRange{empty, 0, 10}}}})
				return
			}
			r.Reply(Response{})
		}).start(t, Config{})
		for range 20 {
			first, second := ts.dial(), ts.dial()
			first.ask(frame(keyFetch, 0, 1, ""))
			first.wantClosed()
			second.ask(frame(keyMetadata, 0, 2, ""))
			second.wantAnswer(2, "")
		}
	})
}

// A client that never reads pins what is in its one response, blocks nobody, and is let go in the end.
func TestPeerThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var served atomic.Int32
		ts := handle(func(_ context.Context, r *Request) {
			if r.Key == keyFetch {
				served.Add(1)
			}
			r.Reply(Response{Body: make([]byte, 100<<10)})
		}).start(t, Config{WriteTimeout: time.Minute})
		stuck, other := ts.dial(), ts.dial()
		var frames [][]byte
		for i := range int32(50) {
			frames = append(frames, frame(keyFetch, 0, i, ""))
		}
		stuck.ask(frames...)
		time.Sleep(59 * time.Second)
		if n := served.Load(); n > 2 {
			t.Errorf("%d requests served for a client that reads nothing", n)
		}
		other.ask(frame(keyMetadata, 0, 1, ""))
		other.receive()
		if len(ts.closed) != 0 {
			t.Fatal("closed before the write timeout")
		}
		time.Sleep(31*time.Second + 1)
		synctest.Wait()
		ts.wantReason(ClosedSlow)
	})
}

// The write timeout is for progress: a client that reads slowly is served.
func TestSlowReaderThatReadsIsServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ts := handle(func(_ context.Context, r *Request) {
			r.Reply(Response{Body: make([]byte, 4<<20)})
		}).start(t, Config{WriteTimeout: time.Minute})
		c := ts.dial()
		c.send(frame(keyFetch, 0, 1, ""))
		buf := make([]byte, 128<<10)
		for range 32 {
			time.Sleep(20 * time.Second)
			if _, err := io.ReadFull(c.conn, buf); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestResponseThatFitsNoFrameClosesTheConnection(t *testing.T) {
	file := fileOf(t, nil)
	ts := handle(func(_ context.Context, r *Request) {
		r.Reply(Response{Chunks: []Chunk{{File: FileRange{file, 0, 1 << 31}}}})
	}).start(t, Config{})
	c := ts.dialTCP(ts.listen())
	c.send(frame(keyFetch, 0, 1, ""))
	c.wantClosed()
	ts.wantReason(ClosedFailed)
}

func TestTLSHandshakeFailures(t *testing.T) {
	ts := handle(echo).start(t, Config{})
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{certificate(t)}})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- ts.Serve(l, ListenerInfo{Name: "tls"}) }()
	t.Cleanup(func() { l.Close(); <-done })
	plain := ts.dialTCP(l.Addr().String())
	plain.send(frame(keyMetadata, 0, 1, ""))
	_, _ = io.Copy(io.Discard, plain.conn) // an alert, then the end
	ts.wantReason(ClosedInvalid)
	ts.dialTCP(l.Addr().String()).conn.Close()
	ts.wantReason(ClosedByPeer)
	if lines := ts.logs.lines(); len(lines) != 1 || !strings.Contains(lines[0], "TLS handshake") {
		t.Errorf("log %q", lines)
	}
}

// Events tell every request, with its bytes and times.
func TestRequestEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ts := handle(func(_ context.Context, r *Request) {
			time.Sleep(time.Second)
			if r.Key == keyProduce {
				r.NoReply()
				return
			}
			r.Reply(Response{Body: []byte("abc"), ErrorCode: 3})
		}).start(t, Config{})
		c := ts.dial()
		asked := [][]byte{frame(keyProduce, 1, 1, "12345"), frame(keyMetadata, flexibleFrom, 2, "")}
		c.ask(asked...)
		time.Sleep(5 * time.Second)
		c.wantAnswer(2, "\x00abc")
		synctest.Wait()
		want := []RequestInfo{
			{Key: keyProduce, Version: 1, Handling: time.Second, Total: time.Second, BytesIn: int64(len(asked[0]))},
			{Key: keyMetadata, Version: flexibleFrom, ErrorCode: 3, Handling: time.Second, Total: 4 * time.Second, BytesIn: int64(len(asked[1])), BytesOut: 12},
		}
		if !slices.Equal(ts.over, want) {
			t.Errorf("got  %+v\nwant %+v", ts.over, want)
		}
	})
}

func TestConnectionsOfManyClientsAtOnce(t *testing.T) {
	content := randomBytes(2, 1<<20)
	file := fileOf(t, content)
	ts := handle(func(_ context.Context, r *Request) {
		if r.Key == keyFetch {
			n := int64(len(r.Body)) * 200
			go r.Reply(Response{Body: []byte("f"), Chunks: []Chunk{{File: FileRange{file, 0, n}}}})
			return
		}
		body := append(r.Buffer(len(r.Body)), r.Body...)
		go r.Reply(Response{Body: body})
	}).start(t, Config{RequestMemory: 128 << 10, Patience: time.Hour})
	addr := ts.listen()
	errs := make(chan error, 10)
	for i := range cap(errs) {
		go func() { errs <- manyRequests(addr, content, uint64(i)) }()
	}
	for range cap(errs) {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if used := ts.Stats().RequestMemory; used != 0 {
		t.Errorf("%d bytes in flight at the end", used)
	}
}

// manyRequests pipelines random requests on one connection and checks every answer.
func manyRequests(addr string, content []byte, seed uint64) error {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	r := mathrand.New(mathrand.NewPCG(seed, 1))
	want := make(chan []byte, 300)
	sendErr := make(chan error, 1)
	go func() { sendErr <- sendMany(conn, r, content, want) }()
	c := &client{conn: conn}
	for i := int32(0); ; i++ {
		w, ok := <-want
		if !ok {
			return <-sendErr
		}
		correlation, got, err := c.tryReceive()
		if err != nil || correlation != i || !bytes.Equal([]byte(got), w) {
			return errors.Join(fmt.Errorf("seed %d: answer %d to request %d, %d bytes, want %d", seed, correlation, i, len(got), len(w)), err)
		}
	}
}

func sendMany(conn net.Conn, r *mathrand.Rand, content []byte, want chan<- []byte) error {
	defer close(want)
	for i := range int32(150) {
		n := r.IntN(1000)
		f := frame(keyFetch, 0, i, string(content[:n]))
		w := append([]byte("f"), content[:n*200]...)
		if r.IntN(4) > 0 {
			n = r.IntN(100 << (r.IntN(11)))
			f = frame(keyProduce, 0, i, string(content[:n]))
			w = content[:n]
		}
		if _, err := conn.Write(f); err != nil {
			return err
		}
		want <- w
	}
	return nil
}

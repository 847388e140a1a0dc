package server

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/skeinstream/skein/internal/vfs"
)

// benchServer serves loopback sockets without logs or events.
func benchServer(b *testing.B, h Handler) (*Server, string) {
	b.Helper()
	s := New(Config{}, h)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l, ListenerInfo{Name: "tcp"}) }()
	b.Cleanup(func() {
		if err := s.Shutdown(context.Background()); err != nil {
			b.Error(err)
		}
		<-done
	})
	return s, l.Addr().String()
}

func benchDial(b *testing.B, addr string) net.Conn {
	b.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close() })
	return conn
}

// BenchmarkRequests measures a request and its small answer, with so many in flight on one connection, answered in the
// handler or by another goroutine as commits do.
func BenchmarkRequests(b *testing.B) {
	answer := []byte(strings.Repeat("a", 40))
	late := func(replies chan *Request) {
		for r := range replies {
			r.Reply(Response{Body: answer})
		}
	}
	for _, size := range []int{100, 1 << 10, 16 << 10, 1 << 20} {
		for _, inFlight := range []int{1, 5, 64} {
			for _, mode := range []string{"at once", "later"} {
				b.Run(fmt.Sprintf("%dB/%d in flight/%s", size, inFlight, mode), func(b *testing.B) {
					replies := make(chan *Request, maxInFlight)
					go late(replies)
					b.Cleanup(func() { close(replies) })
					_, addr := benchServer(b, handle(func(_ context.Context, r *Request) {
						if mode == "later" {
							replies <- r
							return
						}
						r.Reply(Response{Body: answer})
					}))
					exchange(b, benchDial(b, addr), frame(keyProduce, 0, 1, strings.Repeat("x", size)), inFlight, 40)
				})
			}
		}
	}
}

// exchange sends f over and over with so many in flight, and reads answers of answer bytes.
func exchange(b *testing.B, conn net.Conn, f []byte, inFlight, answer int) {
	slots := make(chan struct{}, inFlight)
	b.SetBytes(int64(len(f)))
	b.ReportAllocs()
	b.ResetTimer()
	go func() {
		for range b.N {
			slots <- struct{}{}
			if _, err := conn.Write(f); err != nil {
				return
			}
		}
	}()
	in := bufio.NewReaderSize(conn, 64<<10)
	for range b.N {
		if _, err := in.Discard(8 + answer); err != nil {
			b.Fatal(err)
		}
		<-slots
	}
}

// BenchmarkFileResponse measures a response out of a file: by sendfile from sendfileMin on, by pread below.
func BenchmarkFileResponse(b *testing.B) {
	for _, size := range []int64{4 << 10, 16 << 10, sendfileMin, 256 << 10, 1 << 20, 16 << 20} {
		for _, road := range []string{"sendfile", "pread"} {
			b.Run(fmt.Sprintf("%dKiB/%s", size>>10, road), func(b *testing.B) {
				file := fileOf(b, make([]byte, size))
				var chunk FileRange
				if road == "sendfile" {
					chunk = FileRange{file, 0, size}
				} else {
					chunk = FileRange{plainFile{file}, 0, size}
				}
				head := []byte("some head")
				_, addr := benchServer(b, handle(func(_ context.Context, r *Request) {
					r.Reply(Response{Body: head, Chunks: []Chunk{{File: chunk}}})
				}))
				conn := benchDial(b, addr)
				f := frame(keyFetch, 0, 1, "")
				buf := make([]byte, 8+int(size)+len(head))
				b.SetBytes(size)
				b.ReportAllocs()
				for b.Loop() {
					if _, err := conn.Write(f); err != nil {
						b.Fatal(err)
					}
					if _, err := io.ReadFull(conn, buf); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// plainFile hides that a file is one of the system's.
type plainFile struct{ vfs.File }

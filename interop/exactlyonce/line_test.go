package exactlyonce

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"
)

// echo answers what it is told.
func echo(t *testing.T) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() { // ends with the listener; those that it serves, with their connections
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	return l.Addr().String()
}

func call(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// answer is what comes back within patience.
func answer(t *testing.T, c net.Conn, patience time.Duration) error {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	_, err := io.ReadFull(c, make([]byte, 1))
	return err
}

func tell(t *testing.T, c net.Conn) {
	t.Helper()
	if _, err := c.Write([]byte{'x'}); err != nil {
		t.Fatal(err)
	}
}

func TestLineIsCutAndMended(t *testing.T) {
	const moment = 50 * time.Millisecond
	while := map[outage]time.Duration{silent: moment, held: moment, reset: patience}
	for how, late := range map[outage]bool{silent: false, held: true, reset: false} {
		t.Run(string(how), func(t *testing.T) {
			l := newLine(t, "line", echo(t))
			c := call(t, l.addr)
			tell(t, c)
			if err := answer(t, c, patience); err != nil {
				t.Fatalf("before: %v", err)
			}
			if err := l.cut(how); err != nil {
				t.Fatal(err)
			}
			tell(t, c)
			if err := answer(t, c, while[how]); err == nil || errors.Is(err, os.ErrDeadlineExceeded) != (how != reset) {
				t.Errorf("while it is cut: %v", err)
			}
			if err := l.mend(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := answer(t, c, patience); late != (err == nil) || errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("afterwards: %v", err)
			}
			next := call(t, l.addr)
			tell(t, next)
			if err := answer(t, next, patience); err != nil {
				t.Errorf("a new connection: %v", err)
			}
		})
	}
}

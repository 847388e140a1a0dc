package server

import (
	"bytes"
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// large answers every request with 1 MiB.
func large(_ context.Context, r *Request) { r.Reply(Response{Body: bytes.Repeat([]byte{'x'}, 1<<20)}) }

// TestPeersThatReadNothing: many peers ask for a lot and read none of it. What is kept for them stays bounded, those who read
// are served, and nobody loses his connection while there is room.
func TestPeersThatReadNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ts := handle(large).start(t, Config{ResponseMemory: 10 << 20, Patience: time.Second})
		reader := ts.dial()
		for i := range 100 {
			ts.dial().ask(frame(keyMetadata, 0, 1, ""))
			synctest.Wait()
			if kept := ts.Stats().ResponseMemory; kept > 20<<20 {
				t.Fatalf("after %d peers %d bytes are kept", i, kept)
			}
			if i < 9 && len(ts.closed) > 0 {
				t.Fatalf("a connection of %d was closed while there was room", i)
			}
			reader.ask(frame(keyMetadata, 0, int32(i), ""))
			if n, _ := reader.receive(); n != int32(i) {
				t.Fatalf("the reader was answered %d, want %d", n, i)
			}
			time.Sleep(200 * time.Millisecond)
		}
		if n := len(ts.closed); n < 80 || n > 95 {
			t.Errorf("%d connections were closed", n)
		}
		ts.wantReason(ClosedSlow)
	})
}

// TestAPeerThatReadsSlowly keeps its connection, however short memory is, as long as it takes something.
func TestAPeerThatReadsSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ts := handle(large).start(t, Config{ResponseMemory: 1 << 19, Patience: time.Second})
		slow := ts.dial()
		slow.ask(frame(keyMetadata, 0, 1, ""))
		got := 0
		for b := make([]byte, 200<<10); got < 1<<20+8; {
			time.Sleep(500 * time.Millisecond)
			n, err := slow.conn.Read(b)
			if err != nil {
				t.Fatalf("after %d bytes: %v", got, err)
			}
			got += n
			other := ts.dial()
			other.ask(frame(keyMetadata, 0, 2, ""))
			other.receive()
		}
	})
}

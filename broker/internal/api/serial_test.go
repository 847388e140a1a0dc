package api

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/server"
)

func TestSerialRunsInOrderAndEndsWhenThereIsNothingToDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s serial
		var ran []int
		for i := range 100 {
			s.do(func() { ran = append(ran, i) })
		}
		if err := s.wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(ran) != 100 || !slices.IsSorted(ran) {
			t.Errorf("%v", ran)
		}
		if err := s.wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

func TestSerialWaitEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s serial
		hold := make(chan struct{})
		s.do(func() { <-hold })
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.wait(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		close(hold)
	})
}

// TestPanicsBehindTheReaderAreContained: what a handler does later, it does on goroutines that all connections share.
func TestPanicsBehindTheReaderAreContained(t *testing.T) {
	for name, later := range map[string]func(h *Handler) *serial{
		"a change":    func(h *Handler) *serial { return &h.control },
		"a slow read": func(h *Handler) *serial { return &h.data.slow },
	} {
		b := start(t, nil)
		broken := describeClusterEntry()
		broken.serve = func(h *Handler, _ context.Context, r *server.Request) {
			later(h).answer(r, func() { panic("broken") })
		}
		b.table[broken.key] = broken
		go func() { _, _ = b.conn.Write([]byte{0, 0, 0, 11, 0, 60, 0, 0, 0, 0, 0, 7, 0, 0, 0}) }()
		if n, err := b.conn.Read(make([]byte, 1)); err == nil {
			t.Errorf("%s: %d bytes, want the connection closed", name, n)
		}
		b.serve() // a new connection
		if got := ask[*kmsg.ApiVersionsResponse](b, 0, kmsg.NewPtrApiVersionsRequest()); got.ErrorCode != 0 {
			t.Errorf("%s: the next connection is answered with %d", name, got.ErrorCode)
		}
	}
}

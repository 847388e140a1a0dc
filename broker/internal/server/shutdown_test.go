package server

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Shutdown takes nothing new, lets the parked answer early, and finishes what is in flight.
func TestShutdownFinishesWhatIsInFlight(t *testing.T) {
	eachTransport(t, func(t *testing.T, dial func(*testServer) *client) {
		produced := make(chan *Request, 1)
		fetching := make(chan struct{})
		ts := handle(func(ctx context.Context, r *Request) {
			if r.Key == keyProduce {
				produced <- r
				return
			}
			context.AfterFunc(ctx, func() {
				if !errors.Is(context.Cause(ctx), ErrShutdown) {
					t.Errorf("the context ended with %v", context.Cause(ctx))
				}
				r.Reply(Response{Body: []byte("early")})
			})
			close(fetching)
		}).start(t, Config{})
		producer, consumer, idle := dial(ts), dial(ts), dial(ts)
		producer.send(frame(keyProduce, 0, 1, ""))
		r := <-produced
		consumer.send(frame(keyFetch, 0, 2, ""))
		<-fetching
		half := dial(ts)
		half.ask(frame(keyProduce, 0, 3, strings.Repeat("x", 1<<20))[:1<<19])

		down := make(chan error, 1)
		go func() { down <- ts.Shutdown(context.Background()) }()
		consumer.wantAnswer(2, "early")
		consumer.wantClosed()
		idle.wantClosed()
		select {
		case err := <-down:
			t.Fatalf("shut down (%v) with a request in flight", err)
		default:
		}
		r.Reply(Response{Body: []byte("done")})
		producer.wantAnswer(1, "done")
		producer.wantClosed()
		if err := <-down; err != nil {
			t.Error(err)
		}
		if lines := ts.logs.lines(); len(lines) > 0 {
			t.Errorf("log %q, want none", lines)
		}
	})
}

// A handler that does not finish in time is left behind; its connection is closed and its late answer dropped.
func TestShutdownEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waiting := make(chan *Request, 1)
		ts := handle(parked(waiting)).start(t, Config{})
		c := ts.dial()
		c.send(frame(keyProduce, 0, 1, ""))
		r := <-waiting
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := ts.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the deadline's error", err)
		}
		c.wantClosed()
		r.Reply(Response{})
		if err := ts.Shutdown(t.Context()); err != nil {
			t.Errorf("shutting down again: %v", err)
		}
		ts.wantReason(ClosedByShutdown)
	})
}

func TestShutdownOfAnUnusedServer(t *testing.T) {
	ts := handle(echo).start(t, Config{})
	for range 2 {
		if err := ts.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}
	c := ts.dial() // too late
	c.wantClosed()
}

// Shutdown does not wait for what waits itself: at the gate, for memory, for a throttle time.
func TestShutdownInterruptsWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waiting := make(chan *Request, 10)
		ts := handle(func(_ context.Context, r *Request) {
			if r.Key == keyProduce {
				waiting <- r
				return
			}
			r.Reply(Response{ThrottleMs: 1000000})
		}).start(t, Config{Connections: ConnectionLimits{Max: 4}, RequestMemory: 15000})
		muted := ts.dial()
		muted.ask(frame(keyMetadata, 0, 1, ""), frame(keyMetadata, 0, 2, ""))
		muted.receive()
		holder, over, starved := ts.dial(), ts.dial(), ts.dial()
		for _, c := range []*client{holder, over, starved} {
			c.ask(frame(keyProduce, 0, 1, strings.Repeat("x", 9000)))
			synctest.Wait()
		}
		atGate := ts.dial()
		synctest.Wait()
		down := make(chan error, 1)
		go func() { down <- ts.Shutdown(context.Background()) }()
		for _, c := range []*client{muted, starved, atGate} {
			c.wantClosed()
		}
		for range 2 {
			(<-waiting).NoReply()
		}
		if err := <-down; err != nil {
			t.Error(err)
		}
	})
}

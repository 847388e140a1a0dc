package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// eachTransport runs a test over memory with fake time, and over a socket.
func eachTransport(t *testing.T, f func(t *testing.T, dial func(ts *testServer) *client)) {
	t.Run("memory", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { f(t, (*testServer).dial) })
	})
	t.Run("socket", func(t *testing.T) {
		f(t, func(ts *testServer) *client { return ts.dialTCP(ts.listen()) })
	})
}

func TestAnswersEcho(t *testing.T) {
	eachTransport(t, func(t *testing.T, dial func(*testServer) *client) {
		c := dial(handle(echo).start(t, Config{}))
		for i := range int32(3) {
			c.ask(frame(keyMetadata, 0, i, "hello"))
			c.wantAnswer(i, "hello")
		}
	})
}

func TestManyFramesInOneWrite(t *testing.T) {
	eachTransport(t, func(t *testing.T, dial func(*testServer) *client) {
		c := dial(handle(echo).start(t, Config{}))
		var frames [][]byte
		for i := range int32(500) {
			frames = append(frames, frame(int16(i%2)*keyMetadata, 0, i, fmt.Sprint(i)))
		}
		c.ask(frames...)
		for i := range int32(500) {
			c.wantAnswer(i, fmt.Sprint(i))
		}
	})
}

// A Produce may start while earlier Produces wait for the disk, as may an OffsetCommit after others, and no answer overtakes (T6).
func TestProducesOverlapAndAnswersKeepTheirOrder(t *testing.T) {
	for _, key := range []int16{keyProduce, keyOffsetCommit} {
		eachTransport(t, func(t *testing.T, dial func(*testServer) *client) {
			waiting := make(chan *Request, 3)
			c := dial(handle(parked(waiting)).start(t, Config{}))
			c.ask(frame(key, 0, 1, ""), frame(key, 0, 2, ""), frame(key, 0, 3, ""))
			first, second, third := <-waiting, <-waiting, <-waiting
			third.Reply(Response{Body: []byte("c")})
			second.Reply(Response{Body: []byte("b")})
			first.Reply(Response{Body: []byte("a")})
			c.wantAnswer(1, "a")
			c.wantAnswer(2, "b")
			c.wantAnswer(3, "c")
		})
	}
}

// A Produce that holds lets nothing start behind it, until it proceeds or is finished.
func TestHeldProduceIsNotOvertaken(t *testing.T) {
	for name, end := range map[string]func(*Request){
		"proceeds": (*Request).Proceed,
		"finished": func(r *Request) { r.Reply(Response{Body: []byte("a")}) },
		"fails":    func(r *Request) { r.Fail(errors.New("no")) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				waiting := make(chan *Request, 2)
				c := handle(func(_ context.Context, r *Request) {
					if r.CorrelationID == 1 {
						r.Hold()
					}
					waiting <- r
				}).start(t, Config{}).dial()
				c.ask(frame(keyProduce, 0, 1, ""), frame(keyProduce, 0, 2, ""))
				first := <-waiting
				synctest.Wait()
				if len(waiting) != 0 {
					t.Fatal("the second was started behind a held one")
				}
				end(first)
				synctest.Wait()
				if name == "fails" {
					if len(waiting) != 0 {
						t.Fatal("the second was started behind one that failed")
					}
					return
				}
				(<-waiting).Reply(Response{Body: []byte("b")})
				if name == "proceeds" {
					first.Reply(Response{Body: []byte("a")})
				}
				c.wantAnswer(1, "a")
				c.wantAnswer(2, "b")
			})
		})
	}
}

// Everything but Produce after Produce and OffsetCommit after OffsetCommit waits for what is before it.
func TestOthersWaitForEarlierRequests(t *testing.T) {
	for _, tt := range []struct{ first, second int16 }{
		{keyProduce, keyMetadata}, {keyFetch, keyProduce}, {keyFetch, keyFetch}, {keyFetch, keyApiVersions},
		{keyProduce, keyOffsetCommit}, {keyOffsetCommit, keyProduce}, {keyOffsetCommit, 9}, {keyOffsetCommit, keyFetch},
	} {
		t.Run(fmt.Sprintf("%d after %d", tt.second, tt.first), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				waiting := make(chan *Request, 2)
				c := handle(parked(waiting)).start(t, Config{}).dial()
				c.ask(frame(tt.first, 0, 1, ""), frame(tt.second, 0, 2, ""))
				first := <-waiting
				synctest.Wait()
				if len(waiting) != 0 {
					t.Fatal("the second request was started before the first was finished")
				}
				first.Reply(Response{})
				c.wantAnswer(1, "")
				(<-waiting).Reply(Response{})
				c.wantAnswer(2, "")
			})
		})
	}
}

// acks=0: no response, not even an empty one; the next answer is the next request's (T6).
func TestNoReplyLeavesNoTrace(t *testing.T) {
	eachTransport(t, func(t *testing.T, dial func(*testServer) *client) {
		waiting := make(chan *Request, 3)
		c := dial(handle(parked(waiting)).start(t, Config{}))
		c.ask(frame(keyProduce, 0, 1, ""), frame(keyProduce, 0, 2, ""))
		first, second := <-waiting, <-waiting
		second.Reply(Response{Body: []byte("second")})
		first.NoReply()
		c.wantAnswer(2, "second")
	})
}

// acks=0 that fails closes the connection, but what was asked before still gets its answer (T6).
func TestFailClosesAfterEarlierAnswers(t *testing.T) {
	eachTransport(t, func(t *testing.T, dial func(*testServer) *client) {
		waiting := make(chan *Request, 2)
		ts := handle(parked(waiting)).start(t, Config{})
		c := dial(ts)
		c.ask(frame(keyProduce, 0, 1, ""), frame(keyProduce, 0, 2, ""))
		first, second := <-waiting, <-waiting
		second.Fail(fmt.Errorf("not leader"))
		first.Reply(Response{Body: []byte("fine")})
		c.wantAnswer(1, "fine")
		c.wantClosed()
	})
}

// A client that has closed its sending side still gets its answers.
// What a client has sent behind a request that ends its connection, it will send again: it must not happen as well.
func TestNothingIsStartedAfterFail(t *testing.T) {
	for _, key := range []int16{keyProduce, keyMetadata} {
		eachTransport(t, func(t *testing.T, dial func(*testServer) *client) {
			requests := make(chan *Request, 10)
			ts := handle(func(_ context.Context, r *Request) {
				requests <- r
				if r.CorrelationID == 2 {
					r.Fail(errors.New("refused"))
				}
			}).start(t, Config{})
			c := dial(ts)
			c.ask(frame(keyProduce, 0, 1, ""), frame(keyProduce, 0, 2, ""), frame(key, 0, 3, ""), frame(key, 0, 4, ""))
			first := <-requests
			<-requests
			first.Reply(Response{})
			c.wantAnswer(1, "")
			c.wantClosed()
			ts.wantReason(ClosedFailed)
			if len(requests) > 0 {
				t.Errorf("request %d was started", (<-requests).CorrelationID)
			}
		})
	}
}

func TestHalfClosedConnectionIsAnswered(t *testing.T) {
	waiting := make(chan *Request, 1)
	ts := handle(parked(waiting)).start(t, Config{})
	c := ts.dialTCP(ts.listen())
	c.send(frame(keyProduce, 0, 1, ""))
	r := <-waiting
	if err := c.conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	<-r.Conn.Context().Done()
	r.Reply(Response{Body: []byte("yes")})
	c.wantAnswer(1, "yes")
	c.wantClosed()
}

// The peer's going away ends the wait of a parked Fetch.
func TestContextEndsWithTheConnection(t *testing.T) {
	eachTransport(t, func(t *testing.T, dial func(*testServer) *client) {
		gone := make(chan struct{})
		c := dial(handle(func(ctx context.Context, r *Request) {
			context.AfterFunc(ctx, func() { r.Reply(Response{}); close(gone) })
		}).start(t, Config{}))
		c.send(frame(keyFetch, 0, 1, ""))
		c.conn.Close()
		<-gone
	})
}

// KIP-219: the answer first, then the connection is not read for its throttle time (T7).
func TestThrottledConnectionIsMutedAfterTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		var served []time.Duration
		c := handle(func(_ context.Context, r *Request) {
			served = append(served, time.Since(begin))
			r.Reply(Response{ThrottleMs: 3000})
		}).start(t, Config{}).dial()
		c.ask(frame(keyProduce, 0, 1, ""), frame(keyProduce, 0, 2, ""))
		c.wantAnswer(1, "")
		if d := time.Since(begin); d != 0 {
			t.Fatalf("the answer came after %v, want it at once", d)
		}
		c.wantAnswer(2, "")
		if want := []time.Duration{0, 3 * time.Second}; !slices.Equal(served, want) {
			t.Fatalf("requests served at %v, want %v", served, want)
		}
	})
}

func TestPipeliningIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waiting := make(chan *Request, 2*maxInFlight)
		c := handle(parked(waiting)).start(t, Config{}).dial()
		var frames [][]byte
		for i := range int32(maxInFlight + 10) {
			frames = append(frames, frame(keyProduce, 0, i, ""))
		}
		c.ask(frames...)
		synctest.Wait()
		if len(waiting) != maxInFlight {
			t.Fatalf("%d requests in the handler, want %d", len(waiting), maxInFlight)
		}
		go func() {
			for range maxInFlight + 10 {
				(<-waiting).Reply(Response{})
			}
		}()
		for range maxInFlight + 10 {
			c.receive()
		}
	})
}

package server

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// holder is the owner of a lease in tests of the budget alone.
type holder struct{ evicted atomic.Bool }

func (h *holder) evict() { h.evicted.Store(true) }

func newLease() (*lease, *holder) {
	h := &holder{}
	return &lease{owner: h}, h
}

// takeLater takes in the background; the returned function tells whether it has been granted.
func takeLater(ctx context.Context, b *budget, l *lease, size int64) (granted func() bool) {
	var done atomic.Bool
	go func() {
		if b.take(ctx, l, size, false) == nil {
			done.Store(true)
		}
	}()
	return func() bool {
		synctest.Wait()
		return done.Load()
	}
}

func TestBudgetGrantsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(100, 0, time.Second)
		whole, _ := newLease()
		over, _ := newLease()
		second, _ := newLease()
		third, _ := newLease()
		if !b.tryTake(whole, 100) || !b.tryTake(over, 30) {
			t.Fatal("the limit and one request must fit")
		}
		gotSecond := takeLater(t.Context(), b, second, 90)
		if gotSecond() {
			t.Fatal("a second request went over the limit")
		}
		gotThird := takeLater(t.Context(), b, third, 1)
		if gotThird() {
			t.Fatal("a small request overtook one that waits")
		}
		b.release(whole)
		if !gotSecond() || gotThird() {
			t.Fatal("want the one who waited longest, again over the limit, and nobody else")
		}
		b.release(over)
		if !gotThird() {
			t.Fatal("not granted when there was room")
		}
		b.release(second)
		b.release(third)
		if b.inUse() != 0 {
			t.Errorf("%d in use at the end", b.inUse())
		}
	})
}

// A request larger than all memory passes, alone over the limit.
func TestBudgetLetsOneLargeRequestThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(100, 0, time.Second)
		large, _ := newLease()
		for range 10 {
			if !b.tryTake(large, 50) { // as its bytes arrive
				t.Fatal("the large request is stuck")
			}
		}
		other, _ := newLease()
		got := takeLater(t.Context(), b, other, 1)
		if got() {
			t.Fatal("another request went over the limit beside it")
		}
		b.release(large)
		if !got() {
			t.Fatal("nothing is granted after it")
		}
		b.release(other)
	})
}

// Only those can give memory back.
func TestBudgetServesFirstWhoHoldsSome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(100, 0, time.Second)
		exempt, _ := newLease()
		half, _ := newLease()
		b.tryTake(half, 50)
		b.tryTake(exempt, 60)
		newcomers := make([]*lease, 3)
		granted := make([]func() bool, len(newcomers))
		for i := range newcomers {
			newcomers[i], _ = newLease()
			granted[i] = takeLater(t.Context(), b, newcomers[i], 60)
			granted[i]() // waits until it is in the queue
		}
		gotRest := takeLater(t.Context(), b, half, 50)
		if gotRest() || granted[0]() {
			t.Fatal("over the limit beside the exempt one")
		}
		b.release(exempt)
		if !gotRest() || !granted[0]() || granted[1]() {
			t.Fatal("want the one who holds memory to go first, and one newcomer over the limit")
		}
		b.release(half)
		if !granted[1]() || granted[2]() {
			t.Fatal("want the newcomers in their order")
		}
		for _, l := range newcomers {
			b.release(l)
		}
		if !granted[2]() {
			t.Fatal("the last is stuck")
		}
		b.release(newcomers[2])
	})
}

// The reserve is given to those whose frames are here, past those whose are not, and again when it comes back.
func TestBudgetReserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(100, 40, time.Second)
		full, _ := newLease()
		b.tryTake(full, 200)
		leases := make([]*lease, 4)
		granted := make([]atomic.Bool, len(leases))
		for i, want := range []struct {
			size int64
			here bool
		}{{10, false}, {30, true}, {20, true}, {90, true}} {
			leases[i], _ = newLease()
			go func() { granted[i].Store(b.take(t.Context(), leases[i], want.size, want.here) == nil) }()
			synctest.Wait()
		}
		wantGranted := func(when string, want ...bool) {
			t.Helper()
			synctest.Wait()
			for i := range want {
				if granted[i].Load() != want[i] {
					t.Fatalf("%s: granted %d is %v", when, i, !want[i])
				}
			}
		}
		wantGranted("what fits the reserve", false, true, false, false)
		b.release(leases[1])
		wantGranted("what fits it again", false, true, true, false)
		b.release(full)
		wantGranted("all memory", true, true, true, true)
		if b.inUse() != 10+20+90 {
			t.Errorf("%d in use", b.inUse())
		}
		for _, l := range leases {
			b.release(l)
		}
		if b.inUse() != 0 {
			t.Errorf("%d in use at the end", b.inUse())
		}
	})
}

// Frames that hold parts of the memory and wait for the rest of it would wait for each other for ever.
func TestBudgetBreaksTheCircleOfPartialFrames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(100, 0, time.Second)
		first, firstOwner := newLease()
		second, secondOwner := newLease()
		b.tryTake(first, 50)
		b.progress(first, time.Now())
		b.tryTake(second, 50)
		b.progress(second, time.Now())
		gotFirst := takeLater(t.Context(), b, first, 50)
		gotSecond := takeLater(t.Context(), b, second, 50)
		if gotFirst() == gotSecond() {
			t.Fatal("want exactly one of the two to go on")
		}
		for range 20 { // who waits for us is not to blame
			time.Sleep(time.Second / 2)
			if gotFirst() {
				b.progress(first, time.Now())
			} else {
				b.progress(second, time.Now())
			}
		}
		if firstOwner.evicted.Load() || secondOwner.evicted.Load() {
			t.Error("a frame that waited for memory was evicted")
		}
		for range 2 {
			if gotFirst() {
				b.release(first)
			}
			if gotSecond() {
				b.release(second)
			}
		}
		if !gotFirst() || !gotSecond() || b.inUse() != 0 {
			t.Errorf("granted %v and %v, %d in use", gotFirst(), gotSecond(), b.inUse())
		}
	})
}

// Only under pressure, only the stalled, and only as many as are needed.
func TestBudgetEvictsStalledFrames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(100, 0, time.Second)
		exempt, _ := newLease()
		stalled, stalledOwner := newLease()
		stalledToo, stalledTooOwner := newLease()
		moving, movingOwner := newLease()
		for _, l := range []*lease{stalled, stalledToo, moving} {
			b.tryTake(l, 33)
			b.progress(l, time.Now())
		}
		b.tryTake(exempt, 33)
		time.Sleep(time.Hour)
		if stalledOwner.evicted.Load() {
			t.Fatal("evicted while nobody waited")
		}
		newcomer, _ := newLease()
		got := takeLater(t.Context(), b, newcomer, 1)
		time.Sleep(900 * time.Millisecond)
		b.progress(moving, time.Now())
		if got() || stalledOwner.evicted.Load() {
			t.Fatal("evicted before patience ran out")
		}
		time.Sleep(200 * time.Millisecond)
		synctest.Wait()
		if !stalledOwner.evicted.Load() || movingOwner.evicted.Load() {
			t.Fatalf("evicted: stalled %v, moving %v; want only the stalled", stalledOwner.evicted.Load(), movingOwner.evicted.Load())
		}
		if stalledTooOwner.evicted.Load() {
			t.Fatal("evicted two where one was enough")
		}
		b.release(stalled)
		if !got() {
			t.Error("the newcomer is not served")
		}
	})
}

func TestBudgetWaitEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(10, 0, time.Second)
		full, _ := newLease()
		over, _ := newLease()
		b.tryTake(full, 10)
		b.tryTake(over, 10)
		cause := errors.New("gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		waits, _ := newLease()
		result := make(chan error, 1)
		go func() { result <- b.take(ctx, waits, 10, false) }()
		synctest.Wait()
		cancel(cause)
		if err := <-result; !errors.Is(err, cause) {
			t.Errorf("got %v, want the context's cause", err)
		}
		b.release(waits)
		b.release(full)
		b.release(over)
		if b.inUse() != 0 {
			t.Errorf("%d in use", b.inUse())
		}
	})
}

// Whatever happens in whatever order: never over the limit and one request, and nothing stays behind.
func TestBudgetBoundHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const limit, most = 100, 150
		b := newBudget(limit, 0, time.Second)
		leases := make([]*lease, 8)
		for i := range leases {
			leases[i], _ = newLease()
		}
		now := time.Unix(0, 0)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			l := leases[rapid.IntRange(0, len(leases)-1).Draw(t, "lease")]
			now = now.Add(time.Duration(rapid.IntRange(0, 1500).Draw(t, "ms")) * time.Millisecond)
			switch rapid.IntRange(0, 4).Draw(t, "act") {
			case 0, 1:
				size := rapid.Int64Range(1, most).Draw(t, "size")
				if l.held+size <= most {
					b.tryTake(l, size)
				}
			case 2:
				b.release(l)
			case 3:
				b.progress(l, now)
			case 4:
				b.filled(l)
			}
			if over := b.inUse() > limit; b.inUse() > limit+most || over != (b.exempt != nil) {
				t.Fatalf("%d in use, of %d and one of %d; exempt %v", b.inUse(), limit, most, b.exempt)
			}
		}
		for _, l := range leases {
			b.release(l)
		}
		if b.inUse() != 0 || b.exempt != nil || b.filling.first != nil || b.filling.last != nil {
			t.Fatalf("left behind: %d in use, exempt %v, filling %v", b.inUse(), b.exempt, b.filling)
		}
	})
}

// Back-pressure, not death: with the memory used up, readers stop reading until some is free.
func TestExhaustedMemoryStopsReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waiting := make(chan *Request, 100)
		ts := handle(parked(waiting)).start(t, Config{RequestMemory: 64 << 10})
		body := strings.Repeat("x", 20<<10)
		for range 50 {
			ts.dial().ask(frame(keyProduce, 0, 1, body))
		}
		synctest.Wait()
		if n := len(waiting); n < 3 || n > 4 {
			t.Fatalf("%d requests of 20 KiB in 64 KiB, want 3 and the exempt one", n)
		}
		for range 50 {
			r := <-waiting
			if used := ts.Stats().RequestMemory; used > 64<<10+24<<10 {
				t.Fatalf("%d bytes in flight", used)
			}
			r.NoReply()
		}
		synctest.Wait()
		if used := ts.Stats().RequestMemory; used != 0 {
			t.Errorf("%d bytes in flight at the end", used)
		}
	})
}

// A parked request that has been read gives its memory back.
func TestReleaseBodyMakesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waiting := make(chan *Request, 100)
		ts := handle(func(_ context.Context, r *Request) {
			r.ReleaseBody()
			waiting <- r
		}).start(t, Config{RequestMemory: 1 << 10})
		for range 20 {
			ts.dial().ask(frame(keyFetch, 0, 1, strings.Repeat("x", 9000)))
		}
		for range 20 {
			(<-waiting).NoReply()
		}
	})
}

// Slow-loris: announcing frames costs no memory, and sending half of them none that others need.
func TestAnnouncedFramesDoNotPinMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ts := handle(echo).start(t, Config{RequestMemory: 4 << 20, Patience: time.Second})
		announced := frame(keyProduce, 0, 1, strings.Repeat("x", 50<<20))
		for range 20 {
			ts.dial().send(announced[:100])
		}
		synctest.Wait()
		if used := ts.Stats().RequestMemory; used > 20*stepFirst {
			t.Fatalf("%d bytes are held for 20 frames of which 100 bytes came", used)
		}
		halves := make([]*client, 20)
		for i := range halves {
			halves[i] = ts.dial()
			halves[i].ask(announced[:1<<20])
		}
		time.Sleep(10 * time.Millisecond)
		honest := ts.dial()
		begin := time.Now()
		body := strings.Repeat("y", 1<<20)
		honest.ask(frame(keyMetadata, 0, 1, body))
		honest.wantAnswer(1, body)
		if d := time.Since(begin); d > 20*time.Second {
			t.Errorf("an honest request waited %v", d)
		}
		ts.wantReason(ClosedSlow)
	})
}

// Others may use up the memory, and send slowly for hours: what is here does not wait for what is not, while the reserve
// lasts.
func TestReserveIsForWhatIsHere(t *testing.T) {
	eachTransport(t, func(t *testing.T, dial func(*testServer) *client) {
		const memory = 16 << 10 // a quarter is the reserve
		requests := make(chan *Request, 10)
		ts := handle(parked(requests)).start(t, Config{RequestMemory: memory})
		hog := dial(ts)
		hog.ask(frame(keyProduce, 0, 1, strings.Repeat("x", memory)))
		hogs := <-requests
		slow := dial(ts)
		slow.ask(frame(keyProduce, 0, 1, strings.Repeat("x", memory))[:100])
		small := dial(ts)
		body := strings.Repeat("y", 3<<10)
		small.ask(frame(keyProduce, 0, 1, body), frame(keyProduce, 0, 2, body))
		first := <-requests // the second does not fit the reserve beside it
		if first.CorrelationID != 1 || string(first.Body) != body {
			t.Fatalf("request %d with %d bytes", first.CorrelationID, len(first.Body))
		}
		if used := ts.Stats().RequestMemory; used > 2*memory {
			t.Errorf("%d bytes of request memory", used)
		}
		first.Reply(Response{Body: []byte("a")})
		small.wantAnswer(1, "a")
		hogs.Reply(Response{})
		hog.wantAnswer(1, "")
		second := <-requests
		second.Reply(Response{Body: []byte("b")})
		small.wantAnswer(2, "b")
	})
}

func TestRequestLargerThanAllMemoryPasses(t *testing.T) {
	eachTransport(t, func(t *testing.T, dial func(*testServer) *client) {
		ts := handle(echo).start(t, Config{RequestMemory: 64 << 10})
		body := strings.Repeat("0123456789abcdef", 3<<20/16)
		clients := []*client{dial(ts), dial(ts), dial(ts)}
		for _, c := range clients {
			c.ask(frame(keyMetadata, 0, 1, body))
		}
		for _, c := range clients {
			c.wantAnswer(1, body)
		}
	})
}

func TestSizeClasses(t *testing.T) {
	last := -1
	for size := 1; size <= 1<<maxBlockBits; size += 1 + size/200 {
		class, block := sizeClass(size)
		if block < size || (size > 1<<minBlockBits && block > size+size/4+1) {
			t.Fatalf("%d bytes get a block of %d", size, block)
		}
		if class != last && class != last+1 {
			t.Fatalf("class %d after %d", class, last)
		}
		last = class
	}
	if class, block := sizeClass(1 << maxBlockBits); class != len(pools{})-1 || block != 1<<maxBlockBits {
		t.Errorf("the largest class is %d with %d bytes", class, block)
	}
	if class, block := sizeClass(1<<maxBlockBits + 1); class != unpooled || block != 1<<maxBlockBits+1 {
		t.Errorf("over the largest: %d, %d", class, block)
	}
}

// What a request becomes in the hands of its handler counts, too.
func TestMemoryCountsWhatARequestSpreadsTo(t *testing.T) {
	requests := make(chan *Request, 1)
	h := handle(parked(requests))
	h.limits = map[int16]Limits{keyMetadata: {Spread: 4}}
	ts := h.start(t, Config{})
	for key, want := range map[int16]int64{keyMetadata: 4 << minBlockBits, keyFetch: 1 << minBlockBits} {
		c := ts.dial()
		c.ask(frame(key, 0, 1, "a few bytes"))
		r := <-requests
		if got := ts.Stats().RequestMemory; got != want {
			t.Errorf("request %d: %d bytes of request memory, want %d", key, got, want)
		}
		r.Reply(Response{})
		c.wantAnswer(1, "")
		if got := ts.Stats().RequestMemory; got != 0 {
			t.Errorf("request %d: %d bytes of request memory after the answer", key, got)
		}
	}
}

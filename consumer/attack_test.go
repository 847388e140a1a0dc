//go:build synctests

package consumer

import (
	"context"
	"errors"
	"math/rand/v2"
	"regexp"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/skeinstream/skein/assign"
)

// What users do that nobody should.

// R-B20: a callback that panics does not have the group wait for it: who recovers goes on polling, and who closes leaves.
func TestACallbackThatPanics(t *testing.T) {
	for name, end := range map[string]func(){"panic": func() { panic("broken") }, "goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *world) {
				w.topic("t", 1)
				w.writes("t", 0, 3)
				cfg, broken := w.config(), true
				cfg.Listener.Assigned = func(context.Context, Rebalance) error {
					if broken {
						broken = false
						end()
					}
					return nil
				}
				a := w.idler("a", cfg, "t")
				done := make(chan struct{})
				go func() {
					defer close(done)
					defer func() { _ = recover() }()
					_, err := a.Poll(context.Background())
					t.Errorf("the poll returned %v", err)
				}()
				<-done
				a.pollsFor(5 * time.Second)
				if a.count() != 3 {
					t.Errorf("it handled %v", a.handled)
				}
				a.did("assigned [t-0]", "error the callback for assigned partitions: it did not return")
				a.close()
				if g := w.group("g"); g.State != "Empty" {
					t.Errorf("the group is %s", g.State)
				}
			})
		})
	}
}

// A panic on the way out is Close's, and everything has ended by then.
func TestACallbackOfClosePanics(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 1)
		cfg := w.config()
		cfg.Listener.Revoked = func(context.Context, Rebalance) error { panic("broken") }
		a := w.idler("a", cfg, "t")
		a.pollsFor(5 * time.Second)
		defer func() {
			if p := recover(); p != "broken" {
				t.Errorf("Close panicked with %v", p)
			}
		}()
		_ = a.Close(context.Background())
		t.Error("Close returned")
	})
}

// FR-D9: Close returns by the end of its context, whatever keeps it: a callback that never ends, a callback that calls Close itself, or a
// commit's function that does.
func TestCloseReturnsInTime(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 1)
		w.writes("t", 0, 1)
		closes := func(m *member, limit time.Duration) {
			t.Helper()
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			began := time.Now()
			err := m.Close(ctx)
			if took := time.Since(began); took > limit {
				t.Errorf("%s took %v: %v", m.name, took, err)
			}
		}
		stuck := make(chan struct{})
		cfg := w.config()
		cfg.Listener.Revoked = func(context.Context, Rebalance) error { <-stuck; return nil }
		a := w.idler("stuck", cfg, "t")
		a.pollsFor(5 * time.Second)
		closes(a, 5*time.Second+closeGrace)
		close(stuck)

		var b *member
		cfg.Listener.Revoked = func(ctx context.Context, _ Rebalance) error { return b.Close(ctx) }
		b = w.idler("from the callback", cfg, "t")
		b.pollsFor(5 * time.Second)
		closes(b, 5*time.Second+closeGrace)

		c := w.idler("from a commit", w.config(), "t")
		c.pollsFor(5 * time.Second)
		c.CommitAsync(func(Offsets, error) { closes(c, 5*time.Second+closeGrace) })
		pass(10 * time.Second)
		closes(c, 0)
	})
}

// Another goroutine's Close has a context of its own, and the context of a callback that is left behind ends.
func TestTwoClose(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 1)
		cfg := w.config()
		var cause error
		cfg.Listener.Assigned = func(ctx context.Context, _ Rebalance) error {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return nil
		}
		a := w.member("a", cfg, "t")
		pass(5 * time.Second)
		var both sync.WaitGroup
		for _, d := range []time.Duration{20 * time.Second, time.Second} {
			both.Go(func() {
				ctx, cancel := context.WithTimeout(context.Background(), d)
				defer cancel()
				began := time.Now()
				if err := a.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("closing: %v", err)
				}
				if took := time.Since(began); took > d+closeGrace {
					t.Errorf("it took %v, with %v", took, d)
				}
			})
			pass(time.Millisecond)
		}
		both.Wait()
		<-a.done
		if !errors.Is(cause, ErrClosed) {
			t.Errorf("the callback's context ended for %v", cause)
		}
	})
}

// Who subscribes again while Unsubscribe tells what goes is a member again, and commits as one.
func TestSubscribeWhileUnsubscribing(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 1)
		w.topic("u", 1)
		w.writes("u", 0, 3)
		cfg := w.config()
		cfg.ManualCommit = true
		var a *member
		again := true
		cfg.Listener.Revoked = func(context.Context, Rebalance) error {
			if !again {
				return nil
			}
			again = false
			return a.Subscribe("u")
		}
		a = w.idler("a", cfg, "t")
		a.pollsFor(5 * time.Second)
		w.ok(a.Unsubscribe(context.Background()))
		a.pollsFor(5 * time.Second)
		a.did("assigned [t-0]", "revoked [t-0]", "assigned [u-0]")
		if err := a.Assign(tp("t", 0)); !errors.Is(err, ErrAssigned) {
			t.Errorf("assigning by hand: %v", err)
		}
		w.ok(a.Commit(context.Background()))
		w.hasCommitted("u", map[int32]int64{0: 3})
		a.close()
	})
}

// Partitions that are assigned by hand after a membership are committed in nobody's name, by time, too.
func TestAutoCommitByHandAfterAMembership(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 1)
		w.topic("u", 1)
		w.writes("u", 0, 3)
		a := w.idler("a", w.config(), "t")
		a.pollsFor(5 * time.Second)
		w.ok(a.Unsubscribe(context.Background()))
		w.ok(a.Assign(tp("u", 0)))
		a.pollsFor(20 * time.Second)
		w.hasCommitted("u", map[int32]int64{0: 3})
		a.close()
	})
}

// A context that has ended gets nothing, though there are records; callbacks run all the same.
func TestPollWithAContextThatHasEnded(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 1)
		w.writes("t", 0, 3)
		a := w.idler("a", w.config(), "t")
		past, cancel := context.WithDeadline(context.Background(), time.Now())
		defer cancel()
		for range 20 {
			pass(time.Second)
			if b, err := a.Poll(past); !errors.Is(err, context.DeadlineExceeded) || b.Len() > 0 {
				t.Errorf("%d records, %v", b.Len(), err)
			}
		}
		a.did("assigned [t-0]")
		a.pollsFor(5 * time.Second)
		if a.count() != 3 {
			t.Errorf("it handled %v", a.handled)
		}
		a.close()
	})
}

// Two errors that say the same are told once: who comes back from long work is not to poll through a minute of them.
func TestErrorsDoNotPileUp(t *testing.T) {
	d := new(desk)
	for range 1000 {
		d.fail(errors.New("the password is wrong"), false)
	}
	d.fail(errors.New("something else"), false)
	for _, want := range []string{"the password is wrong", "something else"} {
		if err := d.err(); err == nil || err.Error() != want {
			t.Errorf("told %v", err)
		}
	}
	if err := d.err(); err != nil {
		t.Errorf("told %v", err)
	}
}

func TestWhatMakesNoSubscription(t *testing.T) {
	inBubble(t, func(w *world) {
		a := w.idler("a", w.config())
		if err := a.SubscribePattern(nil); err == nil {
			t.Error("nil is a pattern")
		}
		a.close()
		cfg := w.config()
		cfg.Assignors = []assign.Assignor{nil}
		if _, err := New(cfg); err == nil {
			t.Error("nil is an assignor")
		}
	})
}

// Everything at once, in any order, by several goroutines: nothing hangs, nothing panics, no goroutine is left, and the group is empty when
// all is closed.
func TestEverythingAtOnce(t *testing.T) {
	for seed := range uint64(4) {
		inBubble(t, func(w *world) {
			w.topic("t", 3)
			w.topic("u", 2)
			w.writes("t", 0, 30)
			w.writes("u", 1, 30)
			cfg := w.config()
			cfg.MaxPollRecords = 7
			cfg.AutoCommitInterval = 50 * time.Millisecond
			members := []*member{w.idler("a", cfg, "t"), w.idler("b", cfg, "t", "u")}
			var all sync.WaitGroup
			for i := range uint64(8) {
				r := rand.New(rand.NewPCG(seed, i))
				all.Go(func() {
					for range 60 {
						mishandle(members[r.IntN(2)], r)
						<-time.After(time.Duration(r.IntN(40)) * time.Millisecond)
					}
				})
			}
			all.Wait()
			for _, m := range members {
				_ = m.Close(context.Background()) // it may have an error to tell
			}
			pass(time.Minute) // the broker may have given a name to one that has left before it heard of that
			if g := w.group("g"); g.State != "Empty" && g.State != "Dead" {
				t.Errorf("seed %d: the group is %s", seed, g.State)
			}
		})
	}
}

// mishandle does one thing, whatever it returns.
func mishandle(m *member, r *rand.Rand) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(r.IntN(100))*time.Millisecond)
	defer cancel()
	p := tp([]string{"t", "u", "none"}[r.IntN(3)], int32(r.IntN(4)-1))
	switch r.IntN(16) {
	case 0:
		_ = m.Unsubscribe(ctx)
	case 1:
		_ = m.Subscribe("t")
	case 2:
		_ = m.Subscribe("u", "t", "none")
	case 3:
		_ = m.SubscribePattern(regexp.MustCompile("^[tu]$"))
	case 4:
		_ = m.EnforceRebalance("for the test")
	case 5:
		_ = m.Seek(p, int64(r.IntN(40)))
	case 6:
		m.Pause(p)
	case 7:
		m.Resume(p)
	case 8:
		_ = m.Commit(ctx)
	case 9:
		m.CommitAsync(func(Offsets, error) { m.CommitAsync(nil) })
	case 10:
		_ = m.CommitOffsets(ctx, Offsets{p: {At: int64(r.IntN(30)), LeaderEpoch: -1}})
	case 11:
		_ = m.Assign(p)
	case 12:
		_ = m.SeekToEnd(ctx)
		_, _ = m.Lags(ctx)
	default:
		_, _ = m.Poll(ctx)
	}
}

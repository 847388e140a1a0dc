//go:build synctests

package consumer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

// committed is what the group has, by partition of one topic.
func (w *world) committed(topic string) map[int32]int64 {
	w.t.Helper()
	resp, err := kadm.NewClient(w.admin).FetchOffsets(context.Background(), "g")
	if err != nil {
		w.t.Fatal(err)
	}
	out := map[int32]int64{}
	for p, o := range resp[topic] {
		out[p] = o.At
	}
	return out
}

func (w *world) hasCommitted(topic string, want map[int32]int64) {
	w.t.Helper()
	if got := w.committed(topic); !maps.Equal(got, want) {
		w.t.Errorf("the group has offsets %v, want %v", got, want)
	}
}

// next polls once, and wants n records.
func (m *member) next(n int) Batch {
	m.w.t.Helper()
	b := m.polled()
	if b.Len() != n {
		m.w.t.Fatalf("%s got %d records, want %d", m.name, b.Len(), n)
	}
	return b
}

// polled is a batch that is not empty.
func (m *member) polled() Batch {
	m.w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	b, err := m.Poll(ctx)
	if err != nil {
		m.w.t.Fatalf("%s polls: %v", m.name, err)
	}
	return b
}

// FR-C3: what is committed by itself is what was handed out before the last poll, every 5 s; and what Close finds.
func TestAutoCommit(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 1)
		w.writes("t", 0, 30)
		cfg := w.config()
		cfg.MaxPollRecords = 10
		a := w.idler("a", cfg, "t")
		a.next(10)
		pass(time.Minute)
		w.hasCommitted("t", map[int32]int64{0: 0}) // where it began
		a.next(10)
		pass(6 * time.Second)
		w.hasCommitted("t", map[int32]int64{0: 10})
		a.next(10)
		a.close()
		w.hasCommitted("t", map[int32]int64{0: 30})
	})
}

// FR-C16: a partition that began at its end is committed there, though nothing was read.
func TestAutoCommitOfTheBeginning(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 2)
		w.writes("t", 0, 30)
		cfg := w.config()
		cfg.Reset = Latest
		a := w.member("a", cfg, "t")
		pass(time.Second)
		b := w.member("b", cfg, "t")
		pass(20 * time.Second)
		w.hasCommitted("t", map[int32]int64{0: 30, 1: 0})
		w.writes("t", 0, 5)
		w.writes("t", 1, 5)
		pass(5 * time.Second)
		if a.count()+b.count() != 10 {
			t.Errorf("%d and %d records of 10", a.count(), b.count())
		}
		a.close()
		b.close()
	})
}

// Manual commits: Commit is of all that was handed out, with the leader epoch (FR-C19); nothing is committed without it.
func TestManualCommit(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 2)
		w.writes("t", 0, 10)
		cfg := w.config()
		cfg.ManualCommit = true
		var sent []Offsets
		cfg.Hooks.Commit = func(o Offsets, err error) {
			if err != nil {
				t.Error(err)
			}
			sent = append(sent, o)
		}
		a := w.idler("a", cfg, "t")
		a.next(10)
		pass(time.Minute)
		w.hasCommitted("t", map[int32]int64{})
		if err := a.Commit(context.Background()); err != nil {
			t.Fatal(err)
		}
		w.hasCommitted("t", map[int32]int64{0: 10, 1: 0})
		if o := sent[0][TopicPartition{Topic: "t"}]; o.LeaderEpoch < 0 {
			t.Errorf("it was sent as %+v", o)
		}
		if err := a.Commit(context.Background()); err != nil || len(sent) != 1 {
			t.Errorf("the second commit, of nothing, sent %d requests: %v", len(sent), err)
		}
		a.close()
		w.hasCommitted("t", map[int32]int64{0: 10, 1: 0})
	})
}

// FR-C4, FR-C6: partitions that are not owned are left out of a commit and named; the rest is stored, with its metadata.
func TestCommitOfWhatIsNotOwned(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 2)
		w.topic("u", 1)
		a := w.idler("a", w.config(), "t")
		a.pollsFor(time.Second)
		mine, other := TopicPartition{Topic: "t", Partition: 1}, TopicPartition{Topic: "u"}
		err := a.CommitOffsets(context.Background(), Offsets{mine: {At: 7, LeaderEpoch: -1, Metadata: "why"}, other: {At: 8, LeaderEpoch: -1}})
		var others *NotOwnedError
		if !errors.As(err, &others) || !errors.Is(err, ErrNotOwned) || !slices.Equal(others.Partitions, []TopicPartition{other}) {
			t.Errorf("committing: %v", err)
		}
		resp, err := kadm.NewClient(w.admin).FetchOffsets(context.Background(), "g")
		if err != nil {
			t.Fatal(err)
		}
		if o, _ := resp.Lookup("t", 1); o.At != 7 || o.Metadata != "why" {
			t.Errorf("the group has %+v", o)
		}
		if _, found := resp.Lookup("u", 0); found {
			t.Error("it was committed")
		}
		a.close()
	})
}

// Metadata that are too long are for the user to hear of, and to shorten.
func TestCommitOfTooLongMetadata(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 1)
		a := w.idler("a", w.config(), "t")
		a.pollsFor(time.Second)
		err := a.CommitOffsets(context.Background(), Offsets{{Topic: "t"}: {At: 7, Metadata: fmt.Sprintf("%5000d", 1)}})
		var refused *CommitError
		if !errors.As(err, &refused) || len(refused.Refused) != 1 {
			t.Errorf("committing: %v", err)
		}
		a.close()
	})
}

// Before the first generation nothing is committed: no broker would refuse it later (R-B13).
func TestCommitBeforeTheFirstGeneration(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 1)
		a := w.idler("a", w.config())
		if err := a.Subscribe("t"); err != nil {
			t.Fatal(err)
		}
		if g := a.GroupMetadata(); g != (GroupMetadata{Group: "g", Generation: -1}) {
			t.Errorf("metadata are %+v", g)
		}
		if _, err := a.committing(); !errors.Is(err, ErrRebalanceInProgress) {
			t.Errorf("committing: %v", err)
		}
		a.close()
	})
}

// Asynchronous commits are answered in their order, and a synchronous one after them is the last word.
func TestCommitAsync(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 1)
		w.writes("t", 0, 50)
		cfg := w.config()
		cfg.ManualCommit, cfg.MaxPollRecords = true, 10
		a := w.idler("a", cfg, "t")
		var mu sync.Mutex
		var told []int64
		for range 4 {
			a.next(10)
			a.CommitAsync(func(o Offsets, err error) {
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					t.Error(err)
				}
				told = append(told, o[TopicPartition{Topic: "t"}].At)
			})
		}
		a.next(10)
		if err := a.Commit(context.Background()); err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		if !slices.Equal(told, []int64{10, 20, 30, 40}) {
			t.Errorf("it was told of %v", told)
		}
		mu.Unlock()
		w.hasCommitted("t", map[int32]int64{0: 50})
		a.close()
	})
}

// FR-B4: commits every few milliseconds while others come and go lose nothing of what a member keeps, and none fails for good.
func TestCommitsDuringRebalances(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 8)
		cfg := w.config()
		cfg.ManualCommit = true
		a := w.member("a", cfg, "t")
		pass(5 * time.Second)
		stop := make(chan struct{})
		var commits sync.WaitGroup
		var refused []error
		commits.Go(func() {
			for i := int64(0); ; i++ {
				offsets := Offsets{}
				for _, p := range a.Assignment() {
					offsets[p] = Offset{At: i, LeaderEpoch: -1}
				}
				err := a.CommitOffsets(context.Background(), offsets)
				if err != nil && !errors.Is(err, ErrRebalanceInProgress) && !errors.Is(err, ErrNotOwned) {
					refused = append(refused, err)
				}
				select {
				case <-stop:
					return
				case <-time.After(5 * time.Millisecond):
				}
			}
		})
		a.log = nil
		b := w.member("b", cfg, "t")
		pass(20 * time.Second)
		close(stop)
		commits.Wait()
		if len(refused) > 0 {
			t.Errorf("%d commits were refused, the first: %v", len(refused), refused[0])
		}
		if len(a.Assignment()) != 4 || len(b.Assignment()) != 4 {
			t.Errorf("they own %v and %v", a.Assignment(), b.Assignment())
		}
		a.forget("assigned []")
		a.did("revoked [t-4 t-5 t-6 t-7]")
		a.close()
		b.close()
	})
}

// FR-C8, FR-C1: records flow, the group rebalances again and again, and with commits before partitions are given up nothing is read twice.
func TestNothingIsReadTwice(t *testing.T) {
	for name, config := range map[string]func(*world) Config{"cooperative": (*world).config, "eager": eager} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *world) {
				w.topic("t", 6)
				a := w.member("a", config(w), "t")
				b := w.member("b", config(w), "t")
				pass(10 * time.Second)
				written := w.writesOn("t", 6)
				for i := range 4 {
					if err := a.EnforceRebalance(fmt.Sprint("for the test, ", i)); err != nil {
						t.Error(err)
					}
					c := w.member("c", config(w), "t")
					pass(5 * time.Second)
					c.close()
					pass(5 * time.Second)
					for value, times := range c.handled {
						a.mu.Lock()
						a.handled[value] += times
						a.mu.Unlock()
					}
				}
				n := written()
				pass(10 * time.Second)
				a.close()
				b.close()
				w.onceEach(n, a, b)
			})
		})
	}
}

// writesOn writes a record to each partition every 50 ms, until the function that it returns is called, which says how many there are.
func (w *world) writesOn(topic string, partitions int32) func() int {
	stop, total := make(chan struct{}), make(chan int)
	go func() {
		n := 0
		for {
			select {
			case <-stop:
				total <- n
				return
			case <-time.After(50 * time.Millisecond):
			}
			var records []*Record
			for p := range partitions {
				records = append(records, &Record{Topic: topic, Partition: p, Value: fmt.Append(nil, "record ", n)})
				n++
			}
			if err := w.writer.ProduceSync(context.Background(), records...).FirstErr(); err != nil {
				w.t.Error(err)
			}
		}
	}()
	return func() int { close(stop); return <-total }
}

// onceEach checks that every record was handled exactly once.
func (w *world) onceEach(n int, members ...*member) {
	w.t.Helper()
	lost, twice := 0, 0
	for i := range n {
		times := 0
		for _, m := range members {
			times += m.handled[fmt.Sprint("record ", i)]
		}
		switch {
		case times == 0:
			lost++
		case times > 1:
			twice++
		}
	}
	if lost > 0 || twice > 0 || n == 0 {
		w.t.Errorf("of %d records %d were lost and %d read twice", n, lost, twice)
	}
}

// FR-D9: Close returns by the end of its context, whatever happens: with a broker that is gone, too.
func TestCloseWithoutABroker(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 1)
		w.writes("t", 0, 10)
		a := w.idler("a", w.config(), "t")
		a.next(10)
		w.cut()
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		began := time.Now()
		err := a.Close(ctx)
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("it took %v", took)
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("closing: %v", err)
		}
		a.did("assigned [t-0]", "revoked [t-0]")
		if _, err := a.Poll(context.Background()); !errors.Is(err, ErrClosed) {
			t.Errorf("polling: %v", err)
		}
		if err := a.Commit(context.Background()); !errors.Is(err, ErrClosed) {
			t.Errorf("committing: %v", err)
		}
		if err := a.Subscribe("t"); !errors.Is(err, ErrClosed) {
			t.Errorf("subscribing: %v", err)
		}
	})
}

// FR-D9: a Poll that waits in another goroutine returns, and so does Close; a callback that never ends keeps neither.
func TestCloseDuringPoll(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 1)
		a := w.member("a", w.config(), "t")
		pass(5 * time.Second)
		if err := a.Close(context.Background()); err != nil {
			t.Error(err)
		}
		<-a.done
		a.did("assigned [t-0]", "revoked [t-0]")

		cfg := w.config()
		stuck := make(chan struct{})
		cfg.Listener.Assigned = func(context.Context, Rebalance) error { <-stuck; return nil }
		b := w.member("b", cfg, "t")
		pass(5 * time.Second)
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := b.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("closing: %v", err)
		}
		close(stuck)
		<-b.done
	})
}

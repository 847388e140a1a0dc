//go:build synctests

package parallel

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/skeinstream/skein/consumer"
)

func constant(d time.Duration) func(*consumer.Record) time.Duration {
	return func(*consumer.Record) time.Duration { return d }
}

func TestKeysKeepTheirOrderAndGoSideBySide(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 1)
		w.writes("t", 0, 40, "a", "b", "c", "d")
		b := newBook()
		slowA := func(r *consumer.Record) time.Duration {
			if string(r.Key) == "a" {
				return 3 * time.Second
			}
			return 100 * time.Millisecond
		}
		r := w.runs(Config{Consumer: w.config(), Handle: b.takes(slowA), Workers: 8}, "t")
		pass(8 * time.Second)
		if got := b.of("t", 0); len(got) < 30 || b.atOnce() < 4 {
			t.Errorf("while a key was slow, %d records were handled, %d at once", len(got), b.atOnce())
		}
		if at := w.committed("t", 0); at > 8 { // 0 and 4 of a are done at the most, 8 is not
			t.Errorf("committed %d while 8 was open", at)
		}
		pass(40 * time.Second)
		if got := b.of("t", 0); !slices.Equal(sorted(got), upTo(40)) || b.clashes > 0 {
			t.Errorf("handled %v, %d clashes", got, b.clashes)
		}
		for key := range int64(4) {
			var of []int64
			for _, offset := range b.of("t", 0) {
				if offset%4 == key {
					of = append(of, offset)
				}
			}
			if !slices.IsSorted(of) {
				t.Errorf("a key was handled in the order %v", of)
			}
		}
		r.ends()
		if at := w.committed("t", 0); at != 40 {
			t.Errorf("committed %d", at)
		}
	})
}

func TestOrders(t *testing.T) {
	for _, c := range []struct {
		order Order
		key   string
		most  int
	}{
		{ByKey, "a", 1}, {ByKey, "", 5}, {ByPartition, "", 1}, {Unordered, "a", 5},
	} {
		inBubble(t, func(w *world) {
			w.topic("t", 1)
			w.writes("t", 0, 20, c.key)
			b := newBook()
			r := w.runs(Config{Consumer: w.config(), Handle: b.takes(constant(time.Second)), Workers: 5, Order: c.order}, "t")
			pass(30 * time.Second)
			if got := b.of("t", 0); !slices.Equal(sorted(got), upTo(20)) || b.most != c.most {
				t.Errorf("order %d with key %q: %d at once, want %d; %v", c.order, c.key, b.most, c.most, got)
			}
			r.ends()
		})
	}
}

// TestTheWindowBoundsWhatIsHeld: one record that does not end holds its partition back, and no other.
func TestTheWindowBoundsWhatIsHeld(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 2)
		w.writes("t", 0, 300)
		b := newBook()
		stuck := func(r *consumer.Record) time.Duration {
			if r.Partition == 0 && r.Offset == 0 {
				return time.Minute
			}
			return time.Millisecond
		}
		cfg := w.config()
		cfg.MaxPollRecords = 10
		r := w.runs(Config{Consumer: cfg, Handle: b.takes(stuck), Workers: 4, Window: 50}, "t")
		pass(20 * time.Second)
		if got := len(b.of("t", 0)); got < 39 || got > 60 || len(r.Consumer().Paused()) != 1 {
			t.Errorf("%d records behind the one that is stuck were handled, paused %v", got, r.Consumer().Paused())
		}
		w.writes("t", 1, 300)
		pass(20 * time.Second)
		if got := b.of("t", 1); len(got) != 300 {
			t.Errorf("%d records of the other partition were handled", len(got))
		}
		pass(time.Minute)
		if got := b.of("t", 0); !slices.Equal(sorted(got), upTo(300)) || len(r.Consumer().Paused()) > 0 {
			t.Errorf("%d records were handled, paused %v", len(got), r.Consumer().Paused())
		}
		r.ends()
	})
}

func TestAnErrorEndsRunAndIsNotCommittedOver(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 1)
		w.writes("t", 0, 30, "a", "b", "c")
		b := newBook()
		broken := errors.New("the till is locked")
		handle := func(ctx context.Context, r *consumer.Record) error {
			if r.Offset == 7 {
				return broken
			}
			return b.takes(constant(10*time.Millisecond))(ctx, r)
		}
		p, err := New(Config{Consumer: w.config(), Handle: handle})
		w.ok(err)
		w.ok(p.Consumer().Subscribe("t"))
		err = p.Run(context.Background())
		if !errors.Is(err, broken) || !strings.Contains(err.Error(), "t-0 at offset 7") {
			t.Errorf("Run returned %v", err)
		}
		if at := w.committed("t", 0); at < 1 || at > 7 {
			t.Errorf("committed %d", at)
		}
		for _, offset := range b.of("t", 0) {
			if offset > 7 && offset%3 == 1 {
				t.Errorf("%d was handled after 7 of its key had failed", offset)
			}
		}
		r := w.runs(Config{Consumer: w.config(), Handle: b.takes(constant(time.Millisecond))}, "t") // which comes after
		pass(10 * time.Second)
		r.ends()
		if got := slices.Compact(sorted(b.of("t", 0))); !slices.Equal(got, upTo(30)) {
			t.Errorf("handled %v", got)
		}
	})
}

// TestRunEndsInTime: a Handle that does not end is told to.
func TestRunEndsInTime(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 1)
		w.writes("t", 0, 5)
		b := newBook()
		r := w.runs(Config{Consumer: w.config(), Handle: b.takes(constant(time.Hour)), DrainTimeout: 20 * time.Second}, "t")
		pass(5 * time.Second)
		began := time.Now()
		r.ends()
		if took := time.Since(began); took > 20*time.Second || took < 10*time.Second {
			t.Errorf("it took %v to end", took)
		}
		if at := w.committed("t", 0); at > 0 || b.now != 0 {
			t.Errorf("committed %d, %d are still being worked on", at, b.now)
		}
	})
}

// TestAHandleThatDoesNotListen: nobody can end it. It holds Run up, but not the group, and what it did late is not committed.
func TestAHandleThatDoesNotListen(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 1)
		w.writes("t", 0, 5)
		ends := make(chan struct{})
		deaf := func(context.Context, *consumer.Record) error {
			<-ends
			return nil
		}
		r := w.runs(Config{Consumer: w.config(), Handle: deaf, DrainTimeout: 20 * time.Second}, "t")
		pass(5 * time.Second)
		r.quit()
		pass(25 * time.Second)
		groups, err := kadm.NewClient(w.admin).DescribeGroups(context.Background(), "g")
		if w.ok(err); groups["g"].State != "Empty" {
			t.Errorf("the group is %s: it waits for a member that goes", groups["g"].State)
		}
		select {
		case err := <-r.err:
			t.Errorf("Run has ended while a Handle goes on: %v", err)
		default:
		}
		close(ends)
		if <-r.err; w.committed("t", 0) > 0 {
			t.Errorf("committed %d", w.committed("t", 0))
		}
	})
}

// TestASeekBackIsANewReading: what comes again is handled again, and the commit follows.
func TestASeekBackIsANewReading(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 1)
		w.writes("t", 0, 10)
		b := newBook()
		r := w.runs(Config{Consumer: w.config(), Handle: b.takes(constant(time.Millisecond)), CommitInterval: time.Second}, "t")
		pass(5 * time.Second)
		w.ok(r.Consumer().Seek(consumer.TopicPartition{Topic: "t"}, 6))
		pass(5 * time.Second)
		if got := b.of("t", 0); len(got) != 14 {
			t.Errorf("handled %v", got)
		}
		r.ends()
		if at := w.committed("t", 0); at != 10 {
			t.Errorf("committed %d", at)
		}
	})
}

func TestWhatCannotRunIsRefused(t *testing.T) {
	handle := func(context.Context, *consumer.Record) error { return nil }
	for _, cfg := range []Config{
		{},
		{Handle: handle, Workers: -1},
		{Handle: handle, Window: -1},
		{Handle: handle, CommitInterval: -1},
		{Handle: handle, Consumer: consumer.Config{PollInterval: -1}},
	} {
		if _, err := New(cfg); err == nil {
			t.Errorf("%+v was taken", cfg)
		}
	}
}

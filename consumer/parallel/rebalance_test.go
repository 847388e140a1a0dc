//go:build synctests

package parallel

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/assign"
	"github.com/skeinstream/skein/consumer"
)

// TestPartitionsMoveWithoutALossOrARepeat: what was begun is finished before a partition is given up, and what is done is committed with it
// (FR-C9, FR-C12).
func TestPartitionsMoveWithoutALossOrARepeat(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 6)
		b := newBook()
		uneven := func(r *consumer.Record) time.Duration { return time.Duration(r.Offset*7919%1000) * time.Millisecond }
		cfg := Config{Consumer: w.config(), Handle: b.takes(uneven), Workers: 6, CommitInterval: time.Hour}
		first := w.runs(cfg, "t")
		pass(5 * time.Second)
		for p := range int32(6) {
			w.writes("t", p, 100, "a", "b", "c", "d", "e")
		}
		pass(3 * time.Second)
		second := w.runs(cfg, "t")
		pass(20 * time.Second)
		third := w.runs(cfg, "t")
		pass(20 * time.Second)
		second.ends()
		pass(5 * time.Minute)
		first.ends()
		third.ends()
		for p := range int32(6) {
			if got := sorted(b.of("t", p)); !slices.Equal(got, upTo(100)) {
				t.Errorf("of partition %d were handled %v", p, got)
			}
			if at := w.committed("t", p); at != 100 {
				t.Errorf("of partition %d is committed %d", p, at)
			}
		}
	})
}

// TestAHandOverIsShort: what waits behind all that was begun is left to the next owner.
func TestAHandOverIsShort(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 1)
		w.writes("t", 0, 100, "a", "b")
		cfg := w.config()
		cfg.Assignors = []assign.Assignor{assign.Range{}} // EAGER: all is revoked
		gone := make(chan time.Time, 10)
		cfg.Listener.Revoked = func(_ context.Context, r consumer.Rebalance) error {
			if len(r.Partitions) > 0 {
				gone <- time.Now()
			}
			return nil
		}
		b := newBook()
		r := w.runs(Config{Consumer: cfg, Handle: b.takes(constant(time.Second)), Workers: 2, CommitInterval: time.Hour}, "t")
		pass(5*time.Second + 500*time.Millisecond)
		began := time.Now()
		w.ok(r.Consumer().EnforceRebalance("a test"))
		pass(30 * time.Second)
		if took := (<-gone).Sub(began); took > 6*time.Second {
			t.Errorf("giving up what 2 workers had begun took %v", took)
		}
		pass(time.Minute)
		r.ends()
		if got := sorted(b.of("t", 0)); !slices.Equal(got, upTo(100)) {
			t.Errorf("handled %v", got)
		}
	})
}

// expel is an operator who removes a member.
func (w *world) expel(c *consumer.Consumer) {
	w.t.Helper()
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group = "g"
	member := kmsg.NewLeaveGroupRequestMember()
	member.MemberID = c.GroupMetadata().Member
	req.Members = append(req.Members, member)
	_, err := req.RequestWith(context.Background(), w.admin)
	w.ok(err)
}

// stuck is a Handle that is done with the first record and waits for its end with the next, and the causes of those ends.
func stuck() (func(ctx context.Context, r *consumer.Record) error, chan error) {
	ends := make(chan error, 10)
	return func(ctx context.Context, r *consumer.Record) error {
		if r.Offset == 0 {
			return nil
		}
		<-ctx.Done()
		ends <- context.Cause(ctx)
		return ctx.Err()
	}, ends
}

// TestTheGroupDoesNotWaitForEver: who takes longer than that is told to end, its partition goes, and its record is another's.
func TestTheGroupDoesNotWaitForEver(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 1)
		w.writes("t", 0, 3, "a")
		cfg := w.config()
		cfg.PollInterval = 40 * time.Second
		cfg.Assignors = []assign.Assignor{assign.Range{}} // EAGER: all is revoked
		var p *Processor
		told := make(chan error, 10)
		cfg.Listener.Revoked = func(ctx context.Context, r consumer.Rebalance) error {
			if len(r.Partitions) > 0 {
				told <- ctx.Err()
			}
			if n := p.work.UnderWay(); n > 0 {
				t.Errorf("%d are under way while partitions are revoked", n)
			}
			return nil
		}
		handle, ends := stuck()
		p, err := New(Config{Consumer: cfg, Handle: handle, CommitInterval: time.Hour})
		w.ok(err)
		r := w.starts(p, "t")
		pass(5 * time.Second)
		w.ok(p.Consumer().EnforceRebalance("a test"))
		pass(38 * time.Second)
		if why := <-ends; why != ErrTooLong {
			t.Errorf("the work was ended since %v", why)
		}
		if err := <-told; err != nil {
			t.Errorf("the listener was told too late: %v", err)
		}
		if at := w.committed("t", 0); at != 1 {
			t.Errorf("committed %d", at)
		}
		r.ends()
	})
}

// TestWhatIsLostIsNotCommitted: another may have it already.
func TestWhatIsLostIsNotCommitted(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 1)
		w.writes("t", 0, 2, "a")
		cfg := w.config()
		var p *Processor
		told := make(chan int, 10)
		cfg.Listener.Lost = func(context.Context, consumer.Rebalance) error {
			told <- p.work.UnderWay()
			return nil
		}
		handle, ends := stuck()
		p, err := New(Config{Consumer: cfg, Handle: handle, CommitInterval: time.Hour})
		w.ok(err)
		r := w.starts(p, "t")
		pass(5 * time.Second)
		w.expel(p.Consumer())
		pass(10 * time.Second)
		if why := <-ends; why != consumer.ErrExpelled {
			t.Errorf("the work was ended since %v", why)
		}
		if n := <-told; n != 0 {
			t.Errorf("%d were under way when the listener was told", n)
		}
		if at := w.committed("t", 0); at > 0 {
			t.Errorf("committed %d of what was lost", at)
		}
		r.ends()
	})
}

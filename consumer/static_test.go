//go:build synctests

package consumer

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// R-B16: a static leader that is away while a topic grows finds that out when it is back, and so does a static member that comes
// back with more topics than before: the broker gives each what it had, and tells nobody.
func TestStaticMembersComeBackToWhatHasChanged(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 2)
		w.topic("u", 1)
		leader := w.member("leader", w.named("one"), "t")
		pass(5 * time.Second)
		other := w.member("other", w.named("two"), "t")
		pass(20 * time.Second)
		leader.close()
		if _, err := kadm.NewClient(w.admin).CreatePartitions(context.Background(), 2, "t"); err != nil {
			t.Fatal(err)
		}
		pass(3 * time.Second)
		leader = w.member("leader", w.named("one"), "t")
		pass(20 * time.Second)
		if n := len(leader.Assignment()) + len(other.Assignment()); n != 4 {
			t.Errorf("%d of 4 partitions have an owner", n)
		}
		other.close()
		pass(3 * time.Second)
		other = w.member("other", w.named("two"), "t", "u")
		pass(20 * time.Second)
		if n := len(leader.Assignment()) + len(other.Assignment()); n != 5 {
			t.Errorf("%d of 5 partitions have an owner", n)
		}
		leader.close()
		other.close()
	})
}

// FR-G1: a static member that unsubscribes is who it was when it subscribes again, as long as its session lasts, and somebody new after that; if
// another process has its name by then, it is told.
func TestAStaticMemberSubscribesAgain(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 2)
		cfg := w.named("one")
		a := w.idler("a", cfg, "t")
		again := func(away time.Duration) (id string) {
			w.ok(a.Unsubscribe(context.Background()))
			pass(away)
			w.ok(a.Subscribe("t"))
			a.pollsFor(10 * time.Second)
			if len(a.Assignment()) != 2 {
				t.Errorf("it has %v after %v", a.Assignment(), away)
			}
			return a.GroupMetadata().Member
		}
		a.pollsFor(10 * time.Second)
		was := a.GroupMetadata().Member
		if now := again(3 * time.Second); now != was {
			t.Errorf("it was %s and is %s", was, now)
		}
		if now := again(time.Minute); now == was {
			t.Errorf("it is %s still, of which the session has ended", now)
		}
		w.ok(a.Unsubscribe(context.Background()))
		b := w.member("b", cfg, "t")
		pass(5 * time.Second)
		w.ok(a.Subscribe("t"))
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if _, err := a.Poll(ctx); !errors.Is(err, kerr.FencedInstanceID) {
			t.Errorf("polling: %v", err)
		}
		_ = a.Close(ctx)
		if len(b.Assignment()) != 2 {
			t.Errorf("the other process has %v", b.Assignment())
		}
		b.close()
	})
}

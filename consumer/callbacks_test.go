//go:build synctests

package consumer

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/assign"
)

// The rows of table B18, and the triggers of B19, as the Listener is told of them.

func eager(w *world) Config {
	cfg := w.config()
	cfg.Assignors = []assign.Assignor{assign.Range{}}
	return cfg
}

// First join: nothing is owned, so that nothing is revoked. Later joins, and members that leave, under EAGER.
func TestCallbacksEager(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 2)
		a := w.member("a", eager(w), "t")
		pass(5 * time.Second)
		a.did("assigned [t-0 t-1]")
		b := w.member("b", eager(w), "t")
		pass(20 * time.Second)
		a.did("revoked [t-0 t-1]", "assigned [t-0]")
		b.did("assigned [t-1]")
		c := w.member("c", eager(w), "t")
		pass(20 * time.Second)
		a.did("revoked [t-0]", "assigned [t-0]")
		b.did("revoked [t-1]", "assigned [t-1]")
		c.did("assigned []")
		b.close()
		b.did("revoked [t-1]")
		pass(20 * time.Second)
		a.did("revoked [t-0]", "assigned [t-0]")
		c.did("revoked []", "assigned [t-1]")
		a.close()
		c.close()
	})
}

// A subscription that becomes smaller: what is not wanted is given up before the member joins.
func TestCallbacksTopicDropped(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 1)
		w.topic("u", 2)
		a := w.member("a", w.config(), "t", "u")
		pass(5 * time.Second)
		a.did("assigned [t-0 u-0 u-1]")
		if err := a.Subscribe("t"); err != nil {
			t.Fatal(err)
		}
		pass(5 * time.Second)
		a.did("revoked [u-0 u-1]", "assigned []")
		a.close()
		a.did("revoked [t-0]")

		b := w.member("b", eager(w), "t", "u")
		pass(5 * time.Second)
		if err := b.Subscribe("t"); err != nil {
			t.Fatal(err)
		}
		pass(5 * time.Second)
		b.did("assigned [t-0 u-0 u-1]", "revoked [t-0 u-0 u-1]", "assigned [t-0]")
		b.close()
	})
}

// evict is an operator who removes a member.
func (w *world) evict(m *member) {
	w.t.Helper()
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group = "g"
	member := kmsg.NewLeaveGroupRequestMember()
	member.MemberID = m.GroupMetadata().Member
	req.Members = append(req.Members, member)
	resp, err := req.RequestWith(context.Background(), w.admin)
	if err != nil || resp.ErrorCode != 0 || resp.Members[0].ErrorCode != 0 {
		w.t.Fatalf("evicting %s: %+v, %v", m.name, resp, err)
	}
}

// An eviction: all is lost, the contexts have ended by then, and the commit is refused. The member goes on under another name.
func TestCallbacksEvicted(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 2)
		cfg := w.config()
		var before GroupMetadata
		var refused, owned error
		var a *member
		cfg.Listener.Lost = func(ctx context.Context, r Rebalance) error {
			before, owned = a.GroupMetadata(), context.Cause(a.PartitionContext(r.Partitions[0]))
			refused = a.CommitOffsets(ctx, Offsets{r.Partitions[0]: {At: 0, LeaderEpoch: -1}})
			return nil
		}
		a = w.member("a", cfg, "t")
		pass(5 * time.Second)
		member := a.GroupMetadata()
		w.evict(a)
		pass(10 * time.Second)
		a.did("assigned [t-0 t-1]", "lost [t-0 t-1]", "assigned [t-0 t-1]")
		if !errors.Is(refused, ErrCommitFailed) && !errors.Is(refused, ErrRebalanceInProgress) {
			t.Errorf("committing what is lost: %v", refused)
		}
		if !errors.Is(owned, ErrExpelled) {
			t.Errorf("the partition's context ended for %v", owned)
		}
		if before != member { // R-B13
			t.Errorf("metadata are %+v while lost, were %+v", before, member)
		}
		if now := a.GroupMetadata(); now.Member == member.Member || now.Generation < 1 {
			t.Errorf("it goes on as %+v", now)
		}
		a.close()
	})
}

// Without Lost, Revoked is told, and told that it stands in.
func TestCallbacksLostIsRevokedByDefault(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 1)
		a := w.idler("a", w.config())
		var told []Rebalance
		a.cfg.Listener.Lost = nil
		a.cfg.Listener.Revoked = func(_ context.Context, r Rebalance) error {
			told = append(told, r)
			return nil
		}
		if err := a.Subscribe("t"); err != nil {
			t.Fatal(err)
		}
		a.starts()
		pass(5 * time.Second)
		w.evict(a)
		pass(10 * time.Second)
		if len(told) != 1 || !told[0].Lost || len(told[0].Partitions) != 1 {
			t.Errorf("it was told %+v", told)
		}
		a.close()
		if len(told) != 2 || told[1].Lost {
			t.Errorf("it was told %+v", told)
		}
	})
}

// A user who does not poll is out after Config.PollInterval, and hears of it when he comes back; a user who waits in Poll is not away
// (R-B11, FR-E1, FR-E2).
func TestCallbacksPollExpired(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 1)
		cfg := w.config()
		cfg.PollInterval = 10 * time.Second
		a := w.idler("a", cfg, "t")
		a.pollsFor(time.Minute)
		a.did("assigned [t-0]")
		pass(9 * time.Second)
		owned := a.PartitionContext(TopicPartition{Topic: "t"})
		if owned.Err() != nil || len(a.Assignment()) != 1 {
			t.Errorf("after 9 s it owns %v, %v", a.Assignment(), context.Cause(owned))
		}
		pass(2 * time.Second)
		if !errors.Is(context.Cause(owned), ErrExpelled) || len(a.Assignment()) != 0 {
			t.Errorf("after 11 s it owns %v, %v", a.Assignment(), context.Cause(owned))
		}
		if err := a.Commit(context.Background()); err != nil && !errors.Is(err, ErrCommitFailed) {
			t.Error(err)
		}
		pass(time.Minute)
		a.did()
		a.pollsFor(5 * time.Second)
		a.did("lost [t-0]", "assigned [t-0]")
		a.close()
	})
}

// Unsubscribe gives up in peace, and a new subscription begins as the first did.
func TestCallbacksUnsubscribe(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 1)
		w.topic("u", 1)
		a := w.idler("a", w.config(), "t")
		a.pollsFor(5 * time.Second)
		if err := a.Unsubscribe(context.Background()); err != nil {
			t.Fatal(err)
		}
		a.did("assigned [t-0]", "revoked [t-0]")
		pass(time.Second)
		if g := w.group("g"); g.State != "Empty" {
			t.Errorf("the group is %s", g.State)
		}
		a.pollsFor(time.Minute)
		if err := a.Subscribe("u"); err != nil {
			t.Fatal(err)
		}
		a.pollsFor(5 * time.Second)
		a.did("assigned [u-0]")
		a.close()
		a.did("revoked [u-0]")
		pass(time.Second)
		if g := w.group("g"); g.State != "Empty" {
			t.Errorf("the group is %s", g.State)
		}
	})
}

// Close while a rebalance is under way: what is owned cannot be given up in peace any more (R-B17).
func TestCallbacksCloseDuringRebalance(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 2)
		w.topic("u", 1)
		a := w.member("a", w.config(), "u")
		b := w.member("b", w.config(), "t")
		pass(20 * time.Second)
		b.stops() // it does not poll, and so does not give up what it has to
		c := w.member("c", w.config(), "t")
		pass(5 * time.Second)
		if err := a.EnforceRebalance("for the test"); err != nil {
			t.Fatal(err)
		}
		pass(5 * time.Second)
		if g := w.group("g"); g.State != "PreparingRebalance" {
			t.Fatalf("the group is %s", g.State)
		}
		a.log = nil
		a.close()
		a.did("lost [u-0]")
		b.close()
		c.close()
	})
}

// An error of a callback comes out of Poll when the rebalance is over, and stops nothing (R-B4).
func TestCallbacksFail(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 2)
		broken := errors.New("broken")
		cfg := eager(w)
		cfg.Listener.Revoked = func(context.Context, Rebalance) error { return broken }
		a := w.member("a", cfg, "t")
		pass(5 * time.Second)
		a.did("assigned [t-0 t-1]")
		if err := a.EnforceRebalance("for the test"); err != nil {
			t.Fatal(err)
		}
		pass(5 * time.Second)
		a.did("revoked [t-0 t-1]", "assigned [t-0 t-1]", "error the callback for revoked partitions: broken")
		a.stops()
		if err := a.Close(context.Background()); !errors.Is(err, broken) {
			t.Errorf("closing: %v", err)
		}
	})
}

// FR-D11: a callback may commit and ask for everything, while what it is told of is still the member's.
func TestCallbacksMayAskAndCommit(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 1)
		w.writes("t", 0, 10)
		cfg := w.config()
		cfg.ManualCommit = true
		var a *member
		cfg.Listener.Revoked = func(ctx context.Context, r Rebalance) error {
			if at, known := a.Position(r.Partitions[0]); at.At != 10 || !known {
				t.Errorf("the position is %+v, %t", at, known)
			}
			if g := a.GroupMetadata(); g.Generation != r.Generation || g.Member == "" {
				t.Errorf("metadata are %+v", g)
			}
			if a.PartitionContext(r.Partitions[0]).Err() != nil {
				t.Error("the partition's context has ended already")
			}
			return a.Commit(ctx)
		}
		a = w.member("a", cfg, "t")
		pass(5 * time.Second)
		owned := a.PartitionContext(TopicPartition{Topic: "t"})
		a.close()
		w.hasCommitted("t", map[int32]int64{0: 10})
		if !errors.Is(context.Cause(owned), ErrRevoked) {
			t.Errorf("the partition's context ended for %v", context.Cause(owned))
		}
	})
}

// FR-E1: work that takes longer than the poll interval. The record is handled again by the other member; then all have what they can do, and the
// group is stable: a commit that comes too late begins no rebalance.
func TestSlowWork(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 1)
		w.writes("t", 0, 1)
		cfg := w.config()
		cfg.PollInterval = 5 * time.Second
		var handled atomic.Int64
		for range 2 {
			m := w.idler("m", cfg, "t")
			defer m.close()
			go func() {
				for {
					b, err := m.Poll(context.Background())
					if errors.Is(err, ErrClosed) {
						return
					}
					if b.Len() == 0 {
						continue
					}
					if handled.Add(1) == 1 {
						<-time.After(8 * time.Second)
						if err := m.Commit(context.Background()); err == nil {
							t.Error("the late commit was taken")
						}
					}
				}
			}()
		}
		pass(time.Minute)
		before := w.group("g")
		pass(time.Minute)
		if g := w.group("g"); g.State != "Stable" || len(g.Members) != 2 || handled.Load() != 2 {
			t.Errorf("the group is %s with %d members (was %s), the record was handled %d times", g.State, len(g.Members), before.State, handled.Load())
		}
	})
}

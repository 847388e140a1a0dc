//go:build synctests

package consumer

import (
	"context"
	"errors"
	"maps"
	"regexp"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// R-B5, FR-B19: what a member keeps goes on flowing while others join, and while one of them does not move at all; its records are
// neither lost nor read again, and it stays paused where it was.
func TestKeptPartitionsFlow(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 4)
		a := w.member("a", w.config(), "t")
		pass(5 * time.Second)
		paused := TopicPartition{Topic: "t", Partition: 1}
		a.Pause(paused, TopicPartition{Topic: "t", Partition: 3})
		b := w.idler("b", w.config(), "t") // which joins, and then does not move
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		if _, err := b.Poll(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("polling: %v", err)
		}
		cancel()
		a.forget("assigned []")
		a.did("assigned [t-0 t-1 t-2 t-3]", "revoked [t-2 t-3]")
		owned := a.PartitionContext(TopicPartition{Topic: "t"})
		c := w.member("c", w.config(), "t") // b or a has to give something up
		for i := range 20 {
			w.writes("t", 0, 1)
			pass(time.Second)
			if a.count() != 1 || a.handled["t-0 #0"] != i+1 {
				t.Fatalf("after %d s it has handled %v", i+1, a.handled)
			}
		}
		if owned.Err() != nil {
			t.Errorf("the context of what is kept has ended: %v", context.Cause(owned))
		}
		w.writes("t", 1, 1)
		pass(5 * time.Second)
		if a.count() != 1 {
			t.Errorf("it handled %v though t-1 is paused", a.handled)
		}
		a.Resume(paused)
		pass(5 * time.Second)
		if slices.Contains(a.Assignment(), paused) && a.count() != 2 {
			t.Errorf("it handled %v after t-1 was resumed", a.handled)
		}
		a.close()
		b.close()
		c.close()
	})
}

// FR-D4: a pause does not outlive the ownership.
func TestPausesEndWithOwnership(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 1)
		a := w.member("a", eager(w), "t")
		pass(5 * time.Second)
		a.Pause(TopicPartition{Topic: "t"})
		if err := a.EnforceRebalance("for the test"); err != nil {
			t.Fatal(err)
		}
		pass(5 * time.Second)
		w.writes("t", 0, 5)
		pass(5 * time.Second)
		if a.count() != 5 {
			t.Errorf("it handled %d records", a.count())
		}
		a.close()
	})
}

// FR-C15: what comes back begins where the group has committed, not where it was read once.
func TestRegainedPartitionsBeginAtTheCommit(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 1)
		w.writes("t", 0, 10)
		cfg := eager(w)
		cfg.ManualCommit = true
		cfg.Listener.Revoked = func(ctx context.Context, r Rebalance) error { return nil }
		a := w.member("a", cfg, "t")
		pass(5 * time.Second)
		if err := a.CommitOffsets(context.Background(), Offsets{{Topic: "t"}: {At: 7, LeaderEpoch: -1}}); err != nil {
			t.Fatal(err)
		}
		if err := a.EnforceRebalance("for the test"); err != nil {
			t.Fatal(err)
		}
		pass(5 * time.Second)
		if a.handled["t-0 #6"] != 1 || a.handled["t-0 #7"] != 2 {
			t.Errorf("it handled %v", a.handled)
		}
		a.close()
	})
}

// FR-D2: a callback that takes longer than the group waits: its context ends at the deadline, which was told, the member is out, and no commit
// of it is taken.
func TestSlowCallback(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 1)
		w.writes("t", 0, 10)
		cfg := eager(w)
		cfg.PollInterval, cfg.HeartbeatInterval, cfg.ManualCommit = 10*time.Second, time.Second, true
		var ended time.Duration
		var cause, refused error
		var a *member
		cfg.Listener.Revoked = func(ctx context.Context, r Rebalance) error {
			if ended > 0 {
				return nil
			}
			began := time.Now()
			deadline, ok := a.RebalanceDeadline()
			if !ok || !deadline.Equal(r.Deadline) || time.Until(deadline) > cfg.PollInterval {
				t.Errorf("the deadline is %v, %t, and %v", time.Until(deadline), ok, time.Until(r.Deadline))
			}
			<-ctx.Done()
			ended, cause = time.Since(began), context.Cause(ctx)
			<-time.After(20 * time.Second)
			refused = a.Commit(context.Background())
			return nil
		}
		a = w.member("a", cfg, "t")
		pass(5 * time.Second)
		if _, ok := a.RebalanceDeadline(); ok {
			t.Error("there is a deadline in the middle of nothing")
		}
		if err := a.EnforceRebalance("for the test"); err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
		if ended > cfg.PollInterval || !errors.Is(cause, context.DeadlineExceeded) {
			t.Errorf("the callback's context ended after %v: %v", ended, cause)
		}
		if !errors.Is(refused, ErrCommitFailed) && !errors.Is(refused, ErrRebalanceInProgress) {
			t.Errorf("committing: %v", refused)
		}
		w.hasCommitted("t", map[int32]int64{})
		if len(a.Assignment()) != 1 {
			t.Error("it did not come back")
		}
		a.close()
	})
}

// FR-D1: the network goes while a callback runs: its context ends when the group may have given the member up.
func TestSilenceDuringCallback(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 1)
		cfg := eager(w)
		cfg.SessionTimeout, cfg.HeartbeatInterval = 6*time.Second, time.Second
		var ended time.Duration
		var cause error
		cfg.Listener.Revoked = func(ctx context.Context, r Rebalance) error {
			if cause != nil {
				return nil
			}
			began := time.Now()
			<-time.After(time.Second)
			w.cut()
			<-ctx.Done()
			ended, cause = time.Since(began), context.Cause(ctx)
			w.mend()
			return nil
		}
		a := w.member("a", cfg, "t")
		pass(5 * time.Second)
		if err := a.EnforceRebalance("for the test"); err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
		if ended > 8*time.Second || !errors.Is(cause, ErrSilent) && !errors.Is(cause, ErrExpelled) {
			t.Errorf("the callback's context ended after %v: %v", ended, cause)
		}
		if len(a.Assignment()) != 1 {
			t.Error("it did not come back")
		}
		a.close()
	})
}

// The network goes and comes back, longer than the session: all goes on, and nothing is lost.
func TestNetworkGoes(t *testing.T) {
	for _, gone := range []time.Duration{time.Second, 2 * time.Minute} {
		inBubble(t, func(w *world) {
			w.topic("t", 2)
			a := w.member("a", w.config(), "t")
			b := w.member("b", w.config(), "t")
			pass(20 * time.Second)
			w.writes("t", 0, 5)
			w.writes("t", 1, 5)
			w.cut()
			pass(gone)
			w.mend()
			pass(2 * time.Minute)
			for i := range int32(2) {
				w.write("t", i, "afterwards")
			}
			pass(10 * time.Second)
			all := maps.Clone(a.handled)
			for value, n := range b.handled {
				all[value] += n
			}
			if len(all) != 11 || all["afterwards"] < 2 {
				t.Errorf("they handled %v", all)
			}
			if n := len(a.Assignment()) + len(b.Assignment()); n != 2 {
				t.Errorf("they own %v and %v", a.Assignment(), b.Assignment())
			}
			a.close()
			b.close()
		})
	}
}

// R-B15, KIP-345: a static member that is restarted within its session keeps its partitions, and nobody else notices.
func TestStaticMemberRestarts(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 2)
		a := w.member("a", w.named("one"), "t")
		pass(5 * time.Second)
		b := w.member("b", w.named("two"), "t")
		pass(20 * time.Second)
		b.forget("assigned []")
		b.did("assigned [t-1]")
		generation := a.GroupMetadata().Generation
		b.close()
		b.did("revoked [t-1]")
		pass(5 * time.Second)
		again := w.member("b", w.named("two"), "t")
		pass(10 * time.Second)
		again.did("assigned [t-1]")
		if g := a.GroupMetadata().Generation; g != generation {
			t.Errorf("generation %d, was %d", g, generation)
		}
		a.close()
		again.close()
	})
}

// FR-G5: of two processes with one group.instance.id the newer goes on, and the older hears why it may not.
func TestStaticMemberFenced(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 1)
		cfg := w.named("one")
		a := w.idler("a", cfg, "t")
		a.pollsFor(10 * time.Second)
		b := w.member("b", cfg, "t")
		pass(10 * time.Second)
		var refused *JoinError
		if _, err := a.Poll(context.Background()); !errors.As(err, &refused) || !errors.Is(err, kerr.FencedInstanceID) {
			t.Errorf("polling: %v", err)
		}
		b.did("assigned [t-0]")
		if err := a.Close(context.Background()); !errors.Is(err, kerr.FencedInstanceID) {
			t.Errorf("closing: %v", err)
		}
		a.did("assigned [t-0]", "lost [t-0]")
		pass(time.Minute)
		b.did()
		b.close()
	})
}

// R-K3: a consumer that is closed before the broker has named it does not hold up those that come after it.
func TestClosingBeforeBeingNamed(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 1)
		cfg := w.config()
		cfg.Cluster.Dial = w.meddles(func(resp kmsg.Response) {
			if named, ok := resp.(*kmsg.JoinGroupResponse); ok && named.ErrorCode == kerr.MemberIDRequired.Code {
				<-time.After(500 * time.Millisecond)
			}
		})
		a := w.idler("a", cfg, "t")
		pass(100 * time.Millisecond)
		began := time.Now()
		a.close()
		if took := time.Since(began); took != 400*time.Millisecond {
			t.Errorf("closing took %v", took)
		}
		b := w.member("b", w.config(), "t")
		pass(5 * time.Second)
		b.did("assigned [t-0]")
		b.close()
	})
}

// A broker that knows no static members is not joined as a dynamic one in silence.
func TestStaticMemberOfAnOldBroker(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 1)
		cfg := w.named("one")
		cfg.Cluster.Options = []kgo.Opt{kgo.MaxVersions(kversion.V2_2_0())}
		a := w.idler("a", cfg, "t")
		var refused *JoinError
		if _, err := a.Poll(context.Background()); !errors.As(err, &refused) || !errors.Is(err, kerr.UnsupportedVersion) {
			t.Errorf("polling: %v", err)
		}
		a.Close(context.Background())
		cfg.InstanceID = ""
		b := w.member("b", cfg, "t") // all else works
		w.writes("t", 0, 5)
		pass(10 * time.Second)
		if b.count() != 5 {
			t.Errorf("it handled %d records", b.count())
		}
		b.close()
	})
}

// requests counts what a consumer sends, by the request's key.
type requests struct{ counts [100]atomic.Int64 }

// OnBrokerWrite is franz-go's hook.
func (r *requests) OnBrokerWrite(_ kgo.BrokerMetadata, key int16, _ int, _, _ time.Duration, _ error) {
	r.counts[key].Add(1)
}

// FR-F5: a topic that is gone is not asked for again and again, neither to read nor for its whereabouts.
func TestDeletedTopicsAreLeftAlone(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t-1", 1)
		w.topic("t-2", 1)
		var sent requests
		cfg := w.config()
		cfg.MetadataMaxAge, cfg.Cluster.Options = 10*time.Second, []kgo.Opt{kgo.WithHooks(&sent)}
		a := w.idler("a", cfg)
		if err := a.SubscribePattern(regexp.MustCompile(`^t-.*`)); err != nil {
			t.Fatal(err)
		}
		a.starts()
		pass(5 * time.Second)
		w.writes("t-2", 0, 1)
		pass(time.Second)
		if _, err := kadm.NewClient(w.admin).DeleteTopics(context.Background(), "t-2"); err != nil {
			t.Fatal(err)
		}
		pass(30 * time.Second)
		a.did("assigned [t-1-0 t-2-0]", "revoked [t-2-0]", "assigned []")
		metadata, fetches := sent.counts[kmsg.Metadata].Load(), sent.counts[kmsg.Fetch].Load()
		pass(time.Minute)
		if n := sent.counts[kmsg.Metadata].Load() - metadata; n > 20 {
			t.Errorf("it asked for metadata %d times in a minute", n)
		}
		if n := sent.counts[kmsg.Fetch].Load() - fetches; n > 150 {
			t.Errorf("it fetched %d times in a minute in which nothing was written", n)
		}
		a.close()
	})
}

//go:build synctests

package consumer

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// Where a partition begins without a committed offset.
func TestReset(t *testing.T) {
	for name, c := range map[string]struct {
		reset Reset
		first string // "": nothing is there
	}{
		"earliest": {Earliest, "t-0 #0"}, "latest": {Latest, ""}, "an hour": {ByDuration(time.Hour), "t-0 #5"}, "a minute": {ByDuration(time.Minute), ""},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *world) {
				w.topic("t", 1)
				w.writes("t", 0, 5)
				pass(2 * time.Hour)
				for i := range 5 {
					w.write("t", 0, fmt.Sprint("t-0 #", 5+i))
				}
				pass(10 * time.Minute)
				cfg := w.config()
				cfg.Reset = c.reset
				a := w.idler("a", cfg, "t")
				a.pollsFor(5 * time.Second)
				w.write("t", 0, "new")
				if c.first == "" {
					c.first = "new"
				}
				a.pollsFor(5 * time.Second)
				if a.handled[c.first] != 1 || a.handled["new"] != 1 {
					t.Errorf("it handled %v", a.handled)
				}
				for value := range a.handled {
					if value != "new" && value < c.first {
						t.Errorf("it handled %s", value)
					}
				}
				a.close()
			})
		})
	}
}

// Without a policy the user is asked, once for each partition, and what has an offset is read meanwhile.
func TestResetNone(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 2)
		w.writes("t", 1, 3)
		if err := kadm.NewClient(w.admin).CommitAllOffsets(context.Background(), "g", kadm.OffsetsFromRecords(kgo.Record{Topic: "t", Partition: 1})); err != nil {
			t.Fatal(err)
		}
		cfg := w.config()
		cfg.Reset = None
		a := w.idler("a", cfg, "t")
		var none *NoOffsetError
		for range 2 {
			b, err := a.Poll(context.Background())
			for r := range b.Records() { // which may come before
				a.handled[string(r.Value)]++
			}
			if errors.As(err, &none) {
				break
			}
		}
		if none == nil || none.TopicPartition != (TopicPartition{Topic: "t"}) || none.Offset != -1 {
			t.Errorf("polling: %v", none)
		}
		a.pollsFor(10 * time.Second)
		if a.count() != 2 {
			t.Errorf("it handled %v", a.handled)
		}
		a.close()
	})
}

// deleteBefore has the log of t-0 begin later.
func (w *world) deleteBefore(offset int64) {
	w.t.Helper()
	offsets := kadm.Offsets{}
	offsets.AddOffset("t", 0, offset, -1)
	if _, err := kadm.NewClient(w.admin).DeleteRecords(context.Background(), offsets); err != nil {
		w.t.Fatal(err)
	}
}

// FR-F9: who falls behind retention goes on at the start of the log, whatever the policy, and the gap is told.
func TestGaps(t *testing.T) {
	for name, reset := range map[string]Reset{"latest": Latest, "earliest": Earliest} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *world) {
				w.topic("t", 1)
				w.writes("t", 0, 50)
				var gaps []Gap
				cfg := w.config()
				cfg.Hooks.Gap = func(g Gap) { gaps = append(gaps, g) }
				a := w.idler("a", cfg, "t")
				a.next(50)
				a.close()
				for i := range 100 {
					w.write("t", 0, fmt.Sprint("t-0 #", 50+i))
				}
				w.deleteBefore(100)
				cfg.Reset = reset
				b := w.idler("b", cfg, "t")
				b.next(50)
				if want := (Gap{TopicPartition{Topic: "t"}, 50, 100}); len(gaps) != 1 || gaps[0] != want {
					t.Errorf("gaps %v, want %v", gaps, want)
				}
				b.close()
				w.hasCommitted("t", map[int32]int64{0: 150})
			})
		})
	}
	inBubble(t, func(w *world) {
		w.topic("t", 1)
		w.writes("t", 0, 50)
		a := w.idler("a", w.config(), "t")
		a.next(50)
		a.close()
		w.writes("t", 0, 100)
		w.deleteBefore(100)
		cfg := w.config()
		cfg.Reset = None
		b := w.idler("b", cfg, "t")
		var none *NoOffsetError
		if _, err := b.Poll(context.Background()); !errors.As(err, &none) || none.Offset != 50 {
			t.Errorf("polling: %v", err)
		}
		b.close()
	})
}

// An offset behind the end of the log follows the policy.
func TestOffsetBeyondTheEnd(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 1)
		w.writes("t", 0, 5)
		offsets := kadm.Offsets{}
		offsets.AddOffset("t", 0, 1000, -1)
		if err := kadm.NewClient(w.admin).CommitAllOffsets(context.Background(), "g", offsets); err != nil {
			t.Fatal(err)
		}
		a := w.idler("a", w.config(), "t")
		a.next(5)
		a.close()
	})
}

// FR-F1, FR-F3: partitions that appear while the group runs are found, and read from their start under "latest", too, unless the user wants
// it otherwise.
func TestNewPartitions(t *testing.T) {
	for _, fromReset := range []bool{false, true} {
		inBubble(t, func(w *world) {
			w.topic("t", 1)
			w.writes("t", 0, 10)
			cfg := w.config()
			cfg.Reset, cfg.MetadataMaxAge, cfg.NewPartitionsFromReset = Latest, time.Second, fromReset
			a := w.member("a", cfg, "t")
			pass(5 * time.Second)
			if _, err := kadm.NewClient(w.admin).UpdatePartitions(context.Background(), 2, "t"); err != nil {
				t.Fatal(err)
			}
			w.writes("t", 1, 10)
			pass(5 * time.Second)
			if want := map[bool]int{false: 10, true: 0}[fromReset]; a.count() != want {
				t.Errorf("it handled %d records, want %d", a.count(), want)
			}
			a.did("assigned [t-0]", "assigned [t-1]")
			a.close()
		})
	}
}

// FR-F2: a topic that is not there yet when it is subscribed to is consumed as soon as it is.
func TestTopicAppears(t *testing.T) {
	inBubble(t, func(w *world) {
		cfg := w.config()
		cfg.Reset = Latest
		a := w.member("a", cfg, "t")
		pass(50 * time.Millisecond)
		w.topic("t", 1)
		w.writes("t", 0, 10)
		pass(10 * time.Second)
		if a.count() != 10 {
			t.Errorf("it handled %d records", a.count())
		}
		a.close()
	})
}

// FR-F5, FR-F7, FR-D7: topics that match a pattern come and go.
func TestPattern(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t-1", 1)
		w.topic("u-1", 1)
		cfg := w.config()
		cfg.MetadataMaxAge = time.Second
		a := w.idler("a", cfg)
		if err := a.SubscribePattern(regexp.MustCompile(`^t-.*`)); err != nil {
			t.Fatal(err)
		}
		a.starts()
		pass(5 * time.Second)
		a.did("assigned [t-1-0]")
		w.topic("t-2", 1)
		w.writes("t-2", 0, 10)
		pass(5 * time.Second)
		a.did("assigned [t-2-0]")
		if a.count() != 10 {
			t.Errorf("it handled %d records", a.count())
		}
		generation := a.GroupMetadata().Generation
		if _, err := kadm.NewClient(w.admin).DeleteTopics(context.Background(), "t-2"); err != nil {
			t.Fatal(err)
		}
		pass(20 * time.Second)
		a.forget("assigned []")
		a.did("revoked [t-2-0]")
		if rounds := a.GroupMetadata().Generation - generation; rounds > 2 {
			t.Errorf("%d rebalances", rounds)
		}
		w.topic("t-2", 1)
		w.writes("t-2", 0, 15)
		pass(5 * time.Second)
		a.did("assigned [t-2-0]")
		if a.count() != 15 {
			t.Errorf("it handled %d records", a.count())
		}
		a.close()
	})
}

// FR-F4: a topic that is deleted and made again between two looks is read from its start.
func TestTopicRecreated(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 1)
		w.writes("t", 0, 10)
		a := w.member("a", w.config(), "t")
		pass(10 * time.Second)
		if _, err := kadm.NewClient(w.admin).DeleteTopics(context.Background(), "t"); err != nil {
			t.Fatal(err)
		}
		w.topic("t", 1)
		w.writer.PurgeTopicsFromClient("t")
		for i := range 5 {
			w.write("t", 0, fmt.Sprint("again ", i))
		}
		pass(time.Minute)
		if a.count() != 15 {
			t.Errorf("it handled %v", a.handled)
		}
		a.close()
		w.hasCommitted("t", map[int32]int64{0: 5})
	})
}

// MaxPollRecords bounds a batch, and batches of one partition follow one another.
func TestMaxPollRecords(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 2)
		w.writes("t", 0, 25)
		w.writes("t", 1, 25)
		cfg := w.config()
		cfg.MaxPollRecords = 10
		a := w.idler("a", cfg, "t")
		next := map[int32]int64{}
		for next[0] < 25 || next[1] < 25 { // a batch may hold fewer: franz-go has the partitions at moments of its own
			b := a.polled()
			if b.Len() > 10 {
				t.Errorf("a batch of %d records", b.Len())
			}
			for _, p := range b.Partitions {
				for _, r := range p.Records {
					if r.Offset != next[p.Partition] {
						t.Errorf("offset %d of partition %d, want %d", r.Offset, p.Partition, next[p.Partition])
					}
					next[p.Partition]++
				}
			}
		}
		a.close()
		w.hasCommitted("t", map[int32]int64{0: 25, 1: 25})
	})
}

// Read committed: open transactions are waited for, aborted ones are never seen, and the position is behind the ends of transactions (FR-H26).
func TestReadCommitted(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 1)
		p := w.client(kgo.TransactionalID("x"), kgo.DefaultProduceTopic("t"))
		defer p.Close()
		transaction := func(value string, end kgo.TransactionEndTry) {
			t.Helper()
			if err := p.BeginTransaction(); err != nil {
				t.Fatal(err)
			}
			if err := p.ProduceSync(context.Background(), kgo.StringRecord(value)).FirstErr(); err != nil {
				t.Fatal(err)
			}
			if err := p.EndTransaction(context.Background(), end); err != nil {
				t.Fatal(err)
			}
		}
		transaction("yes", kgo.TryCommit)
		transaction("no", kgo.TryAbort)
		transaction("yes again", kgo.TryCommit)
		cfg := w.config()
		cfg.ReadCommitted = true
		a := w.member("a", cfg, "t")
		pass(5 * time.Second)
		if got := slices.Sorted(func(yield func(string) bool) {
			for v := range a.handled {
				yield(v)
			}
		}); !slices.Equal(got, []string{"yes", "yes again"}) {
			t.Errorf("it handled %q", got)
		}
		a.close()
		w.hasCommitted("t", map[int32]int64{0: 6})
	})
}

// R-D21: offsets that an open transaction is to decide are waited for, and then those that it has left behind.
func TestUnstableOffsets(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 1)
		w.writes("t", 0, 10)
		cfg := w.config()
		cfg.ReadCommitted, cfg.ManualCommit = true, true
		a := w.idler("a", cfg, "t")
		a.next(10)
		byName := kversion.Stable()
		byName.SetMaxKeyVersion(int16(kmsg.TxnOffsetCommit), 5)
		p := w.client(kgo.TransactionalID("x"), kgo.DefaultProduceTopic("u"), kgo.AllowAutoTopicCreation(), kgo.MaxVersions(byName))
		defer p.Close()
		w.sendsOffset(p, a.GroupMetadata(), 7)
		a.close()
		b := w.member("b", cfg, "t")
		pass(15 * time.Second)
		if b.count() != 0 {
			t.Errorf("it handled %d records while the offset was not decided", b.count())
		}
		if err := p.EndTransaction(context.Background(), kgo.TryCommit); err != nil {
			t.Fatal(err)
		}
		pass(15 * time.Second)
		if b.count() != 3 {
			t.Errorf("it handled %v, want what is after offset 7", b.handled)
		}
		b.close()
	})
}

// sendsOffset puts an offset of t-0 into a new transaction, which is left open.
func (w *world) sendsOffset(p *kgo.Client, g GroupMetadata, at int64) {
	w.t.Helper()
	if err := p.BeginTransaction(); err != nil {
		w.t.Fatal(err)
	}
	if err := p.ProduceSync(context.Background(), kgo.StringRecord("x")).FirstErr(); err != nil {
		w.t.Fatal(err)
	}
	id, epoch, err := p.ProducerID(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	add := kmsg.NewPtrAddOffsetsToTxnRequest()
	add.TransactionalID, add.ProducerID, add.ProducerEpoch, add.Group = "x", id, epoch, g.Group
	if resp, err := add.RequestWith(context.Background(), p); err != nil || resp.ErrorCode != 0 {
		w.t.Fatalf("adding offsets: %+v, %v", resp, err)
	}
	commit := kmsg.NewPtrTxnOffsetCommitRequest()
	commit.TransactionalID, commit.ProducerID, commit.ProducerEpoch = "x", id, epoch
	commit.Group, commit.Generation, commit.MemberID = g.Group, g.Generation, g.Member
	topic, partition := kmsg.NewTxnOffsetCommitRequestTopic(), kmsg.NewTxnOffsetCommitRequestTopicPartition()
	partition.Offset = at
	topic.Topic, topic.Partitions = "t", append(topic.Partitions, partition)
	commit.Topics = append(commit.Topics, topic)
	if resp, err := commit.RequestWith(context.Background(), p); err != nil || resp.Topics[0].Partitions[0].ErrorCode != 0 {
		w.t.Fatalf("committing: %+v, %v", resp, err)
	}
}

package broker

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/partition"
	"github.com/skeinstream/skein/broker/internal/record"
)

// Field reports about transactions (FR-H…) that need more than the coordinator's scripts.

// stableOffset is what a group has committed for a partition, for a consumer that waits for open
// transactions.
func (h *house) stableOffset(group, topic string, partition int32) (int64, error) {
	h.t.Helper()
	req := kmsg.NewPtrOffsetFetchRequest()
	req.RequireStable = true
	req.Groups = []kmsg.OffsetFetchRequestGroup{{Group: group, Topics: []kmsg.OffsetFetchRequestGroupTopic{{Topic: topic, Partitions: []int32{partition}}}}}
	var offset int64
	err := retrying(func() error {
		resp, err := ask[*kmsg.OffsetFetchResponse](h.wire(), req)
		if err != nil {
			return err
		}
		if err := failed(resp.Groups[0].ErrorCode); err != nil {
			return err
		}
		p := resp.Groups[0].Topics[0].Partitions[0]
		offset = p.Offset
		return failed(p.ErrorCode)
	})
	return offset, err
}

func (h *house) expectStable(group, topic string, want int64) {
	h.t.Helper()
	if got, err := h.stableOffset(group, topic, 0); err != nil || got != want {
		h.t.Errorf("%s has the stable offset %d of %s, %v, want %d", group, got, topic, err, want)
	}
}

// TestANewOwnerWaitsForTheOldOwnersTransaction is FR-H1, and FR-H2 where every start of an application has another
// transactional id, and where the broker is killed meanwhile: the wait ends with the transaction's timeout, with the old offset.
func TestANewOwnerWaitsForTheOldOwnersTransaction(t *testing.T) {
	for name, kill := range map[string]bool{"the producer hangs": false, "the broker is killed, too": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, nil, func(h *house) {
				h.createTopic("a", 1)
				h.commits("g", "a", 3)
				for i := range 3 {
					p := h.begun(fmt.Sprint("start ", i), 5*time.Second, "v", partitionName{"a", 0})
					h.must(p.commitOffset("g", "a", int64(10+i)))
				}
				if kill {
					h.killed()
				}
				pass(4 * time.Second)
				if _, err := h.stableOffset("g", "a", 0); err != kerr.UnstableOffsetCommit {
					t.Errorf("before the time is up: %v", err)
				}
				h.expectOffset("g", "a", 3)
				pass(2 * time.Second)
				h.expectStable("g", "a", 3)
				h.expectCommitted(partitionName{"a", 0})
			})
		})
	}
}

// TestTransactionsEndWhileTheirGroupRebalances is FR-H2 and FR-H18: neither what goes into a transaction nor its end depends on
// the state that the group is in.
func TestTransactionsEndWhileTheirGroupRebalances(t *testing.T) {
	inBubble(t, nil, func(h *house) {
		h.createTopic("a", 1)
		h.two("g")
		p := h.producer("id")
		h.must(retrying(p.begin))
		h.must(p.commitOffset("g", "a", 7))
		third := h.member("g", []byte("third"))
		joined := make(chan error, 1)
		go func() { joined <- third.join() }()
		synctest.Wait()
		expectState := func(want string) {
			t.Helper()
			if g := h.describe("g"); g.State != want {
				t.Errorf("the group is %s, want %s", g.State, want)
			}
		}
		expectState("PreparingRebalance")
		h.must(p.end(true))
		h.expectStable("g", "a", 7)
		old := h.producer("old").old()
		h.must(old.begin())
		h.must(old.commitOffset("g", "a", 8)) // with AddOffsetsToTxn
		if err := <-joined; err != nil {      // the others are gone after a while
			t.Fatal(err)
		}
		expectState("CompletingRebalance")
		h.must(old.end(true))
		h.expectStable("g", "a", 8)
		h.must(old.commitOffset("g", "a", 9))
		h.must(old.end(false))
		h.expectStable("g", "a", 8)
		expectState("CompletingRebalance")
	})
}

// commitOffsetAs is commitOffset for a member.
func (p *txnProducer) commitOffsetAs(m *member, topic string, offset int64) error {
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.TransactionalID, req.Group, req.ProducerID, req.ProducerEpoch = p.id, m.group, p.producer, p.epoch
	req.Generation, req.MemberID, req.InstanceID = m.generation, m.id, m.instance
	req.Topics = []kmsg.TxnOffsetCommitRequestTopic{{Topic: topic, Partitions: []kmsg.TxnOffsetCommitRequestTopicPartition{{Offset: offset, LeaderEpoch: -1}}}}
	resp, err := ask[*kmsg.TxnOffsetCommitResponse](p.w, req)
	if err != nil {
		return err
	}
	return failed(resp.Topics[0].Partitions[0].ErrorCode)
}

// TestZombieMembersMoveNoOffsets is FR-H19: a member of a generation that is over commits nothing, though its producer is not
// fenced and its transaction succeeds.
func TestZombieMembersMoveNoOffsets(t *testing.T) {
	inBubble(t, nil, func(h *house) {
		h.createTopic("a", 1)
		zombie, static := h.two("g")
		h.must(commitOffset(zombie.w, "g", zombie, "a", 0, 5))
		h.must(zombie.leave())
		last := *zombie
		h.must(static.stay(time.Now().Add(time.Second), time.Second/2, echo))
		p := h.producer("id")
		h.must(retrying(p.begin))
		late, impostor, stranger := *static, *static, *static
		late.generation--
		impostor.instance = kmsg.StringPtr("i-2")
		stranger.instance, stranger.id = nil, "nobody"
		wantError(t, "who has left", p.commitOffsetAs(&last, "a", 6), kerr.UnknownMemberID)
		wantError(t, "of the last generation", p.commitOffsetAs(&late, "a", 6), kerr.IllegalGeneration)
		wantError(t, "of an unknown instance", p.commitOffsetAs(&impostor, "a", 6), kerr.UnknownMemberID)
		wantError(t, "of nobody", p.commitOffsetAs(&stranger, "a", 6), kerr.UnknownMemberID)
		old := *static
		back := h.member("g", []byte("s"))
		back.instance = static.instance
		h.must(back.join())
		h.must(back.sync(echo))
		wantError(t, "of an instance that somebody else is", p.commitOffsetAs(&old, "a", 6), kerr.FencedInstanceID)
		h.must(p.end(true))
		h.expectStable("g", "a", 5)
		h.must(p.commitOffsetAs(back, "a", 7))
		h.must(p.end(true))
		h.expectStable("g", "a", 7)
	})
}

// isolated fetches with an isolation level.
func (h *house) isolated(at partitionName, offset int64, isolation int8) kmsg.FetchResponseTopicPartition {
	h.t.Helper()
	req := kmsg.NewPtrFetchRequest()
	req.MaxBytes, req.MaxWaitMillis, req.SessionEpoch, req.IsolationLevel = 64<<20, 0, -1, isolation
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.FetchOffset, p.PartitionMaxBytes = at.index, offset, 16<<20
	req.Topics = []kmsg.FetchRequestTopic{{Topic: at.topic, Partitions: []kmsg.FetchRequestTopicPartition{p}}}
	resp, err := ask[*kmsg.FetchResponse](h.wire(), req)
	h.must(err)
	h.must(failed(resp.Topics[0].Partitions[0].ErrorCode))
	return resp.Topics[0].Partitions[0]
}

// offsetsOf are the base offsets of the batches in an answer, and the offset that is behind them.
func (h *house) offsetsOf(records []byte) (bases []int64, next int64) {
	h.t.Helper()
	for b, err := range record.Batches(records) {
		h.must(err)
		bases, next = append(bases, b.Header().BaseOffset), b.Header().LastOffset()+1
	}
	return bases, next
}

// TestNothingOfATransactionIsSeenBeforeItsEnd is FR-H23, FR-H24 and FR-H25: who reads what is committed gets nothing while a
// transaction is open, and the list of those that were aborted afterwards, however late the abort comes; who reads everything
// gets everything, and no list; and a fetch that finds but a marker leads on.
func TestNothingOfATransactionIsSeenBeforeItsEnd(t *testing.T) {
	inBubble(t, nil, func(h *house) {
		h.createTopic("a", 1)
		at := partitionName{"a", 0}
		p := h.producer("id")
		h.must(retrying(p.begin))
		for n := range int64(20) {
			first := 2 * n
			h.must(p.send(at, "v"))
			pass(100 * time.Millisecond)
			if got := h.isolated(at, first, 1); len(got.RecordBatches) > 0 || got.LastStableOffset != first || got.HighWatermark != first+1 {
				t.Fatalf("round %d: %d bytes, stable up to %d of %d", n, len(got.RecordBatches), got.LastStableOffset, got.HighWatermark)
			}
			h.must(p.end(false))
			got := h.isolated(at, first, 1)
			if bases, next := h.offsetsOf(got.RecordBatches); len(bases) != 2 || next != first+2 {
				t.Errorf("round %d: batches %v up to %d", n, bases, next)
			}
			if a := got.AbortedTransactions; len(a) != 1 || a[0].ProducerID != p.producer || a[0].FirstOffset != first {
				t.Errorf("round %d: aborted %v", n, a)
			}
			if bases, next := h.offsetsOf(h.isolated(at, first+1, 1).RecordBatches); len(bases) != 1 || next != first+2 {
				t.Errorf("round %d: the marker is at %v, and %d is next", n, bases, next)
			}
		}
		everything := h.isolated(at, 0, 0)
		if bases, _ := h.offsetsOf(everything.RecordBatches); len(bases) != 40 || everything.AbortedTransactions != nil {
			t.Errorf("uncommitted: %d batches, aborted %v", len(bases), everything.AbortedTransactions)
		}
		h.expectCommitted(at)
	})
}

// TestAFreshBrokerServesTransactionsAtOnce is FR-H30: nothing has to be set for one broker.
func TestAFreshBrokerServesTransactionsAtOnce(t *testing.T) {
	inBubble(t, nil, func(h *house) {
		h.createTopic("a", 1)
		began := time.Now()
		p := h.producer("id")
		h.must(retrying(p.begin))
		h.must(p.send(partitionName{"a", 0}, "v"))
		h.must(p.end(true))
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// commitOffsetOf commits an offset with a long text.
func (p *txnProducer) commitOffsetOf(group, topic string, partition int32, offset int64, text string) error {
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.TransactionalID, req.Group, req.ProducerID, req.ProducerEpoch, req.Generation = p.id, group, p.producer, p.epoch, -1
	req.Topics = []kmsg.TxnOffsetCommitRequestTopic{{Topic: topic, Partitions: []kmsg.TxnOffsetCommitRequestTopicPartition{
		{Partition: partition, Offset: offset, LeaderEpoch: -1, Metadata: &text},
	}}}
	resp, err := ask[*kmsg.TxnOffsetCommitResponse](p.w, req)
	if err != nil {
		return err
	}
	return failed(resp.Topics[0].Partitions[0].ErrorCode)
}

// TestOffsetsOfTransactionsOutliveCompaction is FR-H22: one producer commits offsets of two partitions in turns, and what is left
// of its records after compaction and a restart are the last offsets of both.
func TestOffsetsOfTransactionsOutliveCompaction(t *testing.T) {
	settings := map[string]string{
		"offsets.topic.num.partitions": "1", "offsets.topic.segment.bytes": "1048576", "log.cleaner.backoff.ms": "1000", "log.cleaner.min.cleanable.ratio": "0.01",
	}
	inBubble(t, settings, func(h *house) {
		h.createTopic("a", 2)
		p := h.producer("id")
		h.must(retrying(p.begin))
		text := strings.Repeat("m", 4000)
		for n := range int64(400) {
			h.must(p.commitOffsetOf("g", "a", int32(n%2), n, text))
			h.must(p.end(n < 390)) // the last ones are aborted
		}
		count := func() (n int) {
			_, err := h.b.partition(offsetsTopic, 0).Records(t.Context(), func(r partition.Stored) error {
				if r.Marker == nil {
					n++
				}
				return nil
			})
			h.must(err)
			return n
		}
		before := count()
		pass(time.Minute)
		if after := count(); after > before/2 {
			t.Errorf("%d of %d records are left: nothing was compacted", after, before)
		}
		h.restart()
		for index, want := range map[int32]int64{0: 388, 1: 389} {
			if got, err := h.stableOffset("g", "a", index); err != nil || got != want {
				t.Errorf("partition %d is at %d, %v, want %d", index, got, err, want)
			}
		}
	})
}

// TestAGapInsideATransaction is FR-H9: a batch that is out of order is refused, and a producer that then takes the next epoch, as
// clients do to begin anew, has lost what it had written in this transaction: no later commit brings a part of it back.
func TestAGapInsideATransaction(t *testing.T) {
	inBubble(t, nil, func(h *house) {
		h.createTopic("a", 1)
		at := partitionName{"a", 0}
		p := h.begun("id", 0, "before the gap", at)
		wantError(t, "a gap", p.produceAs(12, at, 5), kerr.OutOfOrderSequenceNumber)
		req := kmsg.NewPtrInitProducerIDRequest()
		req.TransactionalID, req.TransactionTimeoutMillis, req.ProducerID, req.ProducerEpoch = &p.id, 60_000, p.producer, p.epoch
		resp, err := ask[*kmsg.InitProducerIDResponse](p.w, req)
		h.must(err)
		h.must(failed(resp.ErrorCode))
		p.became(resp.ProducerID, resp.ProducerEpoch)
		wantError(t, "a commit of nothing", p.end(true), kerr.InvalidTxnState)
		h.must(p.send(at, "behind the gap"))
		h.must(p.end(true))
		h.expectCommitted(at, "behind the gap")
	})
}

// TestAnAdminWhoFencesIsObeyed is FR-H27: an administrator who initialises the transactional id of a producer aborts its
// transaction, and the producer's own commit fails then.
func TestAnAdminWhoFencesIsObeyed(t *testing.T) {
	for name, old := range map[string]bool{"KIP-890": false, "before": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, nil, func(h *house) {
				h.createTopic("a", 1)
				at := partitionName{"a", 0}
				p := h.producer("id")
				p.w.old = old
				h.must(retrying(p.begin))
				h.must(p.send(at, "v"))
				h.must(h.producer("id").begin())
				wantError(t, "the commit", p.end(true), kerr.ProducerFenced)
				h.expectCommitted(at)
				if _, open := h.committedValues(at); open != 0 {
					t.Errorf("%d are open", open)
				}
			})
		})
	}
}

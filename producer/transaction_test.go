//go:build synctests

package producer

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/consumer"
)

var background = context.Background()

func TestCommitAndAbort(t *testing.T) {
	inBoth(t, nil, func(w *world) {
		w.topic("out", 1)
		p := w.transactional()
		defer closes(w.t, p)
		for i := range 6 {
			ok(w.t, p.Begin(background))
			p.Send(background, record("out", fmt.Sprint("a", i)), nil)
			p.Send(background, record("out", fmt.Sprint("b", i)), nil)
			if i%2 == 0 {
				ok(w.t, p.Commit(background))
			} else {
				ok(w.t, p.Abort(background))
			}
		}
		w.has("out", "a0", "b0", "a2", "b2", "a4", "b4")
	})
}

// What is sent to nobody's ear is still part of the transaction: records that were given up by Abort are in none that follows.
func TestWhatAnAbortGaveUpIsInNoLaterTransaction(t *testing.T) {
	inBoth(t, nil, func(w *world) {
		w.topic("out", 1)
		p := w.producer(Config{TransactionalID: "id", Linger: time.Minute})
		defer closes(w.t, p)
		ok(w.t, p.Begin(background))
		var got error
		p.Send(background, record("out", "lingers"), func(_ *Record, err error) { got = err })
		pass(time.Second)
		ok(w.t, p.Abort(background))
		is(w.t, got, AbortAndContinue)
		ok(w.t, p.Begin(background))
		p.Send(background, record("out", "next"), nil)
		ok(w.t, p.Commit(background))
		w.has("out", "next")
	})
}

// FR-H8: one transaction after the other, without a pause and without an error.
func TestManyTransactionsInARow(t *testing.T) {
	inBoth(t, nil, func(w *world) {
		w.topic("out", 1)
		p := w.transactional()
		defer closes(w.t, p)
		for range 300 {
			ok(w.t, p.Begin(background))
			p.Send(background, record("out", "x"), nil)
			ok(w.t, p.Commit(background))
		}
		if got := len(w.reads("out")); got != 300 {
			w.t.Errorf("%d records are committed", got)
		}
	})
}

// FR-H16: an abort of nothing right after a commit does not fence the producer; and what is empty sends nothing.
func TestEmptyTransactions(t *testing.T) {
	inBoth(t, nil, func(w *world) {
		w.topic("out", 1)
		p := w.transactional()
		defer closes(w.t, p)
		ok(w.t, p.Begin(background))
		p.Send(background, record("out", "one"), nil)
		ok(w.t, p.Commit(background))
		ended := w.count(kmsg.EndTxn)
		for range 3 {
			ok(w.t, p.Begin(background))
			ok(w.t, p.Abort(background))
			ok(w.t, p.Begin(background))
			ok(w.t, p.SendOffsets(background, nil, consumer.GroupMetadata{Group: "g", Generation: 1, Member: "m"})) // R-F3: nothing to do
			ok(w.t, p.Commit(background))
		}
		if w.count(kmsg.EndTxn) != ended || w.count(kmsg.AddOffsetsToTxn) != 0 {
			w.t.Errorf("%d EndTxn were sent for empty transactions, and %d AddOffsetsToTxn", w.count(kmsg.EndTxn)-ended, w.count(kmsg.AddOffsetsToTxn))
		}
		ok(w.t, p.Begin(background))
		p.Send(background, record("out", "two"), nil)
		ok(w.t, p.Commit(background))
		w.has("out", "one", "two")
	})
}

// R-F1: what is out of order is an error that has changed nothing.
func TestCallsOutOfOrder(t *testing.T) {
	inBubble(t, nil, func(w *world) {
		w.topic("out", 1)
		p := w.transactional()
		defer closes(w.t, p)
		group := consumer.GroupMetadata{Group: "g", Generation: 1, Member: "m"}
		is(w.t, p.Commit(background), Illegal)
		is(w.t, p.SendSync(background, record("out", "x")), Illegal)
		is(w.t, p.SendOffsets(background, offsets("in", 1), group), Illegal)
		ok(w.t, p.Abort(background))
		ok(w.t, p.Begin(background))
		is(w.t, p.Begin(background), Illegal)
		sends(w.t, p, "out", "x")
		ok(w.t, p.Commit(background))
		is(w.t, p.Commit(background), Illegal)
		w.has("out", "x")

		plain := w.producer(Config{})
		defer closes(w.t, plain)
		is(w.t, plain.Begin(background), Illegal)
		is(w.t, plain.Commit(background), Illegal)
		is(w.t, plain.Abort(background), Illegal)
	})
}

func TestOffsetsAreCommittedWithTheRecords(t *testing.T) {
	inBoth(t, nil, func(w *world) {
		w.topic("in", 1)
		w.topic("out", 1)
		c := w.member("g", "in")
		defer c.Close(background)
		p := w.producer(Config{TransactionalID: "id", Group: "g"})
		defer closes(w.t, p)
		for i, commit := range []bool{true, false, true} {
			ok(w.t, p.Begin(background))
			sends(w.t, p, "out", fmt.Sprint(i))
			ok(w.t, p.SendOffsets(background, offsets("in", int64(10*i+5)), c.GroupMetadata()))
			if !commit {
				ok(w.t, p.Abort(background))
				continue
			}
			ok(w.t, p.Commit(background))
			if got := w.committed("g", "in"); got != int64(10*i+5) {
				w.t.Errorf("after transaction %d the offset is %d", i, got)
			}
		}
		w.has("out", "0", "2")
	})
}

// The first hole of franz-go: it ends nothing when only offsets were added. Here the transaction really ends, and no offset stays undecided.
func TestOffsetsAlone(t *testing.T) {
	inBoth(t, nil, func(w *world) {
		w.topic("in", 1)
		w.topic("out", 1)
		c := w.member("g", "in")
		defer c.Close(background)
		p := w.transactional()
		defer closes(w.t, p)
		for i := range int64(5) {
			ok(w.t, p.Begin(background))
			ok(w.t, p.SendOffsets(background, offsets("in", i), c.GroupMetadata()))
			ok(w.t, p.SendOffsets(background, offsets("in", 3*i), c.GroupMetadata())) // what comes later counts
			ok(w.t, p.Commit(background))
			if got := w.committed("g", "in"); got != 3*i {
				w.t.Errorf("the offset is %d, not %d", got, 3*i)
			}
			ok(w.t, p.Begin(background))
			ok(w.t, p.SendOffsets(background, offsets("in", 999), c.GroupMetadata()))
			ok(w.t, p.Abort(background))
			ok(w.t, p.Begin(background))
			sends(w.t, p, "out", fmt.Sprint(i))
			ok(w.t, p.Commit(background))
		}
		w.has("out", "0", "1", "2", "3", "4")
		if got := w.committed("g", "in"); got != 12 {
			w.t.Errorf("the offset is %d", got)
		}
	})
}

// R-F3: unfenced offsets only where they are asked for.
func TestUnfencedOffsets(t *testing.T) {
	inBoth(t, nil, func(w *world) {
		w.topic("in", 1)
		w.topic("out", 1)
		p := w.transactional()
		defer closes(w.t, p)
		ok(w.t, p.Begin(background))
		never := consumer.GroupMetadata{Group: "g", Generation: -1}
		is(w.t, p.SendOffsets(background, offsets("in", 7), never), Illegal, ErrNoGroupYet)
		is(w.t, p.SendOffsets(background, offsets("in", 7), consumer.GroupMetadata{Group: "g", Generation: 3}), Illegal)
		is(w.t, p.SendOffsets(background, offsets("in", 7), consumer.GroupMetadata{}), Illegal)
		ok(w.t, p.SendUnfencedOffsets(background, "g", offsets("in", 7)))
		ok(w.t, p.Commit(background))
		if got := w.committed("g", "in"); got != 7 {
			w.t.Errorf("alone: the offset is %d", got)
		}
		ok(w.t, p.Begin(background))
		sends(w.t, p, "out", "x")
		ok(w.t, p.SendUnfencedOffsets(background, "g", offsets("in", 8)))
		ok(w.t, p.Commit(background))
		if got := w.committed("g", "in"); got != 8 {
			w.t.Errorf("with a record: the offset is %d", got)
		}
	})
}

// FR-C19: what the member has read is committed with its leader epoch, and what the user adds with it.
func TestOffsetsCarryEpochAndMetadata(t *testing.T) {
	inBubble(t, nil, func(w *world) {
		w.topic("in", 1)
		p := w.transactional()
		defer closes(w.t, p)
		ok(w.t, p.Begin(background))
		ok(w.t, p.SendUnfencedOffsets(background, "g", consumer.Offsets{{Topic: "in"}: {At: 4, LeaderEpoch: 0, Metadata: "mine"}}))
		ok(w.t, p.Commit(background))
		req := kmsg.NewPtrOffsetFetchRequest()
		req.Group = "g"
		topic := kmsg.NewOffsetFetchRequestTopic()
		topic.Topic, topic.Partitions = "in", []int32{0}
		req.Topics = append(req.Topics, topic)
		resp, err := req.RequestWith(background, w.admin)
		ok(w.t, err)
		if got := resp.Topics[0].Partitions[0]; got.LeaderEpoch != 0 || got.Metadata == nil || *got.Metadata != "mine" {
			w.t.Errorf("committed %+v", got)
		}
	})
}

// R-B13, R-F4, R-F19, FR-H19: offsets under a generation that is over are refused, nothing is committed; and the transaction goes on under
// the generation of now.
func TestTheGroupMoves(t *testing.T) {
	for _, records := range []bool{true, false} {
		t.Run(fmt.Sprint("records=", records), func(t *testing.T) {
			inBoth(t, nil, func(w *world) {
				w.topic("in", 1)
				w.topic("out", 1)
				c := w.member("g", "in")
				defer func() { _ = c.Close(background) }()
				p := w.transactional()
				defer closes(w.t, p)
				ok(w.t, p.Begin(background))
				if records {
					sends(w.t, p, "out", "x")
				}
				cached := c.GroupMetadata()
				cached.Generation--
				ok(w.t, p.SendOffsets(background, offsets("in", 5), cached))
				err := p.Commit(background)
				is(w.t, err, AbortAndContinue, ErrGroupMoved, kerr.IllegalGeneration)
				ok(w.t, p.SendOffsets(background, offsets("in", 5), c.GroupMetadata()))
				ok(w.t, p.Commit(background))
				if got := w.committed("g", "in"); got != 5 {
					w.t.Errorf("the offset is %d", got)
				}

				ok(w.t, p.Begin(background))
				if records {
					sends(w.t, p, "out", "y")
				}
				gone := c.GroupMetadata()
				gone.Member = "somebody-else"
				ok(w.t, p.SendOffsets(background, offsets("in", 9), gone))
				is(w.t, p.Commit(background), AbortAndContinue, ErrGroupMoved, kerr.UnknownMemberID)
				ok(w.t, p.Abort(background))
				if got := w.committed("g", "in"); got != 5 {
					w.t.Errorf("after the abort the offset is %d", got)
				}
				if records {
					w.has("out", "x")
				}
			})
		})
	}
}

// R-B13: a member that was put out of its group keeps its metadata, and what it commits under them is refused.
func TestAnExpelledMemberCommitsNothing(t *testing.T) {
	inBoth(t, nil, func(w *world) {
		w.topic("in", 1)
		w.topic("out", 1)
		c := w.member("g", "in")
		p := w.transactional()
		defer closes(w.t, p)
		group := c.GroupMetadata()
		ok(w.t, c.Close(background))
		ok(w.t, p.Begin(background))
		sends(w.t, p, "out", "x")
		ok(w.t, p.SendOffsets(background, offsets("in", 5), group))
		is(w.t, p.Commit(background), AbortAndContinue, ErrGroupMoved)
		ok(w.t, p.Abort(background))
		w.has("out")
		if got := w.committed("g", "in"); got != -1 {
			w.t.Errorf("the offset is %d", got)
		}
	})
}

// FR-H28: a topic that is deleted within a transaction holds up neither its end nor the other topics.
func TestATopicIsDeletedWithinATransaction(t *testing.T) {
	inBoth(t, nil, func(w *world) {
		w.topic("stays", 1)
		w.topic("goes", 1)
		p := w.transactional()
		defer closes(w.t, p)
		ok(w.t, p.Begin(background))
		sends(w.t, p, "stays", "x")
		sends(w.t, p, "goes", "y")
		req := kmsg.NewPtrDeleteTopicsRequest()
		topic := kmsg.NewDeleteTopicsRequestTopic()
		topic.Topic = kmsg.StringPtr("goes")
		req.Topics, req.TopicNames = append(req.Topics, topic), []string{"goes"}
		_, err := req.RequestWith(background, w.admin)
		ok(w.t, err)
		ok(w.t, p.Commit(background))
		w.has("stays", "x")
	})
}

// Hooks see what has become of each transaction.
func TestHooksAreToldOfTransactions(t *testing.T) {
	inBubble(t, nil, func(w *world) {
		w.topic("out", 1)
		var told []Transaction
		p := w.producer(Config{TransactionalID: "id", Hooks: Hooks{Transaction: func(tx Transaction) { told = append(told, tx) }}})
		defer closes(w.t, p)
		ok(w.t, p.Begin(background))
		sends(w.t, p, "out", "x", "y")
		pass(time.Second)
		ok(w.t, p.Commit(background))
		ok(w.t, p.Begin(background))
		is(w.t, p.SendSync(background, &Record{Topic: "out", Value: make([]byte, 2_000_000)}), AbortAndContinue)
		is(w.t, p.Commit(background), AbortAndContinue)
		ok(w.t, p.Abort(background))
		if len(told) != 2 || !told[0].Committed || told[0].Records != 2 || told[0].Took < time.Second || told[0].Err != nil {
			w.t.Fatalf("told %+v", told)
		}
		if told[1].Committed || told[1].Records != 1 || ClassOf(told[1].Err) != AbortAndContinue {
			w.t.Errorf("told %+v", told[1])
		}
		if got := len(w.readsWith("out", kgo.ReadUncommitted())); got != 2 {
			w.t.Errorf("%d records were written", got)
		}
	})
}

//go:build synctests

package producer

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/consumer"
)

// The second hole of franz-go: it commits what was written although a record has failed. Here Commit refuses, and Abort works.
func TestAFailedRecordIsNotCommittedAround(t *testing.T) {
	inBoth(t, nil, func(w *world) {
		w.topic("out", 1)
		w.topic("in", 1)
		c := w.member("g", "in")
		defer func() { _ = c.Close(background) }()
		p := w.transactional()
		defer closes(w.t, p)
		ok(w.t, p.Begin(background))
		sends(w.t, p, "out", "written")
		p.Send(background, record("nowhere", "lost"), nil)
		ok(w.t, p.SendOffsets(background, offsets("in", 5), c.GroupMetadata()))
		for range 2 {
			err := p.Commit(background)
			is(w.t, err, AbortAndContinue, kerr.UnknownTopicOrPartition)
			says(w.t, err, "a record to nowhere was not written", "create the topic first")
		}
		is(w.t, p.SendSync(background, record("out", "more")), AbortAndContinue)
		is(w.t, p.SendOffsets(background, offsets("in", 5), c.GroupMetadata()), AbortAndContinue)
		is(w.t, p.Begin(background), Illegal)
		ok(w.t, p.Abort(background))
		ok(w.t, p.Begin(background))
		sends(w.t, p, "out", "again")
		ok(w.t, p.Commit(background))
		w.has("out", "again")
		if got := w.committed("g", "in"); got != -1 {
			w.t.Errorf("the offset is %d", got)
		}
	})
}

// answersProduce has the broker answer one Produce otherwise than it does.
func (w *world) answersProduce(code *kerr.Error, change func(*kmsg.ProduceResponseTopicPartition)) {
	var done atomic.Bool
	w.meddles(nil, func(r kmsg.Response) bool {
		resp, is := r.(*kmsg.ProduceResponse)
		if !is || !done.CompareAndSwap(false, true) {
			return true
		}
		part := &resp.Topics[0].Partitions[0]
		part.ErrorCode, part.BaseOffset = code.Code, -1
		if change != nil {
			change(part)
		}
		return true
	})
}

// R-F16, R-F17, FR-H9, FR-H12: what Produce may say, and what is left then. After all that is not fatal the producer goes on, and a
// record that was acknowledged before is never committed by halves.
func TestErrorsOfProduce(t *testing.T) {
	for code, class := range map[*kerr.Error]Class{
		kerr.InvalidProducerEpoch:       AbortAndContinue,
		kerr.OutOfOrderSequenceNumber:   AbortAndContinue,
		kerr.UnknownProducerID:          AbortAndContinue,
		kerr.InvalidProducerIDMapping:   AbortAndContinue,
		kerr.TransactionAbortable:       AbortAndContinue,
		kerr.TopicAuthorizationFailed:   AbortAndContinue,
		kerr.MessageTooLarge:            AbortAndContinue,
		kerr.InvalidTxnState:            Fatal,
		kerr.ClusterAuthorizationFailed: Fatal,
	} {
		t.Run(code.Message, func(t *testing.T) {
			inBoth(t, nil, func(w *world) {
				w.topic("out", 1)
				p := w.transactional()
				defer func() { _ = p.Close(background) }()
				ok(w.t, p.Begin(background))
				sends(w.t, p, "out", "first")
				w.answersProduce(code, nil)
				is(w.t, p.SendSync(background, record("out", "second")), class, code)
				is(w.t, p.Commit(background), class, code)
				if class == Fatal {
					is(w.t, p.Abort(background), Fatal, code)
					w.has("out")
					return
				}
				ok(w.t, p.Abort(background))
				for i := range 3 {
					ok(w.t, p.Begin(background))
					sends(w.t, p, "out", fmt.Sprint(i))
					ok(w.t, p.Commit(background))
				}
				w.has("out", "0", "1", "2")
			})
		})
	}
}

// FR-H9: where franz-go would go on in silence with another epoch, which has aborted what was written before, Commit says so.
func TestAnEpochThatWasRaisedWithinATransaction(t *testing.T) {
	inBoth(t, nil, func(w *world) {
		w.topic("out", 1)
		p := w.transactional()
		defer closes(w.t, p)
		ok(w.t, p.Begin(background))
		sends(w.t, p, "out", "first")
		w.answersProduce(kerr.UnknownProducerID, func(part *kmsg.ProduceResponseTopicPartition) {
			part.LogStartOffset = 1 << 40 // all that the producer has written is gone: it may begin anew, it thinks
		})
		p.Send(background, record("out", "second"), nil)
		is(w.t, p.Commit(background), AbortAndContinue)
		ok(w.t, p.Abort(background))
		ok(w.t, p.Begin(background))
		sends(w.t, p, "out", "third")
		ok(w.t, p.Commit(background))
		w.has("out", "third")
	})
}

// answersOnce changes the first answer to a request of some kind.
func answersOnce[R kmsg.Response](w *world, times int32, change func(R)) {
	var done atomic.Int32
	w.meddles(nil, func(r kmsg.Response) bool {
		if resp, is := r.(R); is && done.Add(1) <= times {
			change(resp)
		}
		return true
	})
}

// R-F4: what TxnOffsetCommit may say.
func TestErrorsOfTxnOffsetCommit(t *testing.T) {
	for code, class := range map[*kerr.Error]Class{
		kerr.CoordinatorLoadInProgress:          0,
		kerr.UnknownTopicOrPartition:            0,
		kerr.CoordinatorNotAvailable:            0,
		kerr.NotCoordinator:                     0,
		kerr.RequestTimedOut:                    0,
		kerr.ConcurrentTransactions:             0,
		kerr.GroupAuthorizationFailed:           AbortAndContinue,
		kerr.TransactionAbortable:               AbortAndContinue,
		kerr.FencedInstanceID:                   AbortAndContinue,
		kerr.IllegalGeneration:                  AbortAndContinue,
		kerr.UnknownMemberID:                    AbortAndContinue,
		kerr.RebalanceInProgress:                AbortAndContinue,
		kerr.TransactionalIDAuthorizationFailed: Fatal,
		kerr.UnsupportedForMessageFormat:        Fatal,
		kerr.OffsetMetadataTooLarge:             AbortAndContinue,
		kerr.InvalidCommitOffsetSize:            AbortAndContinue,
		kerr.TopicAuthorizationFailed:           AbortAndContinue,
		kerr.InvalidGroupID:                     AbortAndContinue,
		kerr.InvalidProducerEpoch:               AbortAndContinue, // a Fence finds no successor
	} {
		t.Run(code.Message, func(t *testing.T) {
			inBoth(t, nil, func(w *world) {
				w.topic("in", 1)
				w.topic("out", 1)
				p := w.transactional()
				defer func() { _ = p.Close(background) }()
				ok(w.t, p.Begin(background))
				sends(w.t, p, "out", "x")
				ok(w.t, p.SendUnfencedOffsets(background, "g", offsets("in", 5)))
				answersOnce(w, 3, func(r *kmsg.TxnOffsetCommitResponse) { r.Topics[0].Partitions[0].ErrorCode = code.Code })
				err := p.Commit(background)
				w.meddles(nil, nil)
				if class == 0 {
					ok(w.t, err)
					w.has("out", "x")
					return
				}
				is(w.t, err, class, code)
				if class == Fatal {
					return
				}
				ok(w.t, p.Abort(background))
				ok(w.t, p.Begin(background))
				sends(w.t, p, "out", "y")
				ok(w.t, p.Commit(background))
				w.has("out", "y")
			})
		})
	}
}

// FR-C6 has no place in a transaction: one refused partition is no commit of the others.
func TestOneRefusedPartitionIsNoCommit(t *testing.T) {
	inBoth(t, nil, func(w *world) {
		w.topic("in", 2)
		p := w.transactional()
		defer closes(w.t, p)
		ok(w.t, p.Begin(background))
		both := offsets("in", 5)
		both[consumer.TopicPartition{Topic: "in", Partition: 1}] = consumer.Offset{At: 6, LeaderEpoch: -1}
		ok(w.t, p.SendUnfencedOffsets(background, "g", both))
		answersOnce(w, 1, func(r *kmsg.TxnOffsetCommitResponse) {
			r.Topics[0].Partitions[0].ErrorCode = kerr.UnknownTopicOrPartition.Code
			r.Topics[0].Partitions[1].ErrorCode = kerr.TransactionAbortable.Code
		})
		is(w.t, p.Commit(background), AbortAndContinue, kerr.TransactionAbortable)
		ok(w.t, p.Abort(background))
		if got := w.committed("g", "in"); got != -1 {
			w.t.Errorf("the offset is %d", got)
		}
	})
}

// The coordinator moves, loads, and has another transaction to end, at each request that goes to it.
func TestTheCoordinatorMoves(t *testing.T) {
	for _, code := range []*kerr.Error{kerr.NotCoordinator, kerr.CoordinatorNotAvailable, kerr.CoordinatorLoadInProgress, kerr.ConcurrentTransactions, kerr.UnknownServerError} {
		t.Run(code.Message, func(t *testing.T) {
			inBoth(t, nil, func(w *world) {
				w.topic("in", 1)
				w.topic("out", 1)
				p := w.transactional()
				defer closes(w.t, p)
				refused := map[int16]int{}
				w.meddles(nil, func(r kmsg.Response) bool { return w.refuses(r, code, refused) })
				for i := range int64(3) {
					clear(refused)
					ok(w.t, p.Begin(background))
					sends(w.t, p, "out", fmt.Sprint(i))
					ok(w.t, p.SendUnfencedOffsets(background, "g", offsets("in", i)))
					ok(w.t, p.Commit(background))
					ok(w.t, p.Begin(background))
					ok(w.t, p.SendUnfencedOffsets(background, "g", offsets("in", 10+i)))
					ok(w.t, p.Commit(background))
				}
				w.has("out", "0", "1", "2")
				if got := w.committed("g", "in"); got != 12 {
					w.t.Errorf("the offset is %d", got)
				}
			})
		})
	}
}

// refuses answers each kind of request to a coordinator with a code, twice. What it was asked for is done all the same by EndTxn only, which
// knows repetitions.
func (w *world) refuses(r kmsg.Response, code *kerr.Error, refused map[int16]int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	refused[r.Key()]++
	if refused[r.Key()] > 2 {
		return true
	}
	switch r := r.(type) {
	case *kmsg.AddOffsetsToTxnResponse:
		r.ErrorCode = code.Code
	case *kmsg.TxnOffsetCommitResponse:
		r.Topics[0].Partitions[0].ErrorCode = code.Code
	case *kmsg.EndTxnResponse:
		r.ErrorCode = code.Code
	}
	return true
}

// FR-H12: an expired transactional id: the producer goes on with the next transaction.
func TestTheTransactionalIDExpires(t *testing.T) {
	inBoth(t, map[string]string{"transactional.id.expiration.ms": "5000", "transaction.remove.expired.transaction.cleanup.interval.ms": "1000"}, func(w *world) {
		w.topic("out", 1)
		p := w.transactional()
		defer closes(w.t, p)
		ok(w.t, p.Begin(background))
		sends(w.t, p, "out", "x")
		ok(w.t, p.Commit(background))
		pass(time.Minute)
		ok(w.t, p.Begin(background))
		err := p.SendSync(background, record("out", "y"))
		if err == nil {
			err = p.Commit(background)
		}
		is(w.t, err, AbortAndContinue)
		ok(w.t, p.Abort(background))
		ok(w.t, p.Begin(background))
		sends(w.t, p, "out", "z")
		ok(w.t, p.Commit(background))
		w.has("out", "x", "z")
	})
}

// What a user can do nothing about in the program is fatal at once, and says what to change.
func TestBeginIsRefusedForGood(t *testing.T) {
	inBubble(t, nil, func(w *world) {
		p := w.producer(Config{TransactionalID: "id", TransactionTimeout: time.Hour})
		defer func() { _ = p.Close(background) }()
		err := p.Begin(background)
		is(w.t, err, Fatal, kerr.InvalidTransactionTimeout)
		if e, is := errors.AsType[*Error](err); !is || e.Op != "beginning a transaction" {
			w.t.Errorf("%v", err)
		}
		if says(w.t, err, "transaction.max.timeout.ms", ": lower the one, or raise the other"); strings.Contains(err.Error(), "make another") {
			w.t.Errorf("another one would be refused, too: %v", err)
		}
	})
}

// says looks for words in an error's message.
func says(t *testing.T, err error, words ...string) {
	t.Helper()
	for _, part := range words {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("no %q in: %v", part, err)
		}
	}
}

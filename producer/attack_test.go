//go:build synctests

package producer

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/consumer"
)

// A record that franz-go refuses before it has it in its buffers is not waited for by its Flush: a Commit at once knows of it all the same. The
// transaction would be told to be committed without the record, and its offsets stay open, else.
func TestARecordThatIsRefusedAtOnceIsNotCommittedAround(t *testing.T) {
	inBoth(t, nil, func(w *world) {
		w.topic("in", 1)
		for name, r := range map[string]func() *Record{"no topic": func() *Record { return record("", "x") }, "no record": func() *Record { return nil }} {
			p := w.transactional()
			for range 50 { // the race is a narrow one
				ok(w.t, p.Begin(background))
				ok(w.t, p.SendUnfencedOffsets(background, "g", offsets("in", 5)))
				p.Send(background, r(), nil)
				if err := p.Commit(background); ClassOf(err) != AbortAndContinue {
					w.t.Fatalf("%s: Commit says %v", name, err)
				}
				ok(w.t, p.Abort(background))
			}
			closes(w.t, p)
		}
		if got := w.committed("g", "in"); got != -1 {
			w.t.Errorf("the offset is %d", got)
		}
	})
}

// No record is no panic, and no loss of room.
func TestNoRecordIsRefused(t *testing.T) {
	inBubble(t, nil, func(w *world) {
		w.topic("out", 1)
		p := w.producer(Config{MaxBufferedRecords: 1})
		defer closes(w.t, p)
		is(w.t, p.SendSync(background, nil), Illegal, kerr.InvalidTopicException)
		sends(w.t, p, "out", "x")
	})
}

// A broker that leaves a partition out of its answer has not said that its offset is committed.
func TestAPartitionWithoutAnAnswerIsNotCommitted(t *testing.T) {
	inBoth(t, nil, func(w *world) {
		w.topic("in", 2)
		p := w.transactional()
		defer closes(w.t, p)
		both := offsets("in", 5)
		both[consumer.TopicPartition{Topic: "in", Partition: 1}] = consumer.Offset{At: 6, LeaderEpoch: -1}
		ok(w.t, p.Begin(background))
		ok(w.t, p.SendUnfencedOffsets(background, "g", both))
		w.meddles(nil, func(resp kmsg.Response) bool {
			if r, is := resp.(*kmsg.TxnOffsetCommitResponse); is {
				r.Topics[0].Partitions = r.Topics[0].Partitions[:1]
			}
			return true
		})
		is(w.t, p.Commit(within(10*time.Second)), Retriable)
		w.meddles(nil, nil)
		ok(w.t, p.Commit(background))
		if got := w.committed("g", "in"); got != 5 {
			w.t.Errorf("the offset is %d", got)
		}
	})
}

// A closed producer begins nothing, and says what it is.
func TestAClosedProducerIsOne(t *testing.T) {
	inBubble(t, nil, func(w *world) {
		w.topic("out", 1)
		p := w.transactional()
		ok(w.t, p.Begin(background))
		ok(w.t, p.Commit(background))
		closes(w.t, p)
		for range 50 {
			is(w.t, p.Begin(background), Fatal, ErrClosed)
			is(w.t, p.Commit(background), Fatal, ErrClosed)
			is(w.t, p.Abort(background), Fatal, ErrClosed)
			is(w.t, p.SendOffsets(background, offsets("in", 1), consumer.GroupMetadata{Group: "g", Generation: 1, Member: "m"}), Fatal, ErrClosed)
			is(w.t, p.SendUnfencedOffsets(background, "g", offsets("in", 1)), Fatal, ErrClosed)
		}
		is(w.t, p.SendSync(background, record("out", "x")), Fatal, ErrClosed)
	})
}

// A call that recovers while the producer closes leaves no client behind: TestMain finds its goroutines.
func TestARecoveryDuringCloseLeavesNothing(t *testing.T) {
	inBubble(t, nil, func(w *world) {
		p := w.transactional()
		closes(w.t, p)
		if err := p.renew(); !errors.Is(err, ErrClosed) {
			w.t.Errorf("another client was made: %v", err)
		}
	})
}

// Each transaction is told of once, whoever ends it, and with its own figures, however soon the next one begins.
func TestHooksAreToldOfEachTransaction(t *testing.T) {
	inBubble(t, nil, func(w *world) {
		w.topic("out", 1)
		told := make(chan Transaction, 100)
		p := w.producer(Config{TransactionalID: "id", Hooks: Hooks{Transaction: func(tx Transaction) { told <- tx }}})
		ok(w.t, p.Begin(background))
		sends(w.t, p, "out", "x", "y")
		closes(w.t, p)
		select {
		case tx := <-told:
			if tx.Committed || tx.Records != 2 {
				w.t.Errorf("told %+v", tx)
			}
		default:
			w.t.Error("nobody was told of the transaction that Close has aborted")
		}
	})
}

// Everything at once, from many goroutines: calls are errors or not, nothing hangs, and nothing is left.
func TestEverythingAtOnce(t *testing.T) {
	inBoth(t, nil, func(w *world) {
		w.topic("out", 3)
		p := w.producer(Config{TransactionalID: "id", MaxBufferedRecords: 4, MaxBufferedBytes: 64})
		ctx, cancel := context.WithTimeout(background, 20*time.Second)
		defer cancel()
		done := make(chan struct{})
		calls := []func(){
			func() { _ = p.Begin(ctx) }, func() { _ = p.Commit(ctx) }, func() { _ = p.Abort(ctx) }, func() { _ = p.Flush(ctx) },
			func() { _ = p.SendSync(ctx, record("out", "x")) }, func() { p.Send(ctx, record("", "x"), nil) }, func() { p.Send(ctx, nil, nil) },
			func() { p.Send(ctx, &Record{Topic: "out", Value: make([]byte, 65)}, nil) }, func() { p.Send(ctx, record("nowhere", "x"), nil) },
			func() { _ = p.SendUnfencedOffsets(ctx, "g", offsets("in", 1)) }, func() { _ = p.Commit(within(time.Microsecond)) },
			func() { _ = p.Abort(within(time.Microsecond)) }, func() { _ = p.Begin(within(time.Microsecond)) },
		}
		for _, call := range calls {
			go func() {
				defer func() { done <- struct{}{} }()
				for range 40 {
					call()
					<-time.After(7 * time.Millisecond)
				}
			}()
		}
		for range calls {
			<-done
		}
		_ = p.Abort(background)
		ok(w.t, p.Begin(background))
		sends(w.t, p, "out", "last")
		ok(w.t, p.Commit(background))
		for range 3 {
			go func() { _ = p.Close(background) }()
		}
		closes(w.t, p)
	})
}

//go:build synctests

package producer

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// hearsNothing has the group's coordinator give out what one does that has not heard of the end of a transaction: that something is pending, or
// what was before.
func (w *world) hearsNothing() {
	w.meddles(nil, func(r kmsg.Response) bool {
		if fetched, is := r.(*kmsg.OffsetFetchResponse); is {
			for i := range fetched.Topics {
				for j := range fetched.Topics[i].Partitions {
					part := &fetched.Topics[i].Partitions[j]
					part.Offset = -1
					if fetched.Version >= stableSince {
						part.ErrorCode = kerr.UnstableOffsetCommit.Code
					}
				}
			}
		}
		return true
	})
}

// commits has p commit an offset of group g, alone, in a transaction.
func commits(t *testing.T, p *Producer, at int64) {
	t.Helper()
	ok(t, p.Begin(background))
	ok(t, p.SendUnfencedOffsets(background, "g", offsets("in", at)))
	ok(t, p.Commit(background))
}

// commitsAside does so while the test goes on, and tells when it is done.
func commitsAside(t *testing.T, p *Producer, at int64) (done chan struct{}) {
	done = make(chan struct{})
	go func() {
		defer close(done)
		commits(t, p, at)
	}()
	return done
}

// inOld runs a test on brokers whose coordinators hear of the end of a transaction late, with and without stable offsets.
func inOld(t *testing.T, test func(w *world)) {
	for _, release := range []string{"2.4", "2.5", "3.9"} {
		t.Run(release, func(t *testing.T) {
			inBubble(t, map[string]string{"skein.emulate.kafka.version": release}, func(w *world) {
				w.topic("in", 1)
				test(w)
			})
		})
	}
}

// KAFKA-17507: offsets that a coordinator is given before it has heard of the end of the transaction before are taken for a part of that.
func TestOffsetsWaitUntilTheLastOnesAreHeardOf(t *testing.T) {
	inOld(t, func(w *world) {
		p := w.transactional()
		defer closes(w.t, p)
		commits(w.t, p, 1)
		w.hearsNothing()
		done := commitsAside(w.t, p, 2)
		pass(time.Second)
		if n := w.count(kmsg.TxnOffsetCommit); n != 1 {
			w.t.Errorf("offsets were sent %d times before the coordinator has heard of the first ones", n)
		}
		w.meddles(nil, nil)
		<-done
		if got := w.committed("g", "in"); got != 2 {
			w.t.Errorf("the offset is %d", got)
		}
	})
}

// So are those after some that were aborted: of them an old broker tells nothing, and is given a moment.
func TestOffsetsWaitUntilAnAbortIsHeardOf(t *testing.T) {
	inOld(t, func(w *world) {
		p := w.transactional()
		defer closes(w.t, p)
		ok(w.t, p.Begin(background))
		ok(w.t, p.SendUnfencedOffsets(background, "g", offsets("in", 1)))
		w.meddles(nil, func(r kmsg.Response) bool {
			if committed, is := r.(*kmsg.TxnOffsetCommitResponse); is {
				committed.Topics[0].Partitions[0].ErrorCode = kerr.InvalidCommitOffsetSize.Code
			}
			return true
		})
		is(w.t, p.Commit(background), AbortAndContinue)
		ok(w.t, p.Abort(background))
		w.hearsNothing()
		began, done := time.Now(), commitsAside(w.t, p, 2)
		pass(unheardPause / 2)
		if n := w.count(kmsg.TxnOffsetCommit); n != 1 {
			w.t.Errorf("offsets were sent %d times before the coordinator has heard of the abort", n)
		}
		w.meddles(nil, nil)
		<-done
		if took := time.Since(began); took > time.Second {
			w.t.Errorf("it took %v", took)
		}
		if got := w.committed("g", "in"); got != 2 {
			w.t.Errorf("the offset is %d", got)
		}
	})
}

// What a predecessor of the same id has left is waited for, where the coordinator says that something is pending. Where it does not, Begin has given it time.
func TestTheFirstOffsetsWaitForAPredecessors(t *testing.T) {
	inOld(t, func(w *world) {
		p := w.transactional()
		defer closes(w.t, p)
		w.hearsNothing()
		done := commitsAside(w.t, p, 1)
		pass(time.Second)
		if n := w.count(kmsg.TxnOffsetCommit); (n == 0) != p.stable {
			w.t.Errorf("offsets were sent %d times while something was pending", n)
		}
		w.meddles(nil, nil)
		<-done
		if got := w.committed("g", "in"); got != 1 {
			w.t.Errorf("the offset is %d", got)
		}
	})
}

// Coordinators of a cluster with KIP-890 hear of the end first: they are not asked.
func TestNewCoordinatorsAreNotAsked(t *testing.T) {
	inBubble(t, nil, func(w *world) {
		w.topic("in", 1)
		p := w.transactional()
		defer closes(w.t, p)
		commits(w.t, p, 1)
		commits(w.t, p, 2)
		if n := w.count(kmsg.OffsetFetch); n != 0 {
			w.t.Errorf("offsets were asked for %d times", n)
		}
	})
}

// Who gives up its id on a broker without stable offsets leaves nothing that the next owner would read too early, and that one gives it time.
func TestAnOldBrokerHasHeardBeforeTheNextOwnerAsks(t *testing.T) {
	inBubble(t, map[string]string{"skein.emulate.kafka.version": "2.4"}, func(w *world) {
		w.topic("in", 1)
		p := w.transactional()
		commits(w.t, p, 1)
		w.hearsNothing()
		closed := make(chan error, 1)
		go func() { closed <- p.Close(background) }()
		pass(time.Second)
		select {
		case err := <-closed:
			w.t.Errorf("it has closed before its offsets were heard of: %v", err)
		default:
		}
		w.meddles(nil, nil)
		ok(w.t, <-closed)

		next, began := w.transactional(), time.Now()
		defer closes(w.t, next)
		ok(w.t, next.Begin(background))
		if took := time.Since(began); took < unheardPause {
			w.t.Errorf("the next owner may ask after %v", took)
		}
	})
}

// An offset that somebody has set back is not waited for for ever, neither at a commit nor at the end. One who was fenced waits for nothing.
func TestOffsetsThatAreNotComing(t *testing.T) {
	inBubble(t, map[string]string{"skein.emulate.kafka.version": "2.4"}, func(w *world) {
		w.topic("in", 1)
		p := w.transactional()
		commits(w.t, p, 1)
		w.hearsNothing()
		took := func(what string, least, most time.Duration, do func()) {
			began := time.Now()
			do()
			if took := time.Since(began); took < least || took > most {
				w.t.Errorf("%s took %v", what, took)
			}
		}
		took("a commit", unheardMax, 2*unheardMax, func() { commits(w.t, p, 2) })
		took("closing", unheardMax, 2*unheardMax, func() { closes(w.t, p) })
		w.meddles(nil, nil)
		old, next := w.transactional(), w.transactional()
		defer closes(w.t, next)
		commits(w.t, old, 3)
		commits(w.t, next, 4)
		is(w.t, func() error {
			ok(w.t, old.Begin(background))
			ok(w.t, old.SendUnfencedOffsets(background, "g", offsets("in", 5)))
			return old.Commit(background)
		}(), Fatal, ErrFenced)
		w.hearsNothing()
		took("closing who was fenced", 0, time.Second, func() { _ = old.Close(background) })
		w.meddles(nil, nil)
	})
}

//go:build synctests

package producer

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// once lets what it is asked pass, but for the first of a key.
func once(key kmsg.Key) func(interface{ Key() int16 }) bool {
	var lost atomic.Bool
	return func(m interface{ Key() int16 }) bool {
		return m.Key() != int16(key) || !lost.CompareAndSwap(false, true)
	}
}

func (w *world) losesRequest(key kmsg.Key) {
	f := once(key)
	w.meddles(func(r kmsg.Request) bool { return f(r) }, nil)
}

func (w *world) losesAnswer(key kmsg.Key) {
	f := once(key)
	w.meddles(nil, func(r kmsg.Response) bool { return f(r) })
}

// FR-H4, R-K24, R-K28: an EndTxn whose answer, or which itself, was lost is sent again until its outcome is known. What was lost does no harm when
// it arrives within the next transaction.
func TestALostEndOfATransaction(t *testing.T) {
	for name, loses := range map[string]func(*world){
		"request": func(w *world) { w.losesRequest(kmsg.EndTxn) },
		"answer":  func(w *world) { w.losesAnswer(kmsg.EndTxn) },
	} {
		t.Run(name, func(t *testing.T) {
			inBoth(t, nil, func(w *world) {
				w.topic("in", 1)
				w.topic("out", 1)
				c := w.member("g", "in")
				defer c.Close(background)
				p := w.transactional()
				defer closes(w.t, p)
				ok(w.t, p.Begin(background))
				sends(w.t, p, "out", "first")
				ok(w.t, p.SendOffsets(background, offsets("in", 5), c.GroupMetadata()))
				loses(w)
				ok(w.t, p.Commit(background))
				w.meddles(nil, nil)
				w.has("out", "first")
				if got := w.committed("g", "in"); got != 5 {
					w.t.Errorf("the offset is %d", got)
				}

				ok(w.t, p.Begin(background))
				sends(w.t, p, "out", "second")
				w.arrives() // EndTxn(commit) of the first
				sends(w.t, p, "out", "third")
				ok(w.t, p.Abort(background))
				w.has("out", "first")
				ok(w.t, p.Begin(background))
				sends(w.t, p, "out", "fourth")
				ok(w.t, p.Commit(background))
				w.has("out", "first", "fourth")
			})
		})
	}
}

// R-F1: a Commit whose time is over before the answer is made again. Nothing else may be called.
func TestACommitThatRunsOutOfTime(t *testing.T) {
	inBoth(t, nil, func(w *world) {
		w.topic("out", 1)
		p := w.transactional()
		defer closes(w.t, p)
		ok(w.t, p.Begin(background))
		sends(w.t, p, "out", "x")
		w.meddles(nil, func(r kmsg.Response) bool { return r.Key() != int16(kmsg.EndTxn) })
		is(w.t, p.Commit(within(3*time.Second)), Retriable, context.DeadlineExceeded)
		is(w.t, p.Abort(background), Illegal)
		is(w.t, p.Begin(background), Illegal)
		is(w.t, p.SendSync(background, record("out", "y")), Illegal)
		is(w.t, p.Commit(within(3*time.Second)), Retriable, context.DeadlineExceeded)
		w.meddles(nil, nil)
		ok(w.t, p.Commit(background))
		ok(w.t, p.Begin(background))
		sends(w.t, p, "out", "z")
		ok(w.t, p.Commit(background))
		w.has("out", "x", "z")
	})
}

// An Abort whose time is over is made again, and nothing of it is left.
func TestAnAbortThatRunsOutOfTime(t *testing.T) {
	inBoth(t, nil, func(w *world) {
		w.topic("out", 1)
		p := w.transactional()
		defer closes(w.t, p)
		ok(w.t, p.Begin(background))
		sends(w.t, p, "out", "x")
		w.cut()
		is(w.t, p.Abort(within(5*time.Second)), Retriable, context.DeadlineExceeded)
		is(w.t, p.Begin(background), Illegal)
		is(w.t, p.Commit(background), Illegal)
		w.mend()
		ok(w.t, p.Abort(background))
		ok(w.t, p.Begin(background))
		sends(w.t, p, "out", "y")
		ok(w.t, p.Commit(background))
		w.has("out", "y")
	})
}

// While the broker is away a commit waits, and while only records are missing the transaction may be aborted.
func TestTheBrokerIsAwayForAWhile(t *testing.T) {
	inBoth(t, nil, func(w *world) {
		w.topic("out", 1)
		p := w.transactional()
		defer closes(w.t, p)
		ok(w.t, p.Begin(background))
		sends(w.t, p, "out", "x")
		w.cut()
		p.Send(background, record("out", "y"), nil)
		is(w.t, p.Commit(within(5*time.Second)), Retriable, context.DeadlineExceeded)
		w.mend()
		ok(w.t, p.Commit(background))
		w.has("out", "x", "y")
	})
}

// An EndTxn for offsets alone that is lost, and one of the requests before it: resolved, and harmless when it arrives late.
func TestALostRequestOfOffsetsAlone(t *testing.T) {
	for _, key := range []kmsg.Key{kmsg.AddOffsetsToTxn, kmsg.TxnOffsetCommit, kmsg.EndTxn} {
		for name, loses := range map[string]func(*world){
			" request": func(w *world) { w.losesRequest(key) },
			" answer":  func(w *world) { w.losesAnswer(key) },
		} {
			t.Run(key.Name()+name, func(t *testing.T) {
				inBoth(t, nil, func(w *world) {
					w.topic("in", 1)
					w.topic("out", 1)
					c := w.member("g", "in")
					defer c.Close(background)
					p := w.transactional()
					defer closes(w.t, p)
					ok(w.t, p.Begin(background))
					ok(w.t, p.SendOffsets(background, offsets("in", 5), c.GroupMetadata()))
					loses(w)
					ok(w.t, p.Commit(background))
					w.meddles(nil, nil)
					ok(w.t, p.Begin(background))
					sends(w.t, p, "out", "x")
					ok(w.t, p.SendOffsets(background, offsets("in", 8), c.GroupMetadata()))
					w.arrives()
					ok(w.t, p.Commit(background))
					if got := w.committed("g", "in"); got != 8 {
						w.t.Errorf("the offset is %d", got)
					}
					w.has("out", "x")
				})
			})
		}
	}
}

// A TxnOffsetCommit that is lost and comes again within the next transaction sets no offset back.
func TestALostOffsetCommitWithRecords(t *testing.T) {
	inBoth(t, nil, func(w *world) {
		w.topic("in", 1)
		w.topic("out", 1)
		c := w.member("g", "in")
		defer c.Close(background)
		p := w.transactional()
		defer closes(w.t, p)
		ok(w.t, p.Begin(background))
		sends(w.t, p, "out", "x")
		ok(w.t, p.SendOffsets(background, offsets("in", 5), c.GroupMetadata()))
		w.losesRequest(kmsg.TxnOffsetCommit)
		ok(w.t, p.Commit(background))
		ok(w.t, p.Begin(background))
		sends(w.t, p, "out", "y")
		ok(w.t, p.SendOffsets(background, offsets("in", 9), c.GroupMetadata()))
		ok(w.t, p.Flush(background))
		w.answersBefore(kmsg.EndTxn, w.arrives)
		ok(w.t, p.Commit(background))
		if got := w.committed("g", "in"); got != 9 {
			w.t.Errorf("the offset is %d", got)
		}
	})
}

// answersBefore does something when a request of a key is on its way, once.
func (w *world) answersBefore(key kmsg.Key, do func()) {
	var done atomic.Bool
	w.meddles(func(r kmsg.Request) bool {
		if r.Key() == int16(key) && done.CompareAndSwap(false, true) {
			do()
		}
		return true
	}, nil)
}

//go:build synctests

package producer

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// FR-H20, R-F8: the newest producer of a transactional id fences the one before, wherever that is in its transaction. What it had open is
// aborted.
func TestASuccessorFences(t *testing.T) {
	for name, at := range map[string]func(*testing.T, *Producer) error{
		"at Commit": func(_ *testing.T, p *Producer) error { return p.Commit(background) },
		"at Send": func(t *testing.T, p *Producer) error {
			if p.SendSync(background, record("out", "late")) == nil {
				t.Error("a zombie has written")
			}
			if p.Commit(background) == nil {
				t.Error("a zombie has committed")
			}
			return p.Abort(background)
		},
		"at Abort": func(_ *testing.T, p *Producer) error {
			if err := p.Abort(background); err != nil {
				return err
			}
			return p.Begin(background)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBoth(t, nil, func(w *world) {
				w.topic("out", 1)
				old, next := w.transactional(), w.transactional()
				defer func() { _ = old.Close(background) }()
				defer closes(w.t, next)
				ok(w.t, old.Begin(background))
				sends(w.t, old, "out", "old")
				ok(w.t, next.Begin(background))
				sends(w.t, next, "out", "new")
				err := at(w.t, old)
				is(w.t, err, Fatal, ErrFenced)
				is(w.t, old.Begin(background), Fatal, ErrFenced)
				is(w.t, old.Commit(background), Fatal, ErrFenced)
				is(w.t, old.Abort(background), Fatal, ErrFenced)
				is(w.t, old.SendSync(background, record("out", "x")), Fatal, ErrFenced)
				ok(w.t, next.Commit(background))
				w.has("out", "new")
			})
		})
	}
}

// A successor that comes between two transactions is met by the next one.
func TestASuccessorFencesBetweenTransactions(t *testing.T) {
	inBoth(t, nil, func(w *world) {
		w.topic("out", 1)
		old, next := w.transactional(), w.transactional()
		defer func() { _ = old.Close(background) }()
		defer closes(w.t, next)
		ok(w.t, old.Begin(background))
		sends(w.t, old, "out", "old")
		ok(w.t, old.Commit(background))
		ok(w.t, next.Begin(background))
		ok(w.t, old.Begin(background)) // asks nobody
		if err := old.SendSync(background, record("out", "zombie")); err == nil {
			w.t.Error("a zombie has written")
		}
		if err := old.Abort(background); err == nil {
			err = old.Begin(background)
			is(w.t, err, Fatal, ErrFenced)
		} else {
			is(w.t, err, Fatal, ErrFenced)
		}
		sends(w.t, next, "out", "new")
		ok(w.t, next.Commit(background))
		w.has("out", "old", "new")
	})
}

// FR-H5, R-E9, R-K25, KIP-588: a transaction that was too slow is aborted by the broker. Its producer is told so, wherever it is, and goes on.
func TestTheBrokerTimesATransactionOut(t *testing.T) {
	for name, next := range map[string]func(*testing.T, *Producer){
		"Commit": func(t *testing.T, p *Producer) {
			is(t, p.Commit(background), AbortAndContinue)
			is(t, p.Commit(background), AbortAndContinue)
			is(t, p.SendSync(background, record("out", "late")), AbortAndContinue)
			ok(t, p.Abort(background))
		},
		"Send": func(t *testing.T, p *Producer) {
			is(t, p.SendSync(background, record("out", "late")), AbortAndContinue)
			is(t, p.Commit(background), AbortAndContinue)
			ok(t, p.Abort(background))
		},
		"Abort": func(t *testing.T, p *Producer) { ok(t, p.Abort(background)) },
	} {
		t.Run(name, func(t *testing.T) {
			inBoth(t, nil, func(w *world) {
				w.topic("out", 1)
				p := w.producer(Config{TransactionalID: "id", TransactionTimeout: 2 * time.Second})
				defer closes(w.t, p)
				for range 2 {
					ok(w.t, p.Begin(background))
					sends(w.t, p, "out", "slow")
					pass(30 * time.Second)
					next(w.t, p)
					ok(w.t, p.Begin(background))
					sends(w.t, p, "out", "quick")
					ok(w.t, p.Commit(background))
				}
				w.has("out", "quick", "quick")
			})
		})
	}
}

// The same, of offsets alone.
func TestTheBrokerTimesOffsetsOut(t *testing.T) {
	inBoth(t, nil, func(w *world) {
		w.topic("in", 1)
		c := w.member("g", "in")
		defer func() { _ = c.Close(background) }()
		p := w.producer(Config{TransactionalID: "id", TransactionTimeout: 2 * time.Second})
		defer closes(w.t, p)
		ok(w.t, p.Begin(background))
		stale := c.GroupMetadata()
		stale.Generation--
		ok(w.t, p.SendOffsets(background, offsets("in", 5), stale))
		is(w.t, p.Commit(background), AbortAndContinue, ErrGroupMoved) // by now the coordinator has it open
		pass(30 * time.Second)
		ok(w.t, p.SendOffsets(background, offsets("in", 5), c.GroupMetadata()))
		is(w.t, p.Commit(background), AbortAndContinue)
		ok(w.t, p.Abort(background))
		if got := w.committed("g", "in"); got != -1 {
			w.t.Errorf("the offset is %d", got)
		}
		ok(w.t, p.Begin(background))
		ok(w.t, p.SendOffsets(background, offsets("in", 6), c.GroupMetadata()))
		ok(w.t, p.Commit(background))
		if got := w.committed("g", "in"); got != 6 {
			w.t.Errorf("the offset is %d", got)
		}
	})
}

// Whether a commit was carried out of which the answer was lost, and then a successor has come, nobody can tell: it is said, not guessed.
func TestTheOutcomeIsUnknown(t *testing.T) {
	inBoth(t, nil, func(w *world) {
		w.topic("out", 1)
		old := w.transactional()
		defer func() { _ = old.Close(background) }()
		ok(w.t, old.Begin(background))
		sends(w.t, old, "out", "x")
		w.meddles(nil, func(r kmsg.Response) bool { return r.Key() != int16(kmsg.EndTxn) })
		is(w.t, old.Commit(within(2*time.Second)), Retriable)
		w.meddles(nil, nil)
		next := w.transactional()
		defer closes(w.t, next)
		ok(w.t, next.Begin(background))
		is(w.t, old.Commit(background), Fatal, ErrOutcomeUnknown)
		is(w.t, old.Abort(background), Fatal, ErrOutcomeUnknown)
		w.has("out", "x") // it was carried out
	})
}

// A commit that was lost, of a transaction that was then too slow: with KIP-890 it is known that it was not carried out, and the producer goes on.
// Without, it might have been, and something that came late have opened the transaction anew: it is said that nobody knows.
func TestALostCommitIsTimedOut(t *testing.T) {
	inBoth(t, nil, func(w *world) {
		w.topic("out", 1)
		p := w.producer(Config{TransactionalID: "id", TransactionTimeout: 2 * time.Second})
		defer func() { _ = p.Close(background) }()
		ok(w.t, p.Begin(background))
		sends(w.t, p, "out", "x")
		w.meddles(func(r kmsg.Request) bool { return r.Key() != int16(kmsg.EndTxn) }, nil)
		is(w.t, p.Commit(within(time.Second)), Retriable)
		pass(30 * time.Second)
		w.meddles(nil, nil)
		if w.release != "" {
			is(w.t, p.Commit(background), Fatal, ErrOutcomeUnknown)
			w.has("out")
			return
		}
		is(w.t, p.Commit(background), AbortAndContinue)
		ok(w.t, p.Abort(background))
		ok(w.t, p.Begin(background))
		sends(w.t, p, "out", "y")
		ok(w.t, p.Commit(background))
		w.has("out", "y")
	})
}

// Survivors of a dead member end what it had open, at once, and it is fenced if it lives after all.
func TestFenceOthers(t *testing.T) {
	inBoth(t, nil, func(w *world) {
		w.topic("out", 1)
		dead, survivor := w.transactional(), w.producer(Config{TransactionalID: "another"})
		defer func() { _ = dead.Close(background) }()
		defer closes(w.t, survivor)
		ok(w.t, dead.Begin(background))
		sends(w.t, dead, "out", "x")
		ok(w.t, survivor.Begin(background))
		ok(w.t, survivor.Fence(background, "id", "nobody"))
		sends(w.t, survivor, "out", "y")
		ok(w.t, survivor.Commit(background))
		w.has("out", "y")
		is(w.t, dead.Commit(background), Fatal, ErrFenced)
	})
}

// A zombie that is refused, at any request, ends nothing of its successor: Kafka would abort the transaction that is open if it asked for another epoch.
func TestAZombieEndsNothingOfItsSuccessor(t *testing.T) {
	inBoth(t, nil, func(w *world) {
		w.topic("out", 1)
		w.topic("other", 1)
		for _, act := range []func(*Producer) error{
			func(p *Producer) error { return p.Commit(background) },
			func(p *Producer) error { return p.Abort(background) },
			func(p *Producer) error {
				_ = p.SendSync(background, record("other", "late"))
				_ = p.Commit(background)
				return p.Abort(background)
			},
		} {
			old, next := w.transactional(), w.transactional()
			ok(w.t, old.Begin(background))
			sends(w.t, old, "out", "old")
			ok(w.t, next.Begin(background))
			sends(w.t, next, "out", "new")
			before := w.count(kmsg.InitProducerID)
			is(w.t, act(old), Fatal, ErrFenced)
			if n := w.count(kmsg.InitProducerID) - before; n > 0 {
				w.t.Errorf("%d InitProducerId were sent while the successor's transaction was open", n)
			}
			ok(w.t, next.Commit(background))
			closes(w.t, old)
			closes(w.t, next)
		}
		w.has("out", "new", "new", "new")
	})
}

// A partition that comes into a transaction which the broker has given up already: told, and gone on.
func TestANewPartitionAfterATimeout(t *testing.T) {
	inBoth(t, nil, func(w *world) {
		w.topic("out", 1)
		w.topic("other", 1)
		p := w.producer(Config{TransactionalID: "id", TransactionTimeout: 2 * time.Second})
		defer closes(w.t, p)
		ok(w.t, p.Begin(background))
		sends(w.t, p, "out", "slow")
		pass(30 * time.Second)
		is(w.t, p.SendSync(background, record("other", "late")), AbortAndContinue)
		ok(w.t, p.Abort(background))
		ok(w.t, p.Begin(background))
		sends(w.t, p, "other", "quick")
		ok(w.t, p.Commit(background))
		w.has("out")
		w.has("other", "quick")
	})
}

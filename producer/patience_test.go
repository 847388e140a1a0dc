//go:build synctests

package producer

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Who sets no deadline does not wait for ever for a coordinator that is not done with another transaction: neither in one nor for the fencing of others.
func TestMaxBlock(t *testing.T) {
	for want, cfg := range map[time.Duration]Config{
		time.Minute:     {TransactionalID: "id"},
		3 * time.Second: {TransactionalID: "id", MaxBlock: 3 * time.Second},
	} {
		inBubble(t, nil, func(w *world) {
			p := w.producer(cfg)
			defer closes(w.t, p)
			w.meddles(nil, func(r kmsg.Response) bool {
				if r, is := r.(*kmsg.InitProducerIDResponse); is {
					r.ErrorCode = kerr.ConcurrentTransactions.Code
				}
				return true
			})
			for name, call := range map[string]func(context.Context) error{
				"Begin": p.Begin,
				"Fence": func(ctx context.Context) error { return p.Fence(ctx, "dead", "dead, too") },
			} {
				began := time.Now()
				err := call(background)
				is(w.t, err, Retriable)
				if took := time.Since(began); took < want-time.Second || took > want+time.Second {
					w.t.Errorf("%s took %v, not %v: %v", name, took, want, err)
				}
				began = time.Now()
				is(w.t, call(within(time.Second)), Retriable)
				if took := time.Since(began); took > 2*time.Second {
					w.t.Errorf("%s within a second took %v", name, took)
				}
			}
			w.meddles(nil, nil)
			ok(w.t, p.Begin(background))
			ok(w.t, p.Fence(background, "dead"))
		})
	}
}

// Whose patience ends is told what is true of the records, and what waits for them: to send them again is not it.
func TestWhoDoesNotWaitForAnswers(t *testing.T) {
	inBubble(t, nil, func(w *world) {
		w.topic("out", 1)
		p := w.producer(Config{MaxBufferedBytes: 1000})
		defer closes(w.t, p)
		sends(w.t, p, "out", "warm")
		w.cut()
		err := p.SendSync(within(time.Second), record("out", "a"), record("out", "b"))
		is(w.t, err, Retriable, ErrUnanswered, context.DeadlineExceeded)
		says(w.t, err, "2 of 2 records", "may be written or not", "Flush waits for them", "may write them twice")
		err = p.SendSync(within(time.Second), record("", "no topic"), record("out", "c"))
		is(w.t, err, Retriable, ErrUnanswered, kerr.InvalidTopicException)
		says(w.t, err, "1 of 2 records", "one has failed before")
		w.mend()
		ok(w.t, p.Flush(background))
		w.has("out", "warm", "a", "b", "c")
		gone := within(0)
		pass(time.Second)
		for range 20 {
			is(w.t, p.SendSync(gone, record("out", strings.Repeat("x", 2000))), Illegal, kerr.MessageTooLarge) // which has its answer
		}
	})
}

// In a transaction Commit is what waits for them.
func TestWhoDoesNotWaitForAnswersOfATransaction(t *testing.T) {
	inBoth(t, nil, func(w *world) {
		w.topic("out", 1)
		p := w.transactional()
		defer closes(w.t, p)
		ok(w.t, p.Begin(background))
		sends(w.t, p, "out", "a")
		w.cut()
		err := p.SendSync(within(time.Second), record("out", "b"))
		is(w.t, err, AbortAndContinue, ErrUnanswered)
		says(w.t, err, "Commit waits for them", "abort first")
		w.mend()
		ok(w.t, p.Commit(background))
		w.has("out", "a", "b")
		err = p.unanswered(ErrUnanswered, &Error{Op: "sending", Class: Fatal, Err: ErrFenced})
		is(w.t, err, Fatal, ErrUnanswered, ErrFenced)
		says(w.t, err, "close this producer")
	})
}

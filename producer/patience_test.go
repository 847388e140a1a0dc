//go:build synctests

package producer

import (
	"context"
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

package producer

import (
	"context"
	"fmt"
	"time"

	"github.com/skeinstream/skein/internal/transaction"
)

// closeTimeout bounds a Close whose context does not.
const closeTimeout = 30 * time.Second

// closeGrace is how long after the end of its context a Close waits for goroutines to end that have been told to.
const closeGrace = time.Second

// Close takes no more records, waits for the answers of those that it has, and ends all connections. A transaction that is open is
// aborted, one whose Commit has had no answer is asked for. It returns by the end of ctx in any case, within a second; records that have no answer
// by then fail with ErrClosed. A second Close waits for the first.
func (p *Producer) Close(ctx context.Context) error {
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, closeTimeout)
		defer cancel()
	}
	p.mu.Lock()
	first := !p.closing
	p.closing = true
	p.mu.Unlock()
	if first {
		go p.closes(ctx)
	}
	if !p.isClosed(ctx) {
		return fmt.Errorf("closing the producer: %w", context.Cause(ctx))
	}
	return p.closeErr
}

// closes is a goroutine of its own, since it waits for callbacks and dialers of the user's, which need not end.
func (p *Producer) closes(ctx context.Context) {
	defer close(p.closed)
	err := p.finish(ctx)
	p.end(ErrClosed)
	p.mu.Lock()
	kafka := p.kafka
	p.mu.Unlock()
	kafka.Close()
	p.goroutine.Wait()
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeGrace)
	defer cancel()
	if late := p.budget.empty(grace); err == nil {
		err = late
	}
	if err != nil {
		p.closeErr = fmt.Errorf("closing the producer: %w", err)
	}
}

// finish ends in peace what has begun.
func (p *Producer) finish(ctx context.Context) error {
	if p.machine == nil {
		return p.Flush(ctx)
	}
	err := p.ends(ctx, (*transaction.Machine).Close)
	p.leavesHeard(ctx)
	return err
}

// isClosed waits until all has ended.
func (p *Producer) isClosed(ctx context.Context) bool {
	select {
	case <-p.closed:
		return true
	case <-ctx.Done():
	}
	grace := time.NewTimer(closeGrace)
	defer grace.Stop()
	select {
	case <-p.closed:
		return true
	case <-grace.C:
		return false
	}
}

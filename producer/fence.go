package producer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/ages"
	"github.com/skeinstream/skein/internal/transaction"
)

// fences makes sure, once for a group, that its coordinator can fence offset commits, before anything is sent that would need it (R-F5).
func (p *Producer) fences(ctx context.Context, op, group string) error {
	if p.canFence[group] {
		return nil
	}
	err := p.has(ctx, coordinator{group: true, key: group}, kmsg.NewPtrTxnOffsetCommitRequest(), ages.Since)
	switch {
	case err == nil:
		p.canFence[group] = true
		return nil
	case errors.Is(err, kerr.UnsupportedVersion):
		return p.locked(func(m *transaction.Machine) error {
			return m.Condemn(op, fmt.Errorf("%w (%w)", transaction.ErrCannotFence, err))
		})
	case errors.Is(err, kerr.GroupAuthorizationFailed):
		return &Error{Op: op, Class: AbortAndContinue, Err: fmt.Errorf("the user may not READ group %q: %w", group, err)}
	}
	return &Error{Op: op, Class: classOfEnd(ctx), Err: err}
}

// Fence ends what the producers of other transactional ids have open, and fences them: for who knows that they are dead, before they are
// missed (KIP-939 has no part in it: this is the administrator's fenceProducers). It waits until their transactions are over. A context without
// a deadline is given Config.MaxBlock, for all of them.
func (p *Producer) Fence(ctx context.Context, transactionalIDs ...string) error {
	ctx, stop := p.bounded(ctx)
	defer stop()
	for _, id := range transactionalIDs {
		if err := p.fence(ctx, id); err != nil {
			return &Error{Op: fmt.Sprintf("fencing transactional id %q", id), Class: classOfFence(ctx, err), Err: err}
		}
	}
	return nil
}

const fencePause = 50 * time.Millisecond

// fence asks for a new epoch of an id, which ends its open transaction. It is answered when that is over.
func (p *Producer) fence(ctx context.Context, id string) error {
	p.mu.Lock()
	kafka := p.kafka
	p.mu.Unlock()
	for {
		req := kmsg.NewPtrInitProducerIDRequest()
		req.TransactionalID, req.TransactionTimeoutMillis = &id, int32(p.cfg.TransactionTimeout.Milliseconds())
		req.ProducerID, req.ProducerEpoch = -1, -1
		resp, err := req.RequestWith(ctx, kafka)
		if err == nil {
			err = kerr.ErrorForCode(resp.ErrorCode)
		}
		if !errors.Is(err, kerr.ConcurrentTransactions) {
			return err
		}
		if err := pause(ctx, fencePause); err != nil {
			return context.Cause(ctx)
		}
	}
}

func classOfFence(ctx context.Context, err error) Class {
	if code, ok := errors.AsType[*kerr.Error](err); ok && !code.Retriable {
		return Illegal
	}
	return classOfEnd(ctx)
}

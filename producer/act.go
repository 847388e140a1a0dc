package producer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/skeinstream/skein/internal/transaction"
)

// drive makes one call of the machine, and does what it says until it returns.
func (p *Producer) drive(ctx context.Context, call func(*transaction.Machine) error) error {
	if err := p.locked(call); err != nil {
		return err
	}
	for {
		step := p.step()
		if step.Act == transaction.Return {
			return p.unlessClosed(step.Err)
		}
		a := p.act(ctx, step)
		if a.Err != nil && ctx.Err() != nil {
			a.Over, a.Err = true, context.Cause(ctx)
		}
		p.answer(a)
	}
}

// unlessClosed has the end of the producer be one.
func (p *Producer) unlessClosed(err error) error {
	if e, ok := errors.AsType[*Error](err); ok && e.Class != Illegal && errors.Is(err, ErrClosed) {
		return &Error{Op: e.Op, Class: Fatal, Err: e.Err}
	}
	return err
}

func (p *Producer) step() transaction.Step {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.machine.Step()
}

func (p *Producer) answer(a transaction.Answer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.machine.Answer(a)
}

// act does one step. Who acts has the turn, so that the client stays the same meanwhile.
func (p *Producer) act(ctx context.Context, s transaction.Step) transaction.Answer {
	switch s.Act {
	case transaction.Load:
		return p.load(ctx)
	case transaction.Open:
		p.ended()
		return transaction.Answer{Err: p.kafka.BeginTransaction()}
	case transaction.Drain:
		return transaction.Answer{Err: p.drain(ctx)}
	case transaction.Discard:
		return transaction.Answer{Err: p.discard(ctx)}
	case transaction.End:
		return transaction.Answer{Err: p.kafka.EndTransaction(ctx, kgo.TransactionEndTry(s.Commit))}
	case transaction.Renew:
		return transaction.Answer{Err: p.renew()}
	case transaction.Pause:
		return transaction.Answer{Err: pause(ctx, s.Wait)}
	}
	return p.byHand(ctx, s)
}

// load asks franz-go for the producer id, which asks the coordinator if it has none, or none that is good.
func (p *Producer) load(ctx context.Context) transaction.Answer {
	id, epoch, err := p.kafka.ProducerID(ctx)
	if err == nil && p.implicit == nil {
		err = p.meets(ctx)
	}
	if err != nil {
		return transaction.Answer{Err: fmt.Errorf("asking for a producer id: %w", err)}
	}
	return transaction.Answer{ID: id, Epoch: epoch, Implicit: *p.implicit}
}

// drain waits for all answers. The machine takes no more records meanwhile. Flush does not wait for what franz-go refuses before it has it in its
// buffers, whose callbacks come later: the budget does.
func (p *Producer) drain(ctx context.Context) error {
	if err := p.isIdle(ctx); err != nil {
		return err
	}
	if err := p.kafka.Flush(ctx); err != nil {
		return err
	}
	return p.allAnswered(ctx)
}

// discard gives up what can be. Those who wait for room get it, and are given up then.
func (p *Producer) discard(ctx context.Context) error {
	if err := p.kafka.AbortBufferedRecords(ctx); err != nil {
		return err
	}
	if err := p.isIdle(ctx); err != nil {
		return err
	}
	if err := p.kafka.AbortBufferedRecords(ctx); err != nil {
		return err
	}
	return p.allAnswered(ctx)
}

// allAnswered waits until every record has its answer, and franz-go lists what has come from them.
func (p *Producer) allAnswered(ctx context.Context) error {
	if err := p.budget.empty(ctx); err != nil {
		return err
	}
	return p.landed.listed(ctx, p.kafka)
}

// renew goes on with another client, which begins with an epoch of its own. The old one has no records any more. A producer that has been closed
// meanwhile has nobody who would close another.
func (p *Producer) renew() error {
	kafka, err := kgo.NewClient(p.cfg.kgoOptions()...)
	if err != nil {
		return fmt.Errorf("making another client: %w", err)
	}
	p.mu.Lock()
	old := p.kafka
	if p.life.Err() == nil {
		p.kafka = kafka
	}
	p.mu.Unlock()
	if old == p.kafka {
		kafka.Close()
		return ErrClosed
	}
	p.implicit = nil
	p.landed.forget()
	clear(p.coordinators)
	old.Close()
	p.log.Info("the transactional producer goes on with another client", "transactional id", p.cfg.TransactionalID)
	p.cfg.Hooks.renewed()
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

package producer

import (
	"context"
	"errors"
	"time"

	"github.com/skeinstream/skein/consumer"
	"github.com/skeinstream/skein/internal/transaction"
)

var errNoTransactions = errors.New("this producer has no transactions: set Config.TransactionalID")

// Begin begins a transaction. The first one makes this producer the one of its transactional id: what a predecessor has open is aborted, and
// the predecessor fenced. It waits for the coordinator then, and after a transaction that went wrong; otherwise it sends nothing.
// A context without a deadline is given Config.MaxBlock.
func (p *Producer) Begin(ctx context.Context) error {
	return p.inTurn(ctx, func(ctx context.Context) error {
		if p.cfg.Group != "" && p.cfg.UpgradeFrom == "" {
			if err := p.fences(ctx, "beginning a transaction", p.cfg.Group); err != nil {
				return err
			}
		}
		if err := p.drive(ctx, (*transaction.Machine).Begin); err != nil {
			return err
		}
		p.began, p.why = time.Now(), nil
		return nil
	})
}

// SendOffsets has the transaction commit offsets, which the group's generation fences (KIP-447): group is what the consumer that has read them
// returns as its GroupMetadata now, not earlier (R-F19). They are kept until Commit. Offsets that were sent before in this transaction stay,
// under the metadata of now. No offsets are nothing to do. The first call for a group asks its coordinator whether it can fence.
func (p *Producer) SendOffsets(ctx context.Context, offsets consumer.Offsets, group consumer.GroupMetadata) error {
	g := transaction.Group{
		Name: group.Group, Generation: group.Generation, Member: group.Member, Instance: group.Instance,
		Offsets: plain(offsets), Lenient: p.cfg.UpgradeFrom != "",
	}
	return p.inTurn(ctx, func(ctx context.Context) error {
		if len(offsets) > 0 && !g.Lenient && g.Name != "" && g.Generation >= 0 {
			if err := p.fences(ctx, "sending offsets", g.Name); err != nil {
				return err
			}
		}
		return p.locked(func(m *transaction.Machine) error { return m.Offsets(g) })
	})
}

// SendUnfencedOffsets has the transaction commit offsets of partitions that were assigned by hand, or as programs before Kafka 2.5 did. Nothing
// but the transactional id keeps a predecessor that still runs from committing over them (R-F3, R-F9).
func (p *Producer) SendUnfencedOffsets(ctx context.Context, group string, offsets consumer.Offsets) error {
	g := transaction.Group{Name: group, Unfenced: true, Generation: -1, Offsets: plain(offsets)}
	return p.inTurn(ctx, func(context.Context) error {
		return p.locked(func(m *transaction.Machine) error { return m.Offsets(g) })
	})
}

// Commit sends what lingers, waits for all answers, commits the offsets that were sent, and ends the transaction. It fails if one record has.
// A Retriable error leaves two ways: before the transaction's end was asked for it is open as before, and may be aborted, too; after
// that only Commit may be called, until it says what has become of it (R-F1). A context without a deadline is given Config.MaxBlock.
func (p *Producer) Commit(ctx context.Context) error {
	return p.ends(ctx, (*transaction.Machine).Commit)
}

// Abort ends the transaction without a trace for who reads what is committed. Records without an answer fail. Without a transaction it
// does nothing. A context without a deadline is given Config.MaxBlock.
func (p *Producer) Abort(ctx context.Context) error {
	return p.ends(ctx, (*transaction.Machine).Abort)
}

func plain(offsets consumer.Offsets) map[transaction.Partition]transaction.Offset {
	all := make(map[transaction.Partition]transaction.Offset, len(offsets))
	for p, o := range offsets {
		all[transaction.Partition{Topic: p.Topic, Partition: p.Partition}] = transaction.Offset{At: o.At, LeaderEpoch: o.LeaderEpoch, Metadata: o.Metadata}
	}
	return all
}

// ends makes a call that ends the transaction, and tells hooks and log of it.
func (p *Producer) ends(ctx context.Context, call func(*transaction.Machine) error) error {
	var over *Transaction
	err := p.inTurn(ctx, func(ctx context.Context) error {
		err := p.drive(ctx, call)
		over = p.over(err)
		return err
	})
	if over != nil {
		p.cfg.Hooks.transaction(*over)
	}
	if ClassOf(err) == Fatal && !errors.Is(err, ErrClosed) {
		p.log.Error("the transactional producer has come to its end", "transactional id", p.cfg.TransactionalID, "error", err)
	}
	return err
}

// over is the transaction that has ended with a call, nil if none has. Who calls has the turn: the next one has not begun.
func (p *Producer) over(err error) *Transaction {
	if p.why == nil {
		p.why = err
	}
	if p.began.IsZero() || err != nil && ClassOf(err) != Fatal {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	t := &Transaction{Committed: p.machine.Committed(), Records: p.machine.Sent(), Took: time.Since(p.began), Err: p.why}
	if t.Committed {
		t.Err = nil
	}
	p.began = time.Time{}
	return t
}

// inTurn does one thing of a transaction at a time, within ctx and the producer's life (R-F2).
func (p *Producer) inTurn(ctx context.Context, do func(context.Context) error) error {
	if p.machine == nil {
		return &Error{Op: "calling for a transaction", Class: Illegal, Err: errNoTransactions}
	}
	ctx, stop := p.bounded(ctx)
	defer stop()
	select {
	case p.turn <- struct{}{}:
	case <-ctx.Done():
		return &Error{Op: "waiting for another call of the transaction", Class: classOfEnd(ctx), Err: context.Cause(ctx)}
	}
	defer func() { <-p.turn }()
	if p.life.Err() != nil { // which ctx need not have heard of yet
		return &Error{Op: "calling for a transaction", Class: Fatal, Err: ErrClosed}
	}
	return do(ctx)
}

// bounded is ctx, as long as the producer lives, and no longer than a call may take.
func (p *Producer) bounded(ctx context.Context) (context.Context, func()) {
	ctx, stop := p.living(ctx)
	cancel := func() {}
	if _, is := ctx.Deadline(); !is {
		ctx, cancel = context.WithTimeout(ctx, p.cfg.MaxBlock)
	}
	return ctx, func() {
		cancel()
		stop(nil)
	}
}

func (p *Producer) locked(do func(*transaction.Machine) error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return do(p.machine)
}

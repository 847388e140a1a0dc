package exactlyonce

import (
	"context"
	"errors"
	"time"

	"github.com/skeinstream/skein/consumer"
	"github.com/skeinstream/skein/internal/work"
)

// listen puts the loop before the user's Listener.
func (l *loop) listen(cfg consumer.Config) consumer.Config {
	user := cfg.Listener
	cfg.Listener = consumer.Listener{
		Revoked: func(ctx context.Context, r consumer.Rebalance) error {
			l.revoked(ctx, r)
			return listens(ctx, user.Revoked, r)
		},
		Lost: func(ctx context.Context, r consumer.Rebalance) error {
			l.lost(ctx, r)
			if user.Lost == nil {
				r.Lost = true
				return listens(ctx, user.Revoked, r)
			}
			return user.Lost(ctx, r)
		},
		Assigned: func(ctx context.Context, r consumer.Rebalance) error {
			err := listens(ctx, user.Assigned, r)
			return errors.Join(err, l.assigned(ctx, r))
		},
	}
	return cfg
}

func listens(ctx context.Context, user func(context.Context, consumer.Rebalance) error, r consumer.Rebalance) error {
	if user == nil {
		return nil
	}
	return user(ctx, r)
}

// assigned claims the partitions where something has to, and has the group asked for its offsets after that.
func (l *loop) assigned(ctx context.Context, r consumer.Rebalance) error {
	l.callback(ctx, work.Assigned{Partitions: ours(r.Partitions), Generation: r.Generation})
	if k, ok := l.producing.(keeper); ok && len(r.Partitions) > 0 {
		if err := k.taken(ctx, r.Partitions); err != nil {
			l.p.log.Warn("claiming partitions failed: it is tried again when they are worked on", "group", l.p.cfg.Consumer.Group, "error", err)
		}
		l.p.consumer.Rewind(r.Partitions...)
	}
	return nil
}

// revoked commits what was processed of partitions that are given up, with what else is in the transaction, or else aborts it, in time.
func (l *loop) revoked(ctx context.Context, r consumer.Rebalance) {
	until := time.Now().Add(withoutReserve(time.Until(r.Deadline)))
	passed := reached(l.p.consumer.Uncommitted())
	l.callback(ctx, work.Revoked{Partitions: ours(r.Partitions), Passed: passed, Generation: l.generation(), Until: until})
	l.drop(ctx, r.Partitions)
}

// lost aborts a transaction that has anything of the partitions in it.
func (l *loop) lost(ctx context.Context, r consumer.Rebalance) {
	l.callback(context.WithoutCancel(ctx), work.Gone{Partitions: ours(r.Partitions), Until: time.Now().Add(l.p.cfg.Producer.TransactionTimeout)})
	l.drop(ctx, r.Partitions)
}

// callback does what has to be done before a callback returns. The last ones of a loop that was broken off find everything aborted.
func (l *loop) callback(ctx context.Context, in work.Input) {
	if l.broken {
		return
	}
	for out := l.step(in); out.Act != work.Release; {
		out = l.step(l.do(ctx, out))
	}
}

func (l *loop) drop(ctx context.Context, list []consumer.TopicPartition) {
	l.pending.forget(ours(list))
	for at := range l.why {
		for _, tp := range list {
			if at.Partition == work.Partition(tp) {
				delete(l.why, at)
			}
		}
	}
	if k, ok := l.producing.(keeper); ok && len(list) > 0 {
		k.dropped(ctx, list)
	}
}

package worker

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// franzOptions are of all franz-go's workers: no codec, everything else by
// default.
func franzOptions(a arguments, more ...kgo.Opt) []kgo.Opt {
	return append(more, kgo.SeedBrokers(a.bootstrap), kgo.ClientID(a.name), kgo.DefaultProduceTopic(a.output),
		kgo.ProducerBatchCompression(kgo.NoCompression()))
}

// reading are the options of a member that reads the input.
func reading(a arguments) []kgo.Opt {
	return []kgo.Opt{
		kgo.ConsumerGroup(a.group), kgo.ConsumeTopics(a.input), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.DisableAutoCommit(),
	}
}

// copied is what becomes of a record.
func copied(r *kgo.Record) *kgo.Record { return &kgo.Record{Key: r.Key, Value: r.Value} }

// gather polls until the interval is over.
func gather(ctx context.Context, interval time.Duration, poll func(context.Context) kgo.Fetches, each func(*kgo.Record)) error {
	ctx, cancel := context.WithTimeout(ctx, interval)
	defer cancel()
	for ctx.Err() == nil {
		fetches := poll(ctx)
		if err := fetches.Err(); err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
			return fmt.Errorf("polling: %w", err)
		}
		fetches.EachRecord(each)
	}
	return nil
}

// franzSession copies by a GroupTransactSession, which aborts what a rebalance
// meets and goes back to what is committed.
func franzSession(ctx context.Context, a arguments) error {
	session, err := kgo.NewGroupTransactSession(franzOptions(a, append(reading(a), kgo.TransactionalID(a.name))...)...)
	if err != nil {
		return err
	}
	defer session.Close()
	for ctx.Err() == nil {
		if err := session.Begin(); err != nil {
			return fmt.Errorf("beginning: %w", err)
		}
		var failed failure
		err := gather(ctx, a.interval, session.PollFetches, func(r *kgo.Record) {
			session.Produce(context.Background(), copied(r), failed.promise)
		})
		if err != nil {
			return err
		}
		if _, err := session.End(context.Background(), kgo.TransactionEndTry(failed.first() == nil)); err != nil {
			return fmt.Errorf("ending: %w", err)
		}
		report(failed.first())
	}
	return nil
}

// franzPlain copies without transactions: what is produced is acknowledged
// before the offsets are committed.
func franzPlain(ctx context.Context, a arguments) error {
	client, err := kgo.NewClient(franzOptions(a, reading(a)...)...)
	if err != nil {
		return err
	}
	defer client.Close()
	for ctx.Err() == nil {
		var failed failure
		err := gather(ctx, a.interval, client.PollFetches, func(r *kgo.Record) {
			client.Produce(context.Background(), copied(r), failed.promise)
		})
		if err != nil {
			return err
		}
		if err := errors.Join(client.Flush(context.Background()), failed.first()); err != nil {
			return fmt.Errorf("producing: %w", err)
		}
		if err := client.CommitUncommittedOffsets(context.Background()); err != nil {
			return fmt.Errorf("committing: %w", err)
		}
	}
	return nil
}

// failure is the first of what many promises report.
type failure struct{ err atomic.Pointer[error] }

func (f *failure) promise(_ *kgo.Record, err error) {
	if err != nil {
		f.err.CompareAndSwap(nil, &err)
	}
}

func (f *failure) first() error {
	if err := f.err.Load(); err != nil {
		return *err
	}
	return nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kversion"
)

// asBefore890 has the client know no version by which a producer's epoch grows
// with each transaction.
var asBefore890 = kgo.MaxVersions(kversion.V3_9_0())

type franzWorker struct {
	a        arguments
	session  *kgo.GroupTransactSession
	attempts int
}

func franz(ctx context.Context, a arguments, more ...kgo.Opt) error {
	session, err := kgo.NewGroupTransactSession(append(more,
		kgo.SeedBrokers(a.bootstrap), kgo.Dialer(a.dial), kgo.ClientID(a.name), kgo.ConsumerGroup(a.group), kgo.ConsumeTopics(a.input),
		kgo.Balancers(kgo.RangeBalancer()), kgo.SessionTimeout(a.session), kgo.HeartbeatInterval(a.heartbeat),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.FetchMaxWait(100*time.Millisecond),
		kgo.TransactionalID(a.transactionalID), kgo.TransactionTimeout(a.timeout),
		kgo.DefaultProduceTopic(a.output), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(kgo.NoCompression()),
		kgo.RetryBackoffFn(func(int) time.Duration { return 50 * time.Millisecond }))...)
	if err != nil {
		return err
	}
	// The client asks for its epoch with its first record, and so would not end
	// what an earlier worker has left open; the group would wait for that.
	if _, _, err := session.Client().ProducerID(ctx); err != nil {
		giveUp(err)
	}
	w := franzWorker{a: a, session: session}
	for ctx.Err() == nil {
		fetches := session.PollRecords(ctx, batchSize)
		for _, e := range fetches.Errors() {
			if !errors.Is(e.Err, context.Canceled) {
				fmt.Fprintln(os.Stderr, "fetching:", e.Err)
			}
		}
		if records := fetches.Records(); len(records) > 0 {
			if err := w.transact(context.Background(), records); err != nil {
				return err
			}
		}
	}
	session.Close()
	return nil
}

// transact handles records in one transaction, which the session aborts when
// the group rebalances meanwhile; it goes back to what is committed then.
func (w *franzWorker) transact(ctx context.Context, records []*kgo.Record) error {
	w.attempts++
	say("began %d %d", w.attempts, len(records))
	if err := w.session.Begin(); err != nil {
		giveUp(err)
	}
	for _, r := range records {
		to, text, err := w.a.transformed(r.Value, w.attempts, len(records))
		if err != nil {
			return err
		}
		w.session.Produce(ctx, &kgo.Record{Partition: to, Value: []byte(text)}, func(_ *kgo.Record, err error) {
			if err != nil {
				fmt.Fprintln(os.Stderr, "producing:", err)
			}
		})
	}
	if err := w.session.Client().Flush(ctx); err != nil {
		return err
	}
	time.Sleep(pause)
	say("ending %d", w.attempts)
	end := kgo.TryCommit
	if w.attempts%abortEvery == 0 {
		end = kgo.TryAbort
	}
	done, err := w.session.End(ctx, end)
	switch {
	case err != nil:
		giveUp(err)
	case done:
		say("committed %d", w.attempts)
	default:
		say("aborted %d", w.attempts)
	}
	return nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/skeinstream/skein/client"
	"github.com/skeinstream/skein/consumer"
	"github.com/skeinstream/skein/exactlyonce"
	"github.com/skeinstream/skein/producer"
)

// poisonEvery is how often a call aborts: several are in one transaction, and all
// of them are done again.
const poisonEvery = 3 * abortEvery

// skeinWorker tells of calls of its function where others tell of transactions.
// Several may be in one; each is there in whole, or not at all.
type skeinWorker struct {
	a        arguments
	mu       sync.Mutex
	attempts int
	returned []int // calls whose transaction has not ended
}

// skein runs package exactlyonce. Several calls at once, one a partition, is
// concurrency above 1.
func skein(ctx context.Context, a arguments, concurrency int) error {
	w := &skeinWorker{a: a}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	cfg := exactlyonce.Config{
		Consumer: consumer.Config{
			Cluster: client.Config{Brokers: []string{a.bootstrap}, ClientID: a.name, Dial: a.dial},
			Group:   a.group, InstanceID: a.instance, SessionTimeout: a.session, HeartbeatInterval: a.heartbeat,
			Reset: consumer.Earliest, MaxPollRecords: 5 * batchSize, // as much as others have in the time of several transactions
		},
		Topics:      []string{a.input},
		Producer:    producer.Config{Partitioner: producer.Manual(), TransactionTimeout: a.timeout},
		Concurrency: concurrency,
		Poison:      exactlyonce.PoisonPolicy{Retries: -1, Backoff: time.Millisecond},
		Hooks: exactlyonce.Hooks{
			Committed: func(exactlyonce.Transaction) { w.ended("committed") },
			Aborted: func(_ exactlyonce.Transaction, why exactlyonce.Reason, err error) {
				fmt.Fprintln(os.Stderr, "aborted:", why, err)
				w.ended("aborted")
			},
			Unknown: func(_ exactlyonce.Transaction, why exactlyonce.Reason, err error) {
				fmt.Fprintln(os.Stderr, "committed or aborted:", why, err)
				w.ended("")
			},
		},
		Logger: log,
	}
	if !a.byGroup {
		cfg.Producers = exactlyonce.OnePerPartition
		cfg.TransactionalIDOf = func(p consumer.TopicPartition) string { return fmt.Sprint(a.transactionalID, "-", p.Partition) }
	}
	return exactlyonce.Run(ctx, cfg, w.process)
}

// process writes an output for each record, and fails now and then after it has.
func (w *skeinWorker) process(_ context.Context, batch consumer.Batch, out *exactlyonce.Out) error {
	attempt, size := w.begin(batch.Len()), batch.Len()
	var last *consumer.Record
	for r := range batch.Records() {
		to, text, err := w.a.transformed(r.Value, attempt, size)
		if err != nil {
			return err
		}
		out.Send(&producer.Record{Topic: w.a.output, Partition: to, Value: []byte(text)})
		last = r
	}
	time.Sleep(pause)
	w.end(attempt)
	if attempt%poisonEvery == 0 {
		return exactlyonce.Poison(last, errAsked)
	}
	return nil
}

var errAsked = errors.New("it is the turn of this call to fail")

func (w *skeinWorker) begin(size int) (attempt int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.attempts++
	say("began %d %d", w.attempts, size)
	return w.attempts
}

func (w *skeinWorker) end(attempt int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	say("ending %d", attempt)
	w.returned = append(w.returned, attempt)
}

// ended says what has become of the calls that were in a transaction; nothing
// where that is not known.
func (w *skeinWorker) ended(how string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, attempt := range w.returned {
		if how != "" {
			say("%s %d", how, attempt)
		}
	}
	w.returned = nil
}

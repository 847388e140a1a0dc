package load

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"github.com/skeinstream/skein/bench/internal/stats"
)

// transactionSize is the size of the records of transactions, in bytes.
const transactionSize = 100

// Transactors are producers that send records in groups of the same size,
// one group after the other, each in a transaction or none of them.
type Transactors struct {
	clients       []*kgo.Client
	values        [][]byte
	transactional bool
	every         time.Duration // between the begins of two groups of a producer; 0: at once
}

// metadataPause is the least time between two requests for metadata. A producer
// that is told to wait for its last transaction (CONCURRENT_TRANSACTIONS) tries
// again after the next such request: by the client's default of five seconds
// that pause would be most of what is measured of a broker that answers so.
const metadataPause = 10 * time.Millisecond

// NewTransactors connects so many producers, which do not linger; all else but
// metadataPause and the codec, which is none, is the client's default. Their
// transactional ids begin with the topic's name.
func NewTransactors(addr, topic string, producers, records int, transactional bool) (*Transactors, error) {
	all := &Transactors{values: Values(transactionSize, records), transactional: transactional}
	for i := range producers {
		options := append(Uncompressed.options(), kgo.SeedBrokers(addr), kgo.DefaultProduceTopic(topic), kgo.ProducerLinger(0), kgo.MetadataMinAge(metadataPause))
		if transactional {
			options = append(options, kgo.TransactionalID(fmt.Sprintf("%s-%d", topic, i)))
		}
		client, err := kgo.NewClient(options...)
		if err != nil {
			all.Close()
			return nil, err
		}
		all.clients = append(all.clients, client)
	}
	return all, nil
}

// Pace lets each producer begin so many groups a second, and no more. Without
// it the next one begins when the last has ended, and a broker that is faster
// has more to do.
func (a *Transactors) Pace(rate int) { a.every = time.Second / time.Duration(rate) }

// await waits until producer p's group i is due. The producers take turns.
func (a *Transactors) await(ctx context.Context, began time.Time, p, i int) error {
	if a.every == 0 {
		return nil
	}
	turn := a.every * time.Duration(p) / time.Duration(len(a.clients))
	timer := time.NewTimer(time.Until(began.Add(turn + a.every*time.Duration(i))))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close ends the producers.
func (a *Transactors) Close() {
	for _, client := range a.clients {
		client.Close()
	}
}

// Committed is what a run of Transactors did.
type Committed struct {
	Groups int             // that were committed
	Took   time.Duration   // from the first one's begin until the last one's end
	Commit stats.Latencies // of the commit alone, after all records were acknowledged
}

// Rate is how many groups a second were committed.
func (c Committed) Rate() float64 { return perSecond(c.Groups, c.Took) }

// Run lets each producer begin groups until length is over.
func (a *Transactors) Run(ctx context.Context, length time.Duration) (Committed, error) {
	until := time.Now().Add(length)
	return a.run(ctx, func(int) (verdict, bool) { return commits, time.Now().Before(until) })
}

// abortEach is how many groups of Fill there are to each one that is aborted.
const abortEach = 10

// Fill lets each producer commit so many groups, and abort one more after each
// ten of them.
func (a *Transactors) Fill(ctx context.Context, each int) error {
	_, err := a.run(ctx, func(i int) (verdict, bool) {
		if i%(abortEach+1) == abortEach {
			return aborts, true
		}
		return commits, i-i/(abortEach+1) < each
	})
	return err
}

// verdict is how a group ends.
type verdict bool

const (
	commits verdict = true
	aborts  verdict = false
)

// run lets each producer send groups; next says how its group i ends, or that
// there is none.
func (a *Transactors) run(ctx context.Context, next func(i int) (verdict, bool)) (Committed, error) {
	began := time.Now()
	took := make([][]time.Duration, len(a.clients))
	work, ctx := errgroup.WithContext(ctx)
	for p, client := range a.clients {
		work.Go(func() error {
			for i := 0; ; i++ {
				how, more := next(i)
				if !more {
					return nil
				}
				if err := a.await(ctx, began, p, i); err != nil {
					return err
				}
				d, err := a.group(ctx, client, how)
				if err != nil {
					return fmt.Errorf("in transaction %d: %w", i+1, err)
				}
				if how == commits {
					took[p] = append(took[p], d)
				}
			}
		})
	}
	if err := work.Wait(); err != nil {
		return Committed{}, err
	}
	done := Committed{Took: time.Since(began)}
	var all []time.Duration
	for _, one := range took {
		all = append(all, one...)
	}
	done.Groups, done.Commit = len(all), stats.Summarize(all)
	return done, nil
}

// group sends one group of records and returns how long its end took.
func (a *Transactors) group(ctx context.Context, client *kgo.Client, how verdict) (time.Duration, error) {
	if a.transactional {
		if err := client.BeginTransaction(); err != nil {
			return 0, fmt.Errorf("beginning: %w", err)
		}
	}
	if err := produceAll(ctx, client, a.values, len(a.values)); err != nil {
		return 0, fmt.Errorf("producing: %w", err)
	}
	if !a.transactional {
		return 0, nil
	}
	ends := time.Now()
	if err := client.EndTransaction(ctx, kgo.TransactionEndTry(how)); err != nil {
		return 0, fmt.Errorf("ending: %w", err)
	}
	return time.Since(ends), nil
}

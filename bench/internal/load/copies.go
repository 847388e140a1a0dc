package load

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"github.com/skeinstream/skein/bench/internal/stats"
)

// Passage is a topic that somebody copies to another one, and what to send
// through them.
type Passage struct {
	From, To string // of Partitions partitions
	Size     int    // of each record's value, in bytes
	Rate     int    // records a second
	Length   time.Duration
}

// primes is how long a record may take through a passage before another one is
// sent to find out whether anybody copies.
const primes = 500 * time.Millisecond

// CopyLatency sends numbered records, each with a key of its own, and returns how
// long each took from when it was due until a consumer of committed records had
// the copy of it. What was on its way before does not count.
func CopyLatency(ctx context.Context, addr string, p Passage) (stats.Latencies, error) {
	producer, err := newPromptProducer(ctx, addr, p.From)
	if err != nil {
		return stats.Latencies{}, err
	}
	defer producer.Close()
	consumer, err := newConsumer(addr, p.To, kgo.NewOffset().AtEnd(), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	if err != nil {
		return stats.Latencies{}, err
	}
	defer consumer.Close()
	if err := prime(ctx, producer, consumer); err != nil {
		return stats.Latencies{}, fmt.Errorf("waiting for the first copy in %s: %w", p.To, err)
	}
	began := time.Now().Add(10 * time.Millisecond)
	plan := newSchedule(began, p.Rate, p.Length)
	plan.first = uint64(began.UnixNano()) // none that an earlier run had
	took := make([]time.Duration, plan.count)
	text := Values(p.Size, 1)[0]
	work, ctx := errgroup.WithContext(ctx)
	work.Go(func() error {
		return sendNumbered(ctx, producer, plan, func(number uint64) *kgo.Record {
			return &kgo.Record{Key: Key(number), Value: slices.Clone(text)}
		})
	})
	work.Go(func() error { return receiveNumbered(ctx, consumer, plan, took) })
	if err := work.Wait(); err != nil {
		return stats.Latencies{}, fmt.Errorf("sending %d/s through %s to %s: %w", p.Rate, p.From, p.To, err)
	}
	return stats.Summarize(took[plan.leadIn():]), nil
}

// Key is the key of a record that has this number.
func Key(number uint64) []byte { return binary.BigEndian.AppendUint64(nil, number) }

// prime sends until something comes out: the consumer may begin a moment after
// the first copy.
func prime(ctx context.Context, producer, consumer *kgo.Client) error {
	unnumbered := make([]byte, latencySize)
	for {
		if err := producer.ProduceSync(ctx, &kgo.Record{Value: unnumbered}).FirstErr(); err != nil {
			return err
		}
		wait, cancel := context.WithTimeout(ctx, primes)
		fetches := consumer.PollFetches(wait)
		cancel()
		if fetches.NumRecords() > 0 {
			return nil
		}
		if err := fetches.Err(); err != nil && !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
	}
}

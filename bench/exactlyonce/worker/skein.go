package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/skeinstream/skein/client"
	"github.com/skeinstream/skein/consumer"
	"github.com/skeinstream/skein/exactlyonce"
	"github.com/skeinstream/skein/producer"
)

// skeinConsumer is how all our workers read: by default but for where to begin.
func skeinConsumer(a arguments) consumer.Config {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	return consumer.Config{
		Cluster: client.Config{Brokers: []string{a.bootstrap}, ClientID: a.name, Logger: log},
		Group:   a.group, Reset: consumer.Earliest, ManualCommit: true, ReadCommitted: true,
	}
}

// output is what becomes of a record.
func output(a arguments, r *consumer.Record) *producer.Record {
	return &producer.Record{Topic: a.output, Key: r.Key, Value: r.Value}
}

func skeinExactlyOnce(ctx context.Context, a arguments) error {
	return skeinRun(ctx, a, exactlyonce.OnePerMember)
}

func skeinPerPartition(ctx context.Context, a arguments) error {
	return skeinRun(ctx, a, exactlyonce.OnePerPartition)
}

func skeinRun(ctx context.Context, a arguments, producers exactlyonce.Producers) error {
	cfg := exactlyonce.Config{Consumer: skeinConsumer(a), Topics: []string{a.input}, Interval: a.interval, Producers: producers}
	return exactlyonce.Run(ctx, cfg, func(_ context.Context, b consumer.Batch, out *exactlyonce.Out) error {
		for r := range b.Records() {
			out.Send(output(a, r))
		}
		return nil
	})
}

// skeinPlain is the same without transactions: what is produced is acknowledged
// before the offsets are committed.
func skeinPlain(ctx context.Context, a arguments) error {
	cfg := skeinConsumer(a)
	c, err := consumer.New(cfg)
	if err != nil {
		return err
	}
	p, err := producer.New(producer.Config{Cluster: cfg.Cluster})
	if err != nil {
		return err
	}
	if err := c.Subscribe(a.input); err != nil {
		return err
	}
	for ctx.Err() == nil {
		if err := skeinInterval(ctx, a, c, p); err != nil {
			return err
		}
	}
	return errors.Join(p.Close(context.Background()), c.Close(context.Background()))
}

func skeinInterval(ctx context.Context, a arguments, c *consumer.Consumer, p *producer.Producer) error {
	ctx, cancel := context.WithTimeout(ctx, a.interval)
	defer cancel()
	var failed failure
	for ctx.Err() == nil {
		batch, err := c.Poll(ctx)
		if err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
			return fmt.Errorf("polling: %w", err)
		}
		for r := range batch.Records() {
			p.Send(context.Background(), output(a, r), failed.promise)
		}
	}
	within, done := context.WithTimeout(context.Background(), commitPatience)
	defer done()
	if err := errors.Join(p.Flush(within), failed.first()); err != nil {
		return fmt.Errorf("producing: %w", err)
	}
	if err := c.Commit(within); !errors.Is(err, consumer.ErrRebalanceInProgress) { // else with the next interval's
		return err
	}
	return nil
}

// commitPatience only ends a hang.
const commitPatience = 30 * time.Second

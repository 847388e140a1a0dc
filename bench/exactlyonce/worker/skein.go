package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/skeinstream/skein/client"
	"github.com/skeinstream/skein/consumer"
)

// skeinConsumer is how all our workers read: by default but for where to begin.
func skeinConsumer(a arguments) consumer.Config {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	return consumer.Config{
		Cluster: client.Config{Brokers: []string{a.bootstrap}, ClientID: a.name, Logger: log},
		Group:   a.group, Reset: consumer.Earliest, ManualCommit: true, ReadCommitted: true,
	}
}

// skeinPlain copies without transactions: what is produced is acknowledged before
// the offsets are committed.
func skeinPlain(ctx context.Context, a arguments) error {
	c, err := consumer.New(skeinConsumer(a))
	if err != nil {
		return err
	}
	producer, err := kgo.NewClient(franzOptions(a)...)
	if err != nil {
		return err
	}
	defer producer.Close()
	if err := c.Subscribe(a.input); err != nil {
		return err
	}
	for ctx.Err() == nil {
		if err := skeinInterval(ctx, a, c, producer); err != nil {
			return err
		}
	}
	return c.Close(context.Background())
}

func skeinInterval(ctx context.Context, a arguments, c *consumer.Consumer, producer *kgo.Client) error {
	ctx, cancel := context.WithTimeout(ctx, a.interval)
	defer cancel()
	var failed failure
	for ctx.Err() == nil {
		batch, err := c.Poll(ctx)
		if err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
			return fmt.Errorf("polling: %w", err)
		}
		for r := range batch.Records() {
			producer.Produce(context.Background(), copied(r), failed.promise)
		}
	}
	within, done := context.WithTimeout(context.Background(), commitPatience)
	defer done()
	if err := errors.Join(producer.Flush(within), failed.first()); err != nil {
		return fmt.Errorf("producing: %w", err)
	}
	if err := c.Commit(within); !errors.Is(err, consumer.ErrRebalanceInProgress) { // else with the next interval's
		return err
	}
	return nil
}

// commitPatience only ends a hang.
const commitPatience = 30 * time.Second

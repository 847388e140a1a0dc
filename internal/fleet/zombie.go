package fleet

import (
	"context"
	"errors"

	"github.com/skeinstream/skein/consumer"
	"github.com/skeinstream/skein/producer"
)

// Zombie is a member that is taken for dead in the middle of a transaction, in which it has copied what partition 0 had.
type Zombie struct {
	job      Job
	line     *Line
	consumer *consumer.Consumer
	producer *producer.Producer
	at       consumer.Offsets
}

// Falls lives until its transaction is open, and cuts its line then. It waits for the partition's first records. Its producer may be one for
// old brokers.
func (j Job) Falls(ctx context.Context, line *Line, upgradeFrom string) (z *Zombie, err error) {
	z = &Zombie{job: j, line: line, at: consumer.Offsets{}}
	if z.consumer, err = consumer.New(j.consumer(line.Cluster())); err != nil {
		return nil, err
	}
	cfg := j.producer(line.Cluster(), 0)
	cfg.UpgradeFrom = upgradeFrom
	if z.producer, err = producer.New(cfg); err != nil {
		return nil, err
	}
	if err := errors.Join(z.consumer.Subscribe(j.From), z.producer.Begin(ctx)); err != nil {
		return nil, err
	}
	b, err := z.consumer.Poll(ctx)
	if err != nil {
		return nil, err
	}
	for r := range b.Records() {
		if err := z.producer.SendSync(ctx, j.copyOf(r)); err != nil {
			return nil, err
		}
		z.at[consumer.TopicPartition{Topic: r.Topic, Partition: r.Partition}] = consumer.Offset{At: r.Offset + 1, LeaderEpoch: -1}
	}
	line.Cut()
	return z, nil
}

// Wakes goes on where it was: it commits its transaction. Its offsets name its generation or not. The error is what refuses it.
func (z *Zombie) Wakes(ctx context.Context, named bool) error {
	z.line.Mend()
	defer func() {
		_ = z.producer.Close(ctx)
		_ = z.consumer.Close(ctx)
	}()
	offer := func() error { return z.producer.SendUnfencedOffsets(ctx, z.job.Group, z.at) }
	if named {
		offer = func() error { return z.producer.SendOffsets(ctx, z.at, z.consumer.GroupMetadata()) }
	}
	if err := offer(); err != nil {
		return err
	}
	return z.producer.Commit(ctx)
}

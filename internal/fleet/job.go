package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/skeinstream/skein/client"
	"github.com/skeinstream/skein/consumer"
	"github.com/skeinstream/skein/exactlyonce"
	"github.com/skeinstream/skein/producer"
)

// Job is what all members of a fleet do.
type Job struct {
	Group, From, To string
	// Prefix is of the transactional ids of those that have a producer for each partition.
	Prefix string
	// Session is how long a member is waited for that is not heard any more; Transaction how long a transaction may take.
	Session, Transaction time.Duration
}

// Program runs until ctx ends, which it takes for a wish to stop in peace, and returns nil then.
type Program func(ctx context.Context, cluster client.Config) error

func (j Job) consumer(cluster client.Config) consumer.Config {
	return consumer.Config{
		Cluster: cluster, Group: j.Group, Reset: consumer.Earliest, ManualCommit: true, ReadCommitted: true,
		SessionTimeout: j.Session, HeartbeatInterval: j.Session / 10,
	}
}

func (j Job) producer(cluster client.Config, partition int32) producer.Config {
	return producer.Config{
		Cluster: cluster, TransactionTimeout: j.Transaction,
		TransactionalID: fmt.Sprintf("%s-%s-%d", j.Prefix, j.From, partition),
	}
}

// Processing is Skein's loop.
func (j Job) Processing(producers exactlyonce.Producers, upgradeFrom string) Program {
	return func(ctx context.Context, cluster client.Config) error {
		return exactlyonce.Run(ctx, j.Config(cluster, producers, upgradeFrom), j.Copies)
	}
}

// Config is that of Processing.
func (j Job) Config(cluster client.Config, producers exactlyonce.Producers, upgradeFrom string) exactlyonce.Config {
	prefix := ""
	if producers == exactlyonce.OnePerPartition {
		prefix = j.Prefix
	}
	return exactlyonce.Config{
		Consumer: j.consumer(cluster), Topics: []string{j.From},
		Producer:  producer.Config{TransactionTimeout: j.Transaction},
		Producers: producers, UpgradeFrom: upgradeFrom, TransactionalIDPrefix: prefix,
	}
}

// Copies is what Processing does with its records.
func (j Job) Copies(_ context.Context, b consumer.Batch, out *exactlyonce.Out) error {
	for r := range b.Records() {
		out.Send(j.copyOf(r))
	}
	return nil
}

func (j Job) copyOf(r *consumer.Record) *producer.Record {
	return &producer.Record{Topic: j.To, Key: r.Key, Value: r.Value}
}

// AtLeastOnce sends, and commits what it has sent.
func (j Job) AtLeastOnce(ctx context.Context, cluster client.Config) (err error) {
	c, err := consumer.New(j.consumer(cluster))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ending(ctx, c.Close)) }()
	p, err := producer.New(producer.Config{Cluster: cluster})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ending(ctx, p.Close)) }()
	if err := c.Subscribe(j.From); err != nil {
		return err
	}
	for {
		b, err := c.Poll(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err == nil {
			err = ending(ctx, func(ctx context.Context) error { return j.sendsAll(ctx, c, p, b) })
		}
		if err != nil {
			return err
		}
	}
}

// ending does what is to be done also when the wish to stop has come, but not for ever.
func ending(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	return do(ctx)
}

func (j Job) sendsAll(ctx context.Context, c *consumer.Consumer, p *producer.Producer, b consumer.Batch) (err error) {
	for r := range b.Records() {
		err = errors.Join(err, p.SendSync(ctx, j.copyOf(r)))
	}
	if err != nil {
		return err
	}
	err = c.Commit(ctx)
	if errors.Is(err, consumer.ErrRebalanceInProgress) || errors.Is(err, consumer.ErrCommitFailed) || errors.Is(err, consumer.ErrNotOwned) {
		return nil // somebody does it again
	}
	return err
}

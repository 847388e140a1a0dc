package fleet

import (
	"context"
	"errors"

	"github.com/skeinstream/skein/client"
	"github.com/skeinstream/skein/consumer"
	"github.com/skeinstream/skein/producer"
)

// old works as programs did before KIP-447: a producer for each partition, and offsets that name no generation.
type old struct {
	job       Job
	cluster   client.Config
	consumer  *consumer.Consumer
	producers map[consumer.TopicPartition]*producer.Producer
}

// Old is a program from before KIP-447, which nothing fences but the transactional ids of its partitions.
func (j Job) Old(ctx context.Context, cluster client.Config) (err error) {
	o := &old{job: j, cluster: cluster, producers: map[consumer.TopicPartition]*producer.Producer{}}
	cfg := j.consumer(cluster)
	cfg.Listener = consumer.Listener{Assigned: o.takes, Revoked: o.drops}
	if o.consumer, err = consumer.New(cfg); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ending(ctx, o.consumer.Close)) }()
	if err := o.consumer.Subscribe(j.From); err != nil {
		return err
	}
	for {
		b, err := o.consumer.Poll(ctx)
		if ctx.Err() != nil {
			return nil
		}
		for _, p := range b.Partitions {
			err = errors.Join(err, ending(ctx, func(ctx context.Context) error { return o.copies(ctx, p) }))
		}
		if err != nil {
			return err
		}
	}
}

// takes takes the ids of partitions, and goes to where the group is then. What it has had before stays where it is: a broker from before KIP-447 may still
// give out the offset that was there before its last transaction.
func (o *old) takes(ctx context.Context, r consumer.Rebalance) error {
	if len(r.Partitions) == 0 { // none are all, to Committed
		return nil
	}
	for _, tp := range r.Partitions {
		p, err := producer.New(o.job.producer(o.cluster, tp.Partition))
		if err == nil {
			err = p.Begin(ctx)
		}
		if err != nil {
			return err
		}
		o.producers[tp] = p
	}
	committed, err := o.consumer.Committed(ctx, r.Partitions...)
	for tp, at := range committed {
		err = errors.Join(err, o.consumer.Seek(tp, at.At))
	}
	return err
}

func (o *old) drops(ctx context.Context, r consumer.Rebalance) error {
	for _, tp := range r.Partitions {
		if p := o.producers[tp]; p != nil {
			_ = p.Close(ctx)
			delete(o.producers, tp)
		}
	}
	return nil
}

// copies is one transaction of one partition.
func (o *old) copies(ctx context.Context, b consumer.PartitionBatch) error {
	p := o.producers[b.TopicPartition]
	for _, r := range b.Records {
		p.Send(ctx, o.job.copyOf(r), nil)
	}
	next := b.Records[len(b.Records)-1].Offset + 1
	if err := p.SendUnfencedOffsets(ctx, o.job.Group, consumer.Offsets{b.TopicPartition: {At: next, LeaderEpoch: -1}}); err != nil {
		return err
	}
	if err := p.Commit(ctx); err != nil {
		return err
	}
	return p.Begin(ctx)
}

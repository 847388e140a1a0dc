package stage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/skeinstream/skein/cli/internal/demo/story"
	"github.com/skeinstream/skein/client"
)

// again is how soon the producer tries again when the broker is away: what the group makes of it is to be seen, not how long the producer
// waits.
const again = 100 * time.Millisecond

// producer never stops, whatever the group does.
type producer struct {
	client *kgo.Client

	mu    sync.Mutex
	acked map[int32]int64 // by partition, the offset after the last that was acknowledged
}

// newProducer makes the topic, too.
func newProducer(ctx context.Context, cluster client.Config, name string) (*producer, error) {
	cl, err := kgo.NewClient(append(cluster.KgoOptions(), kgo.DefaultProduceTopic(name), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerLinger(0), kgo.MetadataMinAge(again), kgo.RetryBackoffFn(func(int) time.Duration { return again }))...)
	if err != nil {
		return nil, fmt.Errorf("setting up the producer: %w", err)
	}
	if _, err := kadm.NewClient(cl).CreateTopic(ctx, story.Partitions, -1, nil, name); err != nil {
		cl.Close()
		return nil, fmt.Errorf("making topic %s: %w", name, err)
	}
	return &producer{client: cl, acked: map[int32]int64{}}, nil
}

// run sends until ctx ends.
func (p *producer) run(ctx context.Context, every time.Duration, failed func(error)) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for id := range int32(story.Partitions) {
			r := &kgo.Record{Partition: id, Value: strconv.AppendInt(nil, int64(n), 10)}
			p.client.TryProduce(context.WithoutCancel(ctx), r, func(r *kgo.Record, err error) {
				switch {
				case err == nil:
					p.acknowledged(r)
				case !errors.Is(err, kgo.ErrMaxBuffered) && !errors.Is(err, kgo.ErrClientClosed):
					failed(fmt.Errorf("producing to partition %d: %w", r.Partition, err))
				}
			})
		}
	}
}

func (p *producer) acknowledged(r *kgo.Record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.acked[r.Partition] = max(p.acked[r.Partition], r.Offset+1)
}

// ends waits until all that was sent is acknowledged.
func (p *producer) ends(ctx context.Context) (map[int32]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, closing)
	defer cancel()
	if err := p.client.Flush(ctx); err != nil {
		return nil, fmt.Errorf("waiting for the last records to be acknowledged: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.acked), nil
}

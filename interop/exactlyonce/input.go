package exactlyonce

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// poison is the value of inputs whose transactions are aborted: a worker that
// gets one fails.
const poison = "poison"

// source writes the inputs, a few at a time, and aborted transactions between
// them, until it is told to stop.
type source struct {
	addr       string
	partitions int
	failed     func(format string, args ...any)
	quit       chan struct{}
	running    sync.WaitGroup

	mu     sync.Mutex
	inputs map[int32][]int64
}

func startSource(addr string, partitions int, failed func(format string, args ...any)) (*source, error) {
	s := &source{addr: addr, partitions: partitions, failed: failed, quit: make(chan struct{}), inputs: map[int32][]int64{}}
	client, err := s.client()
	if err != nil {
		return nil, err
	}
	s.running.Go(func() { s.produce(client) })
	s.running.Go(s.spoil)
	return s, nil
}

func (s *source) client(more ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append(more, kgo.SeedBrokers(s.addr), kgo.DefaultProduceTopic(inputTopic), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.MaxProduceRequestsInflightPerBroker(1),                               // Kafka takes a later one first when it has just been started
		kgo.ProducerLinger(0), kgo.ProducerBatchCompression(kgo.NoCompression()), // not every client has codecs
		kgo.RetryBackoffFn(func(int) time.Duration { return 50 * time.Millisecond }))...)
}

func (s *source) stop() {
	select {
	case <-s.quit:
	default:
		close(s.quit)
	}
	s.running.Wait()
}

// written is what there is to handle.
func (s *source) written() map[int32][]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := maps.Clone(s.inputs)
	for p, offsets := range all {
		all[p] = slices.Clip(offsets)
	}
	return all
}

func (s *source) produce(client *kgo.Client) {
	defer client.Close()
	tick := time.NewTicker(40 * time.Millisecond)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-s.quit:
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			if err := client.Flush(ctx); err != nil {
				s.failed("writing inputs: %v", err)
			}
			return
		case <-tick.C:
		}
		for p := range int32(s.partitions) {
			client.Produce(context.Background(), &kgo.Record{Partition: p, Value: fmt.Appendf(nil, "%d %d", p, n)}, s.wrote)
		}
	}
}

// wrote is called in the order of each partition.
func (s *source) wrote(r *kgo.Record, err error) {
	if err != nil {
		s.failed("writing inputs: %v", err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	had := s.inputs[r.Partition]
	n := len(had)
	if want := fmt.Sprint(r.Partition, " ", n); string(r.Value) != want || n > 0 && had[n-1] >= r.Offset {
		s.failed("input %q is written where %q was to be, at offset %d", r.Value, want, r.Offset)
	}
	s.inputs[r.Partition] = append(had, r.Offset)
}

// spoil aborts a transaction in every partition again and again, and once more
// at the end. Where it goes wrong it comes back under the same transactional id,
// so that none stays open, unless the broker is gone for good.
func (s *source) spoil() {
	tick := time.NewTicker(300 * time.Millisecond)
	defer tick.Stop()
	var client *kgo.Client
	quit, end := s.quit, time.Time{} // the end is known once it is told to stop
	for end.IsZero() || client == nil && time.Now().Before(end) {
		select {
		case <-quit:
			quit, end = nil, time.Now().Add(patience)
		case <-tick.C:
		}
		var err error
		if client == nil {
			client, err = s.client(kgo.TransactionalID("spoiler"), kgo.TransactionTimeout(longTransaction))
		}
		if err == nil {
			err = s.spoilOnce(client)
		}
		if err != nil && client != nil {
			client.Close()
			client = nil
		}
	}
	if client != nil {
		client.Close()
	}
}

func (s *source) spoilOnce(client *kgo.Client) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := client.BeginTransaction(); err != nil {
		return err
	}
	for p := range int32(s.partitions) {
		client.Produce(ctx, &kgo.Record{Partition: p, Value: []byte(poison)}, nil)
	}
	if err := client.Flush(ctx); err != nil {
		return err
	}
	return client.EndTransaction(ctx, kgo.TryAbort)
}

// seal writes a last record into each partition of the output.
func (s *source) seal(ctx context.Context) error {
	client, err := s.client()
	if err != nil {
		return err
	}
	defer client.Close()
	var last []*kgo.Record
	for p := range int32(s.partitions) {
		last = append(last, &kgo.Record{Topic: outputTopic, Partition: p, Value: []byte("the end")})
	}
	return client.ProduceSync(ctx, last...).FirstErr()
}

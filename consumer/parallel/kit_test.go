//go:build synctests

package parallel

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"github.com/skeinstream/skein/broker"
	"github.com/skeinstream/skein/client"
	"github.com/skeinstream/skein/consumer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a broker in memory, on a clock of its own.
type world struct {
	t     *testing.T
	b     *broker.Broker
	admin *kgo.Client
}

func inBubble(t *testing.T, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b, err := broker.Open(context.Background(), broker.Config{Settings: map[string]string{
			"connections.max.idle.ms": "-1", "group.initial.rebalance.delay.ms": "0",
		}})
		if err != nil {
			t.Fatal(err)
		}
		w := &world{t: t, b: b}
		w.admin, err = kgo.NewClient(kgo.SeedBrokers("skein:9092"), kgo.Dialer(b.Dialer()), kgo.RecordPartitioner(kgo.ManualPartitioner()))
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			w.admin.Close()
			w.ok(b.Shutdown(context.Background()))
		}()
		test(w)
	})
}

func (w *world) ok(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Error(err)
	}
}

func (w *world) topic(name string, partitions int32) {
	w.t.Helper()
	_, err := kadm.NewClient(w.admin).CreateTopic(context.Background(), partitions, 1, nil, name)
	w.ok(err)
}

// writes puts n records into a partition, with keys in turn; "" is none.
func (w *world) writes(topic string, partition int32, n int, keys ...string) {
	w.t.Helper()
	var batch []*kgo.Record
	for i := range n {
		r := &kgo.Record{Topic: topic, Partition: partition, Value: fmt.Append(nil, i)}
		if len(keys) > 0 && keys[i%len(keys)] != "" {
			r.Key = []byte(keys[i%len(keys)])
		}
		batch = append(batch, r)
	}
	w.ok(w.admin.ProduceSync(context.Background(), batch...).FirstErr())
}

func (w *world) config() consumer.Config {
	return consumer.Config{Group: "g", Cluster: client.Config{Brokers: []string{"skein:9092"}, Dial: w.b.Dialer()}, Reset: consumer.Earliest}
}

// committed is what the group has of a partition; -1 is nothing.
func (w *world) committed(topic string, partition int32) int64 {
	w.t.Helper()
	resp, err := kadm.NewClient(w.admin).FetchOffsets(context.Background(), "g")
	w.ok(err)
	if o, ok := resp.Lookup(topic, partition); ok {
		return o.At
	}
	return -1
}

// book is what handlers write down.
type book struct {
	mu      sync.Mutex
	handled map[consumer.TopicPartition][]int64 // offsets, in the order in which they were done
	now     int                                 // being worked on
	most    int
	busy    map[string]bool // keys
	clashes int             // records of a key that were worked on while another was
}

func newBook() *book {
	return &book{handled: map[consumer.TopicPartition][]int64{}, busy: map[string]bool{}}
}

func (b *book) begins(r *consumer.Record) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now++
	b.most = max(b.most, b.now)
	if key := string(r.Key); r.Key != nil {
		if b.busy[key] {
			b.clashes++
		}
		b.busy[key] = true
	}
}

func (b *book) ends(r *consumer.Record, done bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now--
	delete(b.busy, string(r.Key))
	if done {
		tp := partitionOf(r)
		b.handled[tp] = append(b.handled[tp], r.Offset)
	}
}

// atOnce is how many were worked on at once, at the most.
func (b *book) atOnce() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.most
}

// of is what was handled of a partition, in the order of that.
func (b *book) of(topic string, partition int32) []int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.handled[consumer.TopicPartition{Topic: topic, Partition: partition}])
}

// takes is a Handle that takes some time for each record.
func (b *book) takes(long func(r *consumer.Record) time.Duration) func(context.Context, *consumer.Record) error {
	return func(ctx context.Context, r *consumer.Record) error {
		b.begins(r)
		select {
		case <-time.After(long(r)):
			b.ends(r, true)
			return nil
		case <-ctx.Done():
			b.ends(r, false)
			return context.Cause(ctx)
		}
	}
}

// running is a processor that runs.
type running struct {
	*Processor
	w    *world
	quit context.CancelFunc
	err  chan error
}

func (w *world) runs(cfg Config, topics ...string) running {
	w.t.Helper()
	p, err := New(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.starts(p, topics...)
}

func (w *world) starts(p *Processor, topics ...string) running {
	w.t.Helper()
	w.ok(p.Consumer().Subscribe(topics...))
	ctx, cancel := context.WithCancel(context.Background())
	r := running{p, w, cancel, make(chan error, 1)}
	go func() { r.err <- p.Run(ctx) }()
	return r
}

func (r running) ends() {
	r.w.t.Helper()
	r.quit()
	r.w.ok(<-r.err)
}

// pass lets time go by, inside a bubble.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func upTo(n int64) (list []int64) {
	for i := range n {
		list = append(list, i)
	}
	return list
}

func sorted(list []int64) []int64 { return slices.Sorted(slices.Values(list)) }

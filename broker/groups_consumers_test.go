//go:build synctests

package broker

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// consumer is a franz-go consumer in a group that commits what it has handled before it polls on.
type consumer struct {
	c       *kgo.Client
	mu      sync.Mutex
	handled map[string]int // by value
	ended   chan struct{}
}

func (h *house) client(opts ...kgo.Opt) *kgo.Client {
	h.t.Helper()
	c, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers("skein:9092"), kgo.Dialer(h.dialer)}, opts...)...)
	if err != nil {
		h.t.Fatal(err)
	}
	return c
}

func (h *house) consumer(opts ...kgo.Opt) *consumer {
	h.t.Helper()
	opts = append([]kgo.Opt{
		kgo.ConsumerGroup("g"), kgo.ConsumeTopics("t"), kgo.DisableAutoCommit(), kgo.BlockRebalanceOnPoll(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	}, opts...)
	c := &consumer{c: h.client(opts...), handled: map[string]int{}, ended: make(chan struct{})}
	go c.run(h.t)
	return c
}

func (c *consumer) run(t *testing.T) {
	defer close(c.ended)
	for {
		fetches := c.c.PollRecords(context.Background(), 50)
		if fetches.IsClientClosed() {
			return
		}
		c.mu.Lock()
		fetches.EachRecord(func(r *kgo.Record) { c.handled[string(r.Value)]++ })
		c.mu.Unlock()
		if err := c.c.CommitUncommittedOffsets(context.Background()); err != nil && !fetches.Empty() {
			t.Errorf("committing: %v", err)
		}
		c.c.AllowRebalance()
	}
}

// close leaves the group.
func (c *consumer) close() {
	c.c.CloseAllowingRebalance()
	<-c.ended
}

func (c *consumer) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.handled)
}

// produced is n values from first on, spread over the partitions.
func (h *house) produced(first, n int) {
	h.t.Helper()
	c := h.client(kgo.RecordPartitioner(kgo.RoundRobinPartitioner()), kgo.DefaultProduceTopic("t"))
	defer c.Close()
	var records []*kgo.Record
	for i := range n {
		records = append(records, kgo.StringRecord(fmt.Sprint("record ", first+i)))
	}
	if err := c.ProduceSync(context.Background(), records...).FirstErr(); err != nil {
		h.t.Fatal(err)
	}
}

// onceEach checks that the consumers have handled every one of n records exactly once between them.
func (h *house) onceEach(n int, consumers ...*consumer) {
	h.t.Helper()
	for i := range n {
		times, value := 0, fmt.Sprint("record ", i)
		for _, c := range consumers {
			c.mu.Lock()
			times += c.handled[value]
			c.mu.Unlock()
		}
		if times != 1 {
			h.t.Errorf("%s was handled %d times", value, times)
		}
	}
}

// Two members of a franz-go group share a topic; one comes, one goes, the broker restarts, and every record is handled
// once.
func TestFranzGoConsumers(t *testing.T) {
	for name, balancer := range map[string]func() kgo.GroupBalancer{
		"range":              kgo.RangeBalancer,
		"roundrobin":         kgo.RoundRobinBalancer,
		"sticky":             kgo.StickyBalancer,
		"cooperative-sticky": kgo.CooperativeStickyBalancer,
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, nil, func(h *house) {
				h.createTopic("t", 6)
				h.produced(0, 300)
				a := h.consumer(kgo.Balancers(balancer()))
				pass(10 * time.Second)
				b := h.consumer(kgo.Balancers(balancer()), kgo.InstanceID("static"))
				pass(20 * time.Second)
				h.produced(300, 300)
				pass(5 * time.Second)
				h.onceEach(600, a, b)
				if a.count() == 0 || b.count() == 0 {
					t.Errorf("one member handled nothing: %d and %d", a.count(), b.count())
				}
				if g := h.describe("g"); g.State != "Stable" || len(g.Members) != 2 || g.Protocol != name {
					t.Errorf("%s with %d members and protocol %q", g.State, len(g.Members), g.Protocol)
				}
				a.close()
				pass(20 * time.Second)
				h.produced(600, 300)
				pass(5 * time.Second)
				h.onceEach(900, a, b)
				h.restart() // under the feet of b
				h.produced(900, 300)
				c := h.consumer(kgo.Balancers(balancer()))
				pass(20 * time.Second)
				h.onceEach(1200, a, b, c)
				b.close()
				c.close()
				synctest.Wait()
			})
		})
	}
}

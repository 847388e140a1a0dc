//go:build synctests

package consumer

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"github.com/skeinstream/skein/broker"
	"github.com/skeinstream/skein/client"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a broker in memory, on a clock of its own.
type world struct {
	t *testing.T
	b *broker.Broker
	// admin is a client beside the consumers, writer one that writes.
	admin, writer *kgo.Client

	mu    sync.Mutex
	gone  bool // consumers reach no broker
	conns []net.Conn
}

// inBubble runs a test in a bubble.
func inBubble(t *testing.T, test func(w *world)) {
	t.Helper()
	inBubbleWith(t, nil, test)
}

// inBubbleWith runs a test in a bubble, on a broker with some settings.
func inBubbleWith(t *testing.T, some map[string]string, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		settings := map[string]string{"connections.max.idle.ms": "-1", "group.initial.rebalance.delay.ms": "0"}
		maps.Copy(settings, some)
		b, err := broker.Open(context.Background(), broker.Config{Settings: settings})
		if err != nil {
			t.Fatal(err)
		}
		w := &world{t: t, b: b}
		w.admin, w.writer = w.client(), w.client(kgo.RecordPartitioner(kgo.ManualPartitioner()))
		defer func() {
			w.admin.Close()
			w.writer.Close()
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			if err := b.Shutdown(ctx); err != nil {
				t.Errorf("shutting down: %v", err)
			}
		}()
		test(w)
	})
}

func (w *world) client(opts ...kgo.Opt) *kgo.Client {
	w.t.Helper()
	c, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers("skein:9092"), kgo.Dialer(w.b.Dialer())}, opts...)...)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func (w *world) topic(name string, partitions int32) {
	w.t.Helper()
	if _, err := kadm.NewClient(w.admin).CreateTopic(context.Background(), partitions, 1, nil, name); err != nil {
		w.t.Fatalf("creating topic %s: %v", name, err)
	}
}

// writes puts n records into a partition: "t-0 #17".
func (w *world) writes(topic string, partition int32, n int) {
	w.t.Helper()
	c := w.client(kgo.RecordPartitioner(kgo.ManualPartitioner())) // one that knows nothing old of the topic
	defer c.Close()
	for i := range n {
		r := &kgo.Record{Topic: topic, Partition: partition, Value: fmt.Appendf(nil, "%s-%d #%d", topic, partition, i)}
		if err := c.ProduceSync(context.Background(), r).FirstErr(); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *world) write(topic string, partition int32, value string) {
	r := &kgo.Record{Topic: topic, Partition: partition, Value: []byte(value)}
	if err := w.writer.ProduceSync(context.Background(), r).FirstErr(); err != nil {
		w.t.Error(err)
	}
}

func (w *world) config() Config {
	return Config{
		Group:   "g",
		Cluster: client.Config{Brokers: []string{"skein:9092"}, Dial: w.dial},
		Reset:   Earliest,
	}
}

// named is the configuration of a static member.
func (w *world) named(id string) Config {
	cfg := w.config()
	cfg.InstanceID = id
	return cfg
}

func (w *world) dial(ctx context.Context, network, address string) (net.Conn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gone {
		return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	}
	conn, err := w.b.Dialer()(ctx, network, address)
	if err == nil {
		w.conns = append(w.conns, conn)
	}
	return conn, err
}

// cut takes the broker from the consumers, and mend brings it back.
func (w *world) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gone = true
	for _, conn := range w.conns {
		_ = conn.Close()
	}
	w.conns = nil
}

func (w *world) mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gone = false
}

// member is a consumer and a goroutine that polls, which writes down what it lives through.
type member struct {
	*Consumer
	w    *world
	name string

	mu      sync.Mutex
	log     []string
	handled map[string]int
	done    chan struct{}
	stop    context.CancelFunc
}

// member is one that polls all the time, until it is closed.
func (w *world) member(name string, cfg Config, topics ...string) *member {
	w.t.Helper()
	m := w.idler(name, cfg, topics...)
	m.starts()
	return m
}

// idler is one that polls only when it is told to.
func (w *world) idler(name string, cfg Config, topics ...string) *member {
	w.t.Helper()
	m := &member{w: w, name: name, handled: map[string]int{}}
	m.listen(&cfg)
	cfg.Cluster.ClientID = name // of which the broker makes the member's id: their order is that of the names
	c, err := New(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	m.Consumer = c
	if len(topics) > 0 {
		if err := c.Subscribe(topics...); err != nil {
			w.t.Fatal(err)
		}
	}
	return m
}

// starts has it poll.
func (m *member) starts() {
	m.done = make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	m.stop = cancel
	go m.polls(ctx)
}

// stops has it poll no more.
func (m *member) stops() {
	m.stop()
	<-m.done
	m.done = nil
}

// polls for is what an idler does for a while.
func (m *member) pollsFor(d time.Duration) {
	m.starts()
	pass(d)
	m.stops()
}

// listen has callbacks written down, before what they are to do.
func (m *member) listen(cfg *Config) {
	wrap := func(word string, then func(context.Context, Rebalance) error) func(context.Context, Rebalance) error {
		return func(ctx context.Context, r Rebalance) error {
			m.note("%s [%s]", word, names(r.Partitions))
			if then != nil {
				return then(ctx, r)
			}
			return nil
		}
	}
	l := cfg.Listener
	cfg.Listener = Listener{Revoked: wrap("revoked", l.Revoked), Assigned: wrap("assigned", l.Assigned), Lost: wrap("lost", l.Lost)}
}

func (m *member) note(format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.log = append(m.log, fmt.Sprintf(format, args...))
}

func (m *member) polls(ctx context.Context) {
	defer close(m.done)
	for {
		b, err := m.Poll(ctx)
		if err != nil {
			if ctx.Err() == nil && err != ErrClosed {
				m.note("error %v", err)
				if m.desk.fatal == nil {
					continue
				}
			}
			return
		}
		m.mu.Lock()
		for r := range b.Records() {
			m.handled[string(r.Value)]++
		}
		m.mu.Unlock()
	}
}

// close ends it as a program does: no more polls, then Close.
func (m *member) close() {
	m.w.t.Helper()
	if m.done != nil {
		m.stops()
	}
	if err := m.Close(context.Background()); err != nil {
		m.w.t.Error(err)
	}
}

// count is how many different records were handled.
func (m *member) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.handled)
}

// did compares what was written down with what was expected, and forgets it.
func (m *member) did(want ...string) {
	m.w.t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	if fmt.Sprint(m.log) != fmt.Sprint(want) {
		m.w.t.Errorf("%s did\n%q\ninstead of\n%q", m.name, m.log, want)
	}
	m.log = nil
}

// forget takes words out that depend on who is faster.
func (m *member) forget(word string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.log = slices.DeleteFunc(m.log, func(s string) bool { return s == word })
}

// pass lets time go by, inside a bubble.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (w *world) group(name string) kadm.DescribedGroup {
	w.t.Helper()
	groups, err := kadm.NewClient(w.admin).DescribeGroups(context.Background(), name)
	if err != nil {
		w.t.Fatal(err)
	}
	return groups[name]
}

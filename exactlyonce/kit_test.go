//go:build synctests

package exactlyonce

import (
	"context"
	"fmt"
	"net"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"github.com/skeinstream/skein/assign"
	"github.com/skeinstream/skein/broker"
	"github.com/skeinstream/skein/client"
	"github.com/skeinstream/skein/consumer"
	"github.com/skeinstream/skein/producer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a broker in memory, on a clock of its own, where programs copy topic in to topic out.
type world struct {
	t     *testing.T
	b     *broker.Broker
	admin *kgo.Client
	sent  map[int32]int // records in each partition of in

	mu        sync.Mutex
	committed map[string]int // what transactions that are said to be committed have processed
}

func inBubble(t *testing.T, partitions int32, test func(w *world)) {
	t.Helper()
	inBubbleOf(t, "", partitions, test)
}

// inBubbleOf has a broker that clients are shown as an older release of Kafka.
func inBubbleOf(t *testing.T, release string, partitions int32, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		settings := map[string]string{"connections.max.idle.ms": "-1", "group.initial.rebalance.delay.ms": "0"}
		if release != "" {
			settings["skein.emulate.kafka.version"] = release
		}
		b, err := broker.Open(context.Background(), broker.Config{Settings: settings})
		if err != nil {
			t.Fatal(err)
		}
		w := &world{t: t, b: b, sent: map[int32]int{}, committed: map[string]int{}}
		w.admin = w.kafka(kgo.RecordPartitioner(kgo.ManualPartitioner()))
		defer func() {
			w.admin.Close()
			w.ok(b.Shutdown(context.Background()))
			pass(time.Second) // for dials that are refused: time stands still once the test has returned
		}()
		for topic, n := range map[string]int32{"in": partitions, "out": 2, "dead": 1} {
			_, err := kadm.NewClient(w.admin).CreateTopic(context.Background(), n, 1, nil, topic)
			w.ok(err)
		}
		for i := range partitions {
			w.sent[i] = 0
		}
		test(w)
	})
}

func (w *world) ok(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Error(err)
	}
}

func (w *world) kafka(opts ...kgo.Opt) *kgo.Client {
	w.t.Helper()
	c, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers("skein:9092"), kgo.Dialer(w.b.Dialer())}, opts...)...)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// writes adds n records to each partition of in, with keys in turn: "1#17" is the eighteenth of partition 1.
func (w *world) writes(n int) {
	w.t.Helper()
	var batch []*kgo.Record
	for i := range w.sent {
		for range n {
			batch = append(batch, &kgo.Record{
				Topic: "in", Partition: i, Key: fmt.Append(nil, w.sent[i]%7), Value: fmt.Appendf(nil, "%d#%d", i, w.sent[i]),
			})
			w.sent[i]++
		}
	}
	w.ok(w.admin.ProduceSync(context.Background(), batch...).FirstErr())
}

// reads is what is committed in a topic: how often each value is there, and the records.
func (w *world) reads(topic string) (counts map[string]int, records []*kgo.Record) {
	w.t.Helper()
	admin, ctx := kadm.NewClient(w.admin), context.Background()
	ends, err := admin.ListEndOffsets(ctx, topic)
	w.ok(err)
	stable, err := admin.ListCommittedOffsets(ctx, topic)
	w.ok(err)
	left := map[int32]int64{}
	ends.Each(func(o kadm.ListedOffset) {
		if s, _ := stable.Lookup(topic, o.Partition); s.Offset != o.Offset {
			w.t.Errorf("a transaction is open in %s-%d: the last stable offset is %d of %d", topic, o.Partition, s.Offset, o.Offset)
		}
		if o.Offset > 0 {
			left[o.Partition] = o.Offset
		}
	})
	reader := w.kafka(kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords())
	defer reader.Close()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	counts = map[string]int{}
	for len(left) > 0 && ctx.Err() == nil {
		reader.PollFetches(ctx).EachRecord(func(r *kgo.Record) {
			if !r.Attrs.IsControl() {
				counts[string(r.Value)]++
				records = append(records, r)
			}
			if r.Offset+1 >= left[r.Partition] {
				delete(left, r.Partition)
			}
		})
	}
	w.ok(ctx.Err())
	return counts, records
}

// judges that the effect of each record is there once, that the group's offsets say so, and that so did what was told of transactions.
func (w *world) judges() {
	w.t.Helper()
	counts, _ := w.reads("out")
	offsets, err := kadm.NewClient(w.admin).FetchOffsets(context.Background(), "g")
	w.ok(err)
	w.mu.Lock()
	defer w.mu.Unlock()
	for p, n := range w.sent {
		for i := range n {
			name := fmt.Sprintf("%d#%d", p, i)
			if counts[name] != 1 {
				w.t.Errorf("%s is there %d times", name, counts[name])
			}
			if w.committed[name] > 1 {
				w.t.Errorf("%s was said to be committed %d times", name, w.committed[name])
			}
			delete(counts, name)
		}
		if at, _ := offsets.Lookup("in", p); n > 0 && at.At != int64(n) {
			w.t.Errorf("the group is at %d of %d in partition %d", at.At, n, p)
		}
	}
	for name := range counts {
		w.t.Errorf("%s was never sent", name)
	}
}

// node is a program with a line of its own to the broker.
type node struct {
	*Processor
	w    *world
	name string
	quit context.CancelFunc
	err  chan error

	mu    sync.Mutex
	cut   bool
	conns []net.Conn
	line  *node // whose line it is that is cut, if it is not its own

	told  []string // ends of transactions, in words
	under []string // records of the transaction that is open
}

// dial takes a moment to be refused: franz-go asks again at once when AddPartitionsToTxn finds no broker, and a clock that waits for it stands still.
func (n *node) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if n.isCut() {
		<-time.After(20 * time.Millisecond)
		return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	conn, err := n.w.b.Dialer()(ctx, network, address)
	if err == nil {
		n.conns = append(n.conns, conn)
	}
	return conn, err
}

func (n *node) isCut() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.cut
}

// crashes takes the broker from it, for good: nothing that it still does is of any effect.
func (n *node) crashes() {
	if n.line != nil {
		n.line.crashes()
		return
	}
	n.mu.Lock()
	n.cut = true
	for _, conn := range n.conns {
		_ = conn.Close()
	}
	n.conns = nil
	n.mu.Unlock()
}

func (n *node) mends() {
	if n.line != nil {
		n.line.mends()
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut = false
}

// config is that of a program which copies.
func (w *world) config() Config {
	return Config{
		Consumer: consumer.Config{Group: "g", Reset: consumer.Earliest, SessionTimeout: 6 * time.Second, Assignors: []assign.Assignor{assign.CooperativeSticky{}}},
		Topics:   []string{"in"},
	}
}

// runs starts a program that copies, if process is nil.
func (w *world) runs(name string, cfg Config, process Func) *node {
	w.t.Helper()
	n := &node{w: w, name: name, err: make(chan error, 1)}
	dial := n.dial
	if cfg.Consumer.Cluster.Dial != nil {
		dial = cfg.Consumer.Cluster.Dial
	}
	cfg.Consumer.Cluster = client.Config{Brokers: []string{"skein:9092"}, Dial: dial, ClientID: name}
	n.listens(&cfg.Hooks)
	if process == nil {
		process = copies
	}
	p, err := New(cfg, func(ctx context.Context, b consumer.Batch, out *Out) error {
		if err := process(ctx, b, out); err != nil {
			return err
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		for r := range b.Records() {
			n.under = append(n.under, string(r.Value))
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	n.Processor = p
	ctx, cancel := context.WithCancel(context.Background())
	n.quit = cancel
	go func() { n.err <- p.Run(ctx) }()
	return n
}

func copies(_ context.Context, b consumer.Batch, out *Out) error {
	for r := range b.Records() {
		out.Send(&producer.Record{Topic: "out", Key: r.Key, Value: r.Value})
	}
	return nil
}

// listens writes down what is told.
func (n *node) listens(h *Hooks) {
	end := func(words string, count bool) {
		n.mu.Lock()
		under := n.under
		n.under = nil
		n.told = append(n.told, words)
		n.mu.Unlock()
		n.w.mu.Lock()
		defer n.w.mu.Unlock()
		for _, name := range under {
			if count {
				n.w.committed[name]++
			}
		}
	}
	also := h.Committed
	h.Committed = func(t Transaction) {
		if also != nil {
			also(t)
		}
		if t.Records > 0 {
			end(fmt.Sprintf("committed %d", t.Records), true)
		}
	}
	h.Aborted = func(_ Transaction, why Reason, _ error) { end("aborted: "+why.String(), false) }
	h.Unknown = func(_ Transaction, why Reason, _ error) { end("unknown: "+why.String(), false) }
}

// words are those that were told, without those of commits.
func (n *node) words(also ...string) (words []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range n.told {
		if len(also) > 0 || len(s) < 9 || s[:9] != "committed" {
			words = append(words, s)
		}
	}
	return words
}

// ends has it end in peace.
func (n *node) ends() {
	n.w.t.Helper()
	n.quit()
	n.w.ok(<-n.err)
}

// pass lets time go by, inside a bubble.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

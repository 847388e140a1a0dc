//go:build synctests

package producer

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/skeinstream/skein/broker"
	"github.com/skeinstream/skein/client"
	"github.com/skeinstream/skein/consumer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a broker in memory, on a clock of its own, and a network between it and the producers that can be meddled with.
type world struct {
	t *testing.T
	b *broker.Broker
	// release is what the broker shows of Kafka, "" for all.
	release string
	// admin is a client beside the producers, which nobody meddles with.
	admin *kgo.Client

	mu    sync.Mutex
	gone  bool // producers reach no broker
	conns []net.Conn
	// asks and answers see what passes, may change it, and say whether it arrives. Where it does not, the connection ends.
	asks    func(kmsg.Request) bool
	answers func(kmsg.Response) bool
	// seen counts requests by key, late keeps what has not arrived.
	seen map[int16]int
	late [][]byte
}

// releases are the brokers that a producer meets: with KIP-890's epochs, and without.
func releases() map[string]string { return map[string]string{"TV2": "", "TV1": "3.9"} }

// inBubble runs a test in a bubble, with a broker of those settings.
func inBubble(t *testing.T, settings map[string]string, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		all := map[string]string{"connections.max.idle.ms": "-1", "group.initial.rebalance.delay.ms": "0"}
		for name, value := range settings {
			if value != "" {
				all[name] = value
			}
		}
		b, err := broker.Open(context.Background(), broker.Config{Settings: all})
		if err != nil {
			t.Fatal(err)
		}
		w := &world{t: t, b: b, release: settings["skein.emulate.kafka.version"], seen: map[int16]int{}}
		if w.admin, err = kgo.NewClient(kgo.SeedBrokers("skein:9092"), kgo.Dialer(b.Dialer())); err != nil {
			t.Fatal(err)
		}
		defer func() {
			w.admin.Close()
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			if err := b.Shutdown(ctx); err != nil {
				t.Errorf("shutting down: %v", err)
			}
		}()
		test(w)
	})
}

// inBoth runs a test with KIP-890 and without.
func inBoth(t *testing.T, settings map[string]string, test func(w *world)) {
	for name, release := range releases() {
		t.Run(name, func(t *testing.T) {
			all := map[string]string{"skein.emulate.kafka.version": release}
			for name, value := range settings {
				all[name] = value
			}
			inBubble(t, all, test)
		})
	}
}

func (w *world) topic(name string, partitions int32) {
	w.t.Helper()
	if _, err := kadm.NewClient(w.admin).CreateTopic(context.Background(), partitions, 1, nil, name); err != nil {
		w.t.Fatalf("creating topic %s: %v", name, err)
	}
}

// producer is one that the test closes at its end.
func (w *world) producer(cfg Config) *Producer {
	w.t.Helper()
	cfg.Cluster.Brokers = []string{"skein:9092"}
	if cfg.Cluster.Dial == nil {
		cfg.Cluster.Dial = w.dial
	}
	p, err := New(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		select {
		case <-p.closed:
		default:
			w.t.Error("a producer was left open")
		}
	})
	return p
}

// transactional has transactions of id "id" and timeouts that do not end a test's.
func (w *world) transactional() *Producer { return w.producer(Config{TransactionalID: "id"}) }

func closes(t *testing.T, p *Producer) {
	t.Helper()
	if err := p.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// is checks class and cause.
func is(t *testing.T, err error, class Class, causes ...error) {
	t.Helper()
	if ClassOf(err) != class {
		t.Fatalf("%v is %v, not %v", err, ClassOf(err), class)
	}
	for _, cause := range causes {
		if !errors.Is(err, cause) {
			t.Errorf("%v is no %v", err, cause)
		}
	}
}

// pass lets time go by, inside a bubble.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// within is a context that ends after a while.
func within(d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	context.AfterFunc(ctx, cancel)
	return ctx
}

func record(topic, value string) *Record { return &Record{Topic: topic, Value: []byte(value)} }

// sends hands records over, and waits.
func sends(t *testing.T, p *Producer, topic string, values ...string) {
	t.Helper()
	for _, v := range values {
		ok(t, p.SendSync(context.Background(), record(topic, v)))
	}
}

// reads returns what is committed in a topic, in order.
func (w *world) reads(topic string) []string {
	w.t.Helper()
	return w.readsWith(topic, kgo.ReadCommitted())
}

func (w *world) readsWith(topic string, level kgo.IsolationLevel) []string {
	w.t.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers("skein:9092"), kgo.Dialer(w.b.Dialer()), kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(level))
	if err != nil {
		w.t.Fatal(err)
	}
	defer c.Close()
	var values []string
	for {
		fetched := c.PollFetches(within(2 * time.Second))
		if fetched.NumRecords() == 0 {
			return values
		}
		fetched.EachRecord(func(r *kgo.Record) { values = append(values, string(r.Value)) })
	}
}

// has compares what is committed in a topic with what should be.
func (w *world) has(topic string, want ...string) {
	w.t.Helper()
	if got := w.reads(topic); !slices.Equal(got, want) {
		w.t.Errorf("%s has %q, not %q", topic, got, want)
	}
}

// committed is the group's offset of a partition, -1 without one. It waits for open transactions.
func (w *world) committed(group, topic string) int64 {
	w.t.Helper()
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Group, req.RequireStable = group, true
	t := kmsg.NewOffsetFetchRequestTopic()
	t.Topic, t.Partitions = topic, []int32{0}
	req.Topics = append(req.Topics, t)
	resp, err := req.RequestWith(context.Background(), w.admin)
	if err != nil {
		w.t.Fatal(err)
	}
	part := resp.Topics[0].Partitions[0]
	if part.ErrorCode != 0 {
		w.t.Errorf("the offset of %s is not decided: %d", topic, part.ErrorCode)
	}
	return part.Offset
}

// member is a consumer that owns all of topic.
func (w *world) member(group, topic string) *consumer.Consumer {
	w.t.Helper()
	c, err := consumer.New(consumer.Config{
		Group: group, ManualCommit: true, ReadCommitted: true, Reset: consumer.Earliest,
		Cluster: client.Config{Brokers: []string{"skein:9092"}, Dial: w.b.Dialer()},
	})
	ok(w.t, err)
	ok(w.t, c.Subscribe(topic))
	for len(c.Assignment()) == 0 {
		_, err := c.Poll(within(time.Second))
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			w.t.Fatal(err)
		}
	}
	return c
}

func offsets(topic string, at int64) consumer.Offsets {
	return consumer.Offsets{{Topic: topic}: {At: at, LeaderEpoch: 0}}
}

// cut takes the broker from the producers, and mend brings it back.
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

// meddles says what passes from now on.
func (w *world) meddles(asks func(kmsg.Request) bool, answers func(kmsg.Response) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asks, w.answers = asks, answers
}

// count is how often a request was sent.
func (w *world) count(key kmsg.Key) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen[int16(key)]
}

func (w *world) dial(ctx context.Context, network, address string) (net.Conn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gone {
		return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	}
	broker, err := w.b.Dialer()(ctx, network, address)
	if err != nil {
		return nil, err
	}
	outside, inside := net.Pipe()
	w.conns = append(w.conns, inside, broker)
	l := &link{w: w, asked: map[uint32]kmsg.Response{}}
	go l.pass(broker, inside, l.request)
	go l.pass(inside, broker, l.response)
	return socket{outside}, nil
}

// socket fails as those of a network do.
type socket struct{ net.Conn }

func (s socket) Read(b []byte) (int, error) {
	n, err := s.Conn.Read(b)
	return n, asOfNetwork(err)
}

func (s socket) Write(b []byte) (int, error) {
	n, err := s.Conn.Write(b)
	return n, asOfNetwork(err)
}

func asOfNetwork(err error) error {
	if errors.Is(err, io.ErrClosedPipe) {
		return &net.OpError{Op: "write", Err: os.NewSyscallError("write", syscall.EPIPE)}
	}
	return err
}

// link is one connection, and knows what the answers are to.
type link struct {
	w     *world
	mu    sync.Mutex
	asked map[uint32]kmsg.Response // by correlation id
}

func (l *link) pass(to, from net.Conn, see func([]byte) ([]byte, bool)) {
	defer to.Close()
	defer from.Close()
	for {
		frame, err := readFrame(from)
		if err != nil {
			return
		}
		frame, arrives := see(frame)
		if !arrives {
			return
		}
		if _, err := to.Write(withLength(frame)); err != nil {
			return
		}
	}
}

func (l *link) request(frame []byte) ([]byte, bool) {
	key, version := int16(binary.BigEndian.Uint16(frame)), int16(binary.BigEndian.Uint16(frame[2:]))
	resp := kmsg.ResponseForKey(key)
	resp.SetVersion(version)
	l.mu.Lock()
	l.asked[binary.BigEndian.Uint32(frame[4:])] = resp
	l.mu.Unlock()
	l.w.mu.Lock()
	l.w.seen[key]++
	asks := l.w.asks
	l.w.mu.Unlock()
	if asks == nil {
		return frame, true
	}
	req := kmsg.RequestForKey(key)
	req.SetVersion(version)
	if err := req.ReadFrom(frame[headerOf(frame, req):]); err != nil {
		panic(fmt.Sprintf("reading %s: %v", kmsg.NameForKey(key), err))
	}
	if !asks(req) {
		l.w.mu.Lock()
		l.w.late = append(l.w.late, slices.Clone(frame))
		l.w.mu.Unlock()
		return nil, false
	}
	return frame, true
}

// headerOf is the length of a request's header.
func headerOf(frame []byte, req kmsg.Request) int {
	n := 10 + max(int(int16(binary.BigEndian.Uint16(frame[8:]))), 0)
	if req.IsFlexible() {
		n++ // no tags
	}
	return n
}

func (l *link) response(frame []byte) ([]byte, bool) {
	l.mu.Lock()
	resp := l.asked[binary.BigEndian.Uint32(frame)]
	l.mu.Unlock()
	l.w.mu.Lock()
	answers := l.w.answers
	l.w.mu.Unlock()
	header := 4
	if resp.IsFlexible() && resp.Key() != int16(kmsg.ApiVersions) {
		header++ // no tags
	}
	if answers == nil || resp.ReadFrom(frame[header:]) != nil {
		return frame, true
	}
	if !answers(resp) {
		return nil, false
	}
	return resp.AppendTo(frame[:header:header]), true
}

// arrives delivers what did not, late.
func (w *world) arrives() {
	w.t.Helper()
	conn, err := w.b.Dialer()(context.Background(), "tcp", "skein:9092")
	ok(w.t, err)
	defer conn.Close()
	w.mu.Lock()
	late := w.late
	w.late = nil
	w.mu.Unlock()
	for _, frame := range late {
		_, err := conn.Write(withLength(frame))
		ok(w.t, err)
		_, err = readFrame(conn)
		ok(w.t, err)
	}
}

func readFrame(r io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	frame := make([]byte, binary.BigEndian.Uint32(size[:]))
	_, err := io.ReadFull(r, frame)
	return frame, err
}

func withLength(frame []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(frame))), frame...)
}

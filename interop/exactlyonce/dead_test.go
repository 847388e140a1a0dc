package exactlyonce

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	cluster "github.com/skeinstream/skein/client"
	"github.com/skeinstream/skein/consumer"
	"github.com/skeinstream/skein/exactlyonce"
	"github.com/skeinstream/skein/interop/internal/admin"
	"github.com/skeinstream/skein/interop/internal/report"
	"github.com/skeinstream/skein/interop/internal/target"
	"github.com/skeinstream/skein/interop/kafka"
	"github.com/skeinstream/skein/producer"
)

// The session is the shortest that brokers allow, and the transaction far longer.
const (
	deadSession     = 6 * time.Second
	deadTransaction = time.Minute
)

// mortal is a program of package exactlyonce in this process, whose connections can be cut.
type mortal struct {
	end   context.CancelFunc
	ended chan error

	mu    sync.Mutex
	dead  bool
	conns []net.Conn
}

func (m *mortal) dial(ctx context.Context, network, address string) (net.Conn, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	}
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err == nil {
		m.conns = append(m.conns, conn)
	}
	return conn, err
}

func (m *mortal) dies() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dead = true
	for _, conn := range m.conns {
		_ = conn.Close()
	}
}

func runMortal(t *testing.T, addr string, process exactlyonce.Func) *mortal {
	t.Helper()
	m := &mortal{ended: make(chan error, 1)}
	ctx, end := context.WithCancel(context.Background())
	m.end = end
	cfg := exactlyonce.Config{
		Consumer: consumer.Config{
			Group: "dead", Reset: consumer.Earliest, SessionTimeout: deadSession, Cluster: cluster.Config{Brokers: []string{addr}, Dial: m.dial},
		},
		Producer: producer.Config{TransactionTimeout: deadTransaction},
		Topics:   []string{"in"}, DrainTimeout: 5 * time.Second,
	}
	go func() { m.ended <- exactlyonce.Run(ctx, cfg, process) }()
	return m
}

func copyBatch(_ context.Context, b consumer.Batch, out *exactlyonce.Out) error {
	for r := range b.Records() {
		out.Send(&producer.Record{Topic: "out", Value: r.Value})
	}
	return nil
}

// TestTheDeadAreFenced: a program that dies in the middle of a transaction of a minute holds nobody up for longer than its session of 6 s, and what the
// group needs to go on: the leader has fenced it. On Kafka 3.9 its transactions are those of before KIP-890.
func TestTheDeadAreFenced(t *testing.T) {
	for _, on := range []string{"skein", kafka.V4, kafka.V3} {
		t.Run(on, func(t *testing.T) {
			addr := ""
			if on == "skein" {
				addr = target.StartNamed(t, on, map[string]string{"group.initial.rebalance.delay.ms": "0"}).Addr
			} else {
				addr = target.Kafka(t, kafka.Options{Version: on}).Addr
			}
			took := deadAndRead(t, addr)
			if took < deadSession/3 || took > deadTransaction/2 {
				t.Errorf("its output could be read %v after its death", took)
			}
			report.Note(t, report.Run, "fencing of dead members on "+on, "a transaction of %v was over %v after its program died", deadTransaction, took.Round(100*time.Millisecond))
		})
	}
}

// deadAndRead is how long it takes from the death until all is processed, and can be read.
func deadAndRead(t *testing.T, addr string) time.Duration {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ok(admin.CreateTopics(ctx, addr, 4, nil, "in", "out"))
	writer, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	ok(err)
	defer writer.Close()
	began := make(chan struct{}, 1)
	dead := runMortal(t, addr, func(ctx context.Context, b consumer.Batch, out *exactlyonce.Out) error {
		err := copyBatch(ctx, b, out)
		select {
		case began <- struct{}{}:
		default:
		}
		<-ctx.Done() // with its transaction open
		return err
	})
	alive := runMortal(t, addr, copyBatch)
	at := kadm.NewClient(writer)
	waitFor(ctx, t, func() bool {
		g, err := at.DescribeGroups(ctx, "dead")
		return err == nil && g["dead"].State == "Stable" && len(g["dead"].Members) == 2
	})
	for i := range int32(20) {
		ok(writer.ProduceSync(ctx, &kgo.Record{Topic: "in", Partition: i % 4, Value: fmt.Append(nil, i)}).FirstErr())
	}
	select {
	case <-began:
	case <-ctx.Done():
		t.Fatal("it has not begun")
	}
	open := 0
	waitFor(ctx, t, func() bool { // what it has sent is there, and what the other had is done
		open++
		if settled(ctx, at, "out") {
			open = 0
		}
		return open > 10
	})
	dead.dies()
	died := time.Now()
	waitFor(ctx, t, func() bool { return settled(ctx, at, "in", "out") })
	took := time.Since(died)
	for _, m := range []*mortal{alive, dead} {
		m.end()
	}
	ok(errors.Join(<-alive.ended, <-dead.ended))
	return took
}

// settled says that the group has processed all of in, and that no transaction is open in out.
func settled(ctx context.Context, at *kadm.Client, topics ...string) bool {
	ends, err1 := at.ListEndOffsets(ctx, topics...)
	stable, err2 := at.ListCommittedOffsets(ctx, "out")
	offsets, err3 := at.FetchOffsets(ctx, "dead")
	all := errors.Join(err1, err2, err3) == nil
	ends.Each(func(o kadm.ListedOffset) {
		at, _ := offsets.Lookup(o.Topic, o.Partition)
		s, _ := stable.Lookup(o.Topic, o.Partition)
		all = all && o.Err == nil && (o.Topic == "out" && s.Offset == o.Offset || o.Topic == "in" && at.At == o.Offset)
	})
	return all
}

func waitFor(ctx context.Context, t *testing.T, done func() bool) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("it took too long")
		}
	}
}

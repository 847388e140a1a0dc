// Package crash kills the broker at random moments under live producers:
// nothing acknowledged may be lost, nothing may be there twice, and each
// partition keeps the order of each producer.
package crash

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/skeinstream/skein/interop/internal/admin"
	"github.com/skeinstream/skein/interop/internal/peer"
	"github.com/skeinstream/skein/interop/internal/report"
	"github.com/skeinstream/skein/interop/internal/skein"
)

var (
	killsFlag = flag.Int("kills", 8, "how often the broker is killed")
	seedFlag  = flag.Uint64("seed", 0, "of the moments to kill at; 0 chooses one")
)

func TestMain(m *testing.M) { report.Main(m) }

const (
	topicName  = "ledger"
	partitions = 3
)

// A producer sends NAME-0, NAME-1, … to the partitions in turn and knows which
// were acknowledged.
type producer interface {
	name() string
	// stop lets what is in flight finish and returns the acknowledged numbers.
	stop(t *testing.T) map[int]bool
}

func TestKillsLoseNothingAcknowledgedAndKeepOrder(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(*killsFlag)*20*time.Second+3*time.Minute)
	defer cancel()
	broker, err := skein.Start(t, skein.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := admin.CreateTopics(ctx, broker.Addr, partitions, map[string]string{"segment.bytes": "1048576"}, topicName); err != nil {
		t.Fatal(err)
	}
	producers := []producer{startFranz(ctx, t, broker.Addr, "franz-a"), startFranz(ctx, t, broker.Addr, "franz-b")}
	if p := startLibrdkafka(ctx, t, broker.Addr, "librdkafka"); p != nil {
		producers = append(producers, p)
	}
	killLoop(ctx, t, broker)
	acknowledged := make(map[string]map[int]bool)
	total := 0
	for _, p := range producers {
		acknowledged[p.name()] = p.stop(t)
		total += len(acknowledged[p.name()])
	}
	check(t, readAll(ctx, t, broker.Addr), acknowledged)
	report.Note(t, report.Shown, "kill -9", "%d times under %d producers: all %d acknowledged records there once and in order", *killsFlag, len(producers), total)
}

func killLoop(ctx context.Context, t *testing.T, broker *skein.Broker) {
	t.Helper()
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 3))
	for range *killsFlag {
		moment := time.Duration(50+random.IntN(1500)) * time.Millisecond
		select {
		case <-time.After(moment):
		case <-ctx.Done():
			t.Fatal(ctx.Err())
		}
		broker.Kill()
		if err := broker.Start(ctx); err != nil {
			t.Fatalf("starting again after a kill: %v\n%s", err, broker.Log())
		}
	}
}

// franzProducer is franz-go in this process.
type franzProducer struct {
	id           string
	client       *kgo.Client
	quit         chan struct{}
	done         sync.WaitGroup
	mu           sync.Mutex
	acknowledged map[int]bool
	failed       atomic.Pointer[error]
}

func startFranz(ctx context.Context, t *testing.T, addr, id string) producer {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerLinger(2*time.Millisecond), kgo.MaxBufferedRecords(2000), kgo.RetryBackoffFn(func(int) time.Duration { return 50 * time.Millisecond }))
	if err != nil {
		t.Fatal(err)
	}
	p := &franzProducer{id: id, client: client, quit: make(chan struct{}), acknowledged: make(map[int]bool)}
	report.Note(t, report.Run, "franz-go 1.22.3", "producing through kills")
	p.done.Go(func() { p.run(ctx) })
	return p
}

func (p *franzProducer) name() string { return p.id }

func (p *franzProducer) run(ctx context.Context) {
	tick := time.NewTicker(4 * time.Millisecond)
	defer tick.Stop()
	for n := 0; ; {
		select {
		case <-p.quit:
			return
		case <-tick.C:
		}
		for range 20 {
			p.send(ctx, n)
			n++
		}
	}
}

func (p *franzProducer) send(ctx context.Context, n int) {
	record := &kgo.Record{Topic: topicName, Partition: int32(n % partitions), Value: fmt.Appendf(nil, "%s-%d", p.id, n)}
	p.client.Produce(ctx, record, func(_ *kgo.Record, err error) {
		if err != nil {
			p.failed.Store(&err)
			return
		}
		p.mu.Lock()
		p.acknowledged[n] = true
		p.mu.Unlock()
	})
}

func (p *franzProducer) stop(t *testing.T) map[int]bool {
	close(p.quit)
	p.done.Wait()
	if err := p.client.Flush(t.Context()); err != nil {
		t.Errorf("%s: flushing: %v", p.id, err)
	}
	p.client.Close()
	if err := p.failed.Load(); err != nil {
		t.Errorf("%s: a record failed for good: %v", p.id, *err)
	}
	return p.acknowledged
}

// librdkafkaProducer is confluent-kafka in a process of its own.
type librdkafkaProducer struct {
	id    string
	file  string
	cmd   *exec.Cmd
	input io.Closer
	said  *strings.Builder
}

func startLibrdkafka(ctx context.Context, t *testing.T, addr, id string) producer {
	t.Helper()
	file := filepath.Join(t.TempDir(), "acknowledged")
	cmd, err := peer.Python(ctx, "steady.py", addr, topicName, strconv.Itoa(partitions), id, file)
	if err != nil {
		report.MissingPeer(t, "confluent-kafka 2.16.1", err)
		return nil
	}
	p := &librdkafkaProducer{id: id, file: file, cmd: cmd, said: new(strings.Builder)}
	cmd.Stdout, cmd.Stderr = p.said, p.said
	if p.input, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	report.Note(t, report.Run, "confluent-kafka 2.16.1", "producing through kills")
	return p
}

func (p *librdkafkaProducer) name() string { return p.id }

func (p *librdkafkaProducer) stop(t *testing.T) map[int]bool {
	t.Helper()
	p.input.Close()
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("%s: %v: %s", p.id, err, lastLines(p.said.String(), 10))
	}
	f, err := os.Open(p.file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	acknowledged := make(map[int]bool)
	for lines := bufio.NewScanner(f); lines.Scan(); {
		n, err := strconv.Atoi(lines.Text())
		if err != nil {
			t.Fatal(err)
		}
		acknowledged[n] = true
	}
	return acknowledged
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// Package ages shows Skein at brokers of other ages: what a broker of ours looks like that shows an older release, held to real ones, and what
// the producer and exactly-once processing do on brokers from before KIP-447 and since.
package ages

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/skeinstream/skein/client"
	"github.com/skeinstream/skein/internal/fleet"
	"github.com/skeinstream/skein/interop/internal/admin"
	"github.com/skeinstream/skein/interop/internal/report"
	"github.com/skeinstream/skein/interop/internal/skein"
	"github.com/skeinstream/skein/interop/internal/target"
	"github.com/skeinstream/skein/interop/kafka"
)

func TestMain(m *testing.M) { report.Main(m) }

// settings let members be given up within two seconds, and make internal topics soon.
func settings() map[string]string {
	return map[string]string{
		"group.initial.rebalance.delay.ms": "0", "group.min.session.timeout.ms": "1000",
		"offsets.topic.num.partitions": "3", "transaction.state.log.num.partitions": "3",
	}
}

// kafkaOf is the address of a real one.
func kafkaOf(t *testing.T, release string) string {
	t.Helper()
	return target.Kafka(t, kafka.Options{Version: release, Settings: settings()}).Addr
}

// emulating is the address of a Skein that shows a release, such as 2.4.1; "" shows all.
func emulating(t *testing.T, release string) string {
	t.Helper()
	given := settings()
	if release != "" {
		given["skein.emulate.kafka.version"] = release[:strings.LastIndexByte(release, '.')]
	}
	return target.StartNamed(t, "skein", given).Addr
}

// builds has the command built once for all brokers of a test.
func builds(t *testing.T) {
	t.Helper()
	built, err := skein.Build(t.Context(), t)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(skein.EnvBinary, built)
}

// town is topics and a group of one test at a broker.
type town struct {
	*testing.T
	ctx     context.Context
	cluster client.Config
	job     fleet.Job
	writer  *kgo.Client
	sent    map[int32]int
}

func newTown(t *testing.T, addr, name string, partitions int32) *town {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	w := &town{T: t, ctx: ctx, cluster: client.Config{Brokers: []string{addr}}, sent: map[int32]int{}}
	w.job = fleet.Job{Group: name, From: name + "-in", To: name + "-out", Prefix: name, Session: 2 * time.Second, Transaction: time.Minute}
	w.ok(admin.CreateTopics(ctx, addr, partitions, nil, w.job.From))
	w.ok(admin.CreateTopics(ctx, addr, 1, nil, w.job.To))
	var err error
	w.writer, err = kgo.NewClient(append(w.cluster.KgoOptions(), kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
	w.ok(err)
	t.Cleanup(w.writer.Close)
	for i := range partitions {
		w.sent[i] = 0
	}
	return w
}

func (w *town) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// writes adds n records to each partition.
func (w *town) writes(n int) {
	w.Helper()
	for i := range w.sent {
		for range n {
			w.ok(w.writer.ProduceSync(w.ctx, &kgo.Record{Topic: w.job.From, Partition: i, Value: []byte(fleet.Value(i, w.sent[i]))}).FirstErr())
			w.sent[i]++
		}
	}
}

// awaits waits until the group has reached the end of all that was sent.
func (w *town) awaits(what string) {
	w.Helper()
	for {
		at, err := w.job.Reached(w.ctx, w.cluster)
		w.ok(err)
		behind := 0
		for partition, n := range w.sent {
			behind += n - int(max(at[partition], 0))
		}
		if behind <= 0 {
			return
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-w.ctx.Done():
			w.Fatalf("%s: the group is at %v, of %v", what, at, w.sent)
		}
	}
}

// judges holds the outputs to the inputs: each is there once.
func (w *town) judges() {
	w.Helper()
	outputs, err := fleet.Outputs(w.ctx, w.cluster, w.job.To)
	w.ok(err)
	at, err := w.job.Reached(w.ctx, w.cluster)
	w.ok(err)
	for _, wrong := range fleet.Judge(w.sent, outputs, at, func(int32, int) bool { return true }) {
		w.Error(wrong)
	}
}

// member is a process that runs until it is stopped.
type member struct {
	w    *town
	line *fleet.Line
	stop context.CancelFunc
	done chan error
}

func (w *town) runs(program fleet.Program) *member {
	ctx, stop := context.WithCancel(w.ctx)
	m := &member{w, fleet.NewLine(w.cluster), stop, make(chan error, 1)}
	go func() { m.done <- program(ctx, m.line.Cluster()) }()
	return m
}

// ends stops it in peace.
func (m *member) ends() {
	m.w.Helper()
	m.stop()
	if err := <-m.done; err != nil {
		m.w.Errorf("a member ended with %v", err)
	}
}

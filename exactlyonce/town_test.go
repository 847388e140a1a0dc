//go:build synctests

package exactlyonce_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/skeinstream/skein/broker"
	"github.com/skeinstream/skein/client"
	"github.com/skeinstream/skein/internal/fleet"
)

// town is a broker in memory on a clock of its own, where members copy topic in to topic out.
type town struct {
	t       *testing.T
	cluster client.Config
	job     fleet.Job
	admin   *kgo.Client
	sent    map[int32]int // records of each partition of in
	dead    []*member
}

// inTown runs a test in a bubble, at a broker that shows a release of Kafka; "" shows all.
func inTown(t *testing.T, release string, partitions int32, test func(w *town)) {
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
		w := &town{t: t, sent: map[int32]int{}, cluster: client.Config{Brokers: []string{"skein:9092"}, Dial: b.Dialer()}}
		w.job = fleet.Job{Group: "g", From: "in", To: "out", Prefix: "app", Session: 10 * time.Second, Transaction: time.Minute}
		w.found(partitions)
		defer func() {
			for _, m := range w.dead {
				<-m.done
			}
			w.admin.Close()
			if err := b.Shutdown(context.Background()); err != nil {
				t.Error(err)
			}
		}()
		test(w)
	})
}

// found makes the topics.
func (w *town) found(partitions int32) {
	w.t.Helper()
	var err error
	if w.admin, err = kgo.NewClient(append(w.cluster.KgoOptions(), kgo.RecordPartitioner(kgo.ManualPartitioner()))...); err != nil {
		w.t.Fatal(err)
	}
	for topic, n := range map[string]int32{w.job.From: partitions, w.job.To: 1} {
		if _, err := kadm.NewClient(w.admin).CreateTopic(context.Background(), n, 1, nil, topic); err != nil {
			w.t.Fatal(err)
		}
	}
	for i := range partitions {
		w.sent[i] = 0
	}
}

// writes adds n records to each partition.
func (w *town) writes(n int) {
	w.t.Helper()
	for i := range w.sent {
		for range n {
			r := &kgo.Record{Topic: w.job.From, Partition: i, Value: []byte(fleet.Value(i, w.sent[i]))}
			if err := w.admin.ProduceSync(context.Background(), r).FirstErr(); err != nil {
				w.t.Fatal(err)
			}
			w.sent[i]++
		}
	}
}

func (w *town) outputs() map[string]int {
	w.t.Helper()
	counts, err := fleet.Outputs(context.Background(), w.cluster, w.job.To)
	if err != nil {
		w.t.Fatal(err)
	}
	return counts
}

func (w *town) reached() map[int32]int64 {
	w.t.Helper()
	at, err := w.job.Reached(context.Background(), w.cluster)
	if err != nil {
		w.t.Fatal(err)
	}
	return at
}

// judges holds the outputs to the inputs.
func (w *town) judges(once func(partition int32, n int) bool) {
	w.t.Helper()
	for _, wrong := range fleet.Judge(w.sent, w.outputs(), w.reached(), once) {
		w.t.Error(wrong)
	}
}

// always is that every output is to be there once.
func always(int32, int) bool { return true }

// member is a process that runs until it is stopped, or killed.
type member struct {
	w    *town
	line *fleet.Line
	stop context.CancelFunc
	done chan struct{}
	err  error
}

func (w *town) runs(program fleet.Program) *member {
	ctx, stop := context.WithCancel(context.Background())
	m := &member{w: w, line: fleet.NewLine(w.cluster), stop: stop, done: make(chan struct{})}
	go func() {
		defer close(m.done)
		m.err = program(ctx, m.line.Cluster())
	}()
	return m
}

// ends stops it in peace.
func (m *member) ends() {
	m.w.t.Helper()
	m.stop()
	<-m.done
	if m.err != nil {
		m.w.t.Errorf("a member ended with %v", m.err)
	}
}

// dies has nothing of it heard any more.
func (m *member) dies() {
	m.line.Cut()
	m.stop()
	m.w.dead = append(m.w.dead, m)
}

// pass lets time go by, inside a bubble.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

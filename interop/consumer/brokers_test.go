// Package consumer shows the Go consumer at brokers of other ages: what it asks for, each of them can answer.
package consumer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/skeinstream/skein/client"
	"github.com/skeinstream/skein/consumer"
	"github.com/skeinstream/skein/consumer/parallel"
	"github.com/skeinstream/skein/interop/internal/report"
	"github.com/skeinstream/skein/interop/internal/target"
	"github.com/skeinstream/skein/interop/kafka"
)

func TestMain(m *testing.M) { report.Main(m) }

// patience ends what fails.
const patience = 5 * time.Minute

// underTest is the broker that the suite tests: Skein.
const underTest = "skein"

// at is a test at one broker.
type at struct {
	*testing.T
	ctx     context.Context
	cluster client.Config
	writer  *kgo.Client
}

// TestBrokersOfEveryAgeAreRead does with each what a program does with partitions.
func TestBrokersOfEveryAgeAreRead(t *testing.T) {
	for _, on := range []string{underTest, kafka.V4, kafka.V3, kafka.V2, kafka.V0} {
		t.Run(on, func(t *testing.T) {
			x := newAt(t, on)
			x.topic("orders", 2)
			began := time.Now()
			x.writes("orders", 0, 10)
			x.byHand(began)
			x.lag()
			x.inAGroup()
			x.sideBySide()
			if !t.Failed() {
				report.Note(t, report.Run, "package consumer on "+on, "assignments by hand, seeks, offsets, lag, a group, parallel work")
			}
		})
	}
}

func newAt(t *testing.T, on string) at {
	t.Helper()
	addr := ""
	if on == underTest {
		addr = target.Start(t, map[string]string{"group.initial.rebalance.delay.ms": "0"}).Addr
	} else {
		addr = target.Kafka(t, kafka.Options{Version: on}).Addr
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	x := at{T: t, ctx: ctx, cluster: client.Config{Brokers: []string{addr}}}
	var err error
	x.writer, err = kgo.NewClient(append(x.cluster.KgoOptions(), kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
	x.ok(err)
	t.Cleanup(x.writer.Close)
	return x
}

func (x at) ok(err error) {
	x.Helper()
	if err != nil {
		x.Fatal(err)
	}
}

func (x at) topic(name string, partitions int32) {
	x.Helper()
	_, err := kadm.NewClient(x.writer).CreateTopic(x.ctx, partitions, 1, nil, name)
	x.ok(err)
}

func (x at) writes(topic string, partition int32, n int) {
	x.Helper()
	var list []*kgo.Record
	for i := range n {
		list = append(list, &kgo.Record{Topic: topic, Partition: partition, Key: fmt.Append(nil, i%3), Value: fmt.Append(nil, i)})
	}
	x.ok(x.writer.ProduceSync(x.ctx, list...).FirstErr())
}

func (x at) opens(cfg consumer.Config) *consumer.Consumer {
	x.Helper()
	cfg.Cluster, cfg.Reset = x.cluster, consumer.Earliest
	c, err := consumer.New(cfg)
	x.ok(err)
	x.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

// reads polls until there are n records, and returns their offsets.
func (x at) reads(c *consumer.Consumer, n int) (offsets []int64) {
	x.Helper()
	for len(offsets) < n {
		b, err := c.Poll(x.ctx)
		if err != nil {
			x.Fatalf("after %v: %v", offsets, err)
		}
		for r := range b.Records() {
			offsets = append(offsets, r.Offset)
		}
	}
	return offsets
}

func (x at) same(what string, got, want any) {
	x.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		x.Errorf("%s: %v, want %v", what, got, want)
	}
}

func first() consumer.TopicPartition { return consumer.TopicPartition{Topic: "orders"} }

// byHand is a program without a group.
func (x at) byHand(began time.Time) {
	x.Helper()
	c := x.opens(consumer.Config{})
	list, err := c.PartitionsFor(x.ctx, "orders")
	x.ok(err)
	x.same("partitions", len(list), 2)
	if _, err := c.PartitionsFor(x.ctx, "missing"); !errors.Is(err, kerr.UnknownTopicOrPartition) {
		x.Errorf("a topic that is not there: %v", err)
	}
	ends, err := c.EndOffsets(x.ctx, first(), list[1].TopicPartition)
	x.ok(err)
	x.same("ends", ends, map[consumer.TopicPartition]int64{first(): 10, list[1].TopicPartition: 0})
	starts, err := c.BeginningOffsets(x.ctx, first())
	x.ok(err)
	x.same("starts", starts, map[consumer.TopicPartition]int64{first(): 0})
	since, err := c.OffsetsForTimes(x.ctx, map[consumer.TopicPartition]time.Time{first(): began.Add(-time.Hour), list[1].TopicPartition: began})
	x.ok(err)
	x.same("since the beginning", []any{len(since), since[first()].At}, []any{1, 0})
	x.ok(c.Assign(first()))
	x.same("read", x.reads(c, 10), []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9})
	x.ok(c.Seek(first(), 7))
	x.same("after a seek", x.reads(c, 3), []int64{7, 8, 9})
	x.ok(c.SeekToBeginning(x.ctx))
	x.same("from the beginning", x.reads(c, 10)[0], 0)
	x.ok(c.SeekToEnd(x.ctx))
	c.Pause(first())
	x.writes("orders", 0, 2)
	short, cancel := context.WithTimeout(x.ctx, 2*time.Second)
	defer cancel()
	if b, err := c.Poll(short); err == nil {
		x.Errorf("%d records came of what is paused", b.Len())
	}
	c.Resume(first())
	x.same("after the pause", x.reads(c, 2), []int64{10, 11})
	if o, ok := c.Position(first()); o.At != 12 || o.LeaderEpoch < 0 || !ok {
		x.Errorf("position %+v %v", o, ok)
	}
}

// lag is of a group that has committed, asked by a consumer that owns nothing, and of open transactions.
func (x at) lag() {
	x.Helper()
	open, err := kgo.NewClient(append(x.cluster.KgoOptions(), kgo.TransactionalID("x"), kgo.DefaultProduceTopic("orders"), kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
	x.ok(err)
	defer open.Close()
	x.ok(open.BeginTransaction())
	x.ok(open.ProduceSync(x.ctx, kgo.StringRecord("in doubt")).FirstErr())
	for _, committed := range []bool{false, true} {
		c := x.opens(consumer.Config{Group: fmt.Sprint("lag-", committed), ReadCommitted: committed, ManualCommit: true})
		x.ok(c.Assign(first()))
		x.ok(c.CommitOffsets(x.ctx, consumer.Offsets{first(): {At: 9, LeaderEpoch: -1, Metadata: "by hand"}}))
		got, err := c.Committed(x.ctx)
		x.ok(err)
		x.same("committed", []any{got[first()].At, got[first()].Metadata}, []any{9, "by hand"})
		x.ok(c.Unsubscribe(x.ctx))
		lags, err := c.Lags(x.ctx, first())
		x.ok(err)
		want := int64(4)
		if committed {
			want = 3
		}
		x.same("lag", lags[first()], want)
	}
	x.ok(open.EndTransaction(x.ctx, kgo.TryAbort))
}

// inAGroup is two members after each other.
func (x at) inAGroup() {
	x.Helper()
	for turn, want := range []int{12, 3} {
		c := x.opens(consumer.Config{Group: "readers"})
		x.ok(c.Subscribe("orders"))
		x.reads(c, want)
		g := c.GroupMetadata()
		if g.Generation < 0 || g.Member == "" || len(c.Assignment()) != 2 {
			x.Errorf("%+v has %v", g, c.Assignment())
		}
		x.same("protocol", c.Stats().Protocol, consumer.ProtocolCooperative)
		if turn == 0 {
			x.ok(c.Commit(x.ctx))
			x.ok(c.Close(x.ctx))
			x.writes("orders", 1, 3)
			continue
		}
		x.ok(c.Close(x.ctx))
	}
}

// sideBySide is parallel work, which ends with what is done committed.
func (x at) sideBySide() {
	x.Helper()
	x.topic("jobs", 3)
	for p := range int32(3) {
		x.writes("jobs", p, 100)
	}
	var mu sync.Mutex
	handled := map[consumer.TopicPartition][]int64{}
	ctx, done := context.WithCancel(x.ctx)
	left := 300
	p, err := parallel.New(parallel.Config{
		Consumer: consumer.Config{Group: "workers", Cluster: x.cluster, Reset: consumer.Earliest},
		Handle: func(_ context.Context, r *consumer.Record) error {
			mu.Lock()
			defer mu.Unlock()
			tp := consumer.TopicPartition{Topic: r.Topic, Partition: r.Partition}
			handled[tp] = append(handled[tp], r.Offset)
			if left--; left == 0 {
				done()
			}
			return nil
		},
	})
	x.ok(err)
	x.ok(p.Consumer().Subscribe("jobs"))
	x.ok(p.Run(ctx))
	c := x.opens(consumer.Config{Group: "workers"})
	committed, err := c.Committed(x.ctx, slices.Collect(maps.Keys(handled))...)
	x.ok(err)
	x.same("partitions", len(handled), 3)
	for tp, offsets := range handled {
		slices.Sort(offsets)
		x.same("handled", []any{len(slices.Compact(offsets)), committed[tp].At}, []any{100, 100})
	}
}

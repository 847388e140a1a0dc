// Package producer shows the Go producer at brokers of other ages: its transactions end as it says, there too.
package producer

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/client"
	"github.com/skeinstream/skein/consumer"
	"github.com/skeinstream/skein/interop/internal/report"
	"github.com/skeinstream/skein/interop/internal/target"
	"github.com/skeinstream/skein/interop/kafka"
	"github.com/skeinstream/skein/producer"
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
	on      string
	cluster client.Config
	admin   *kgo.Client
}

// TestTransactionsAtBrokersOfEveryAge does with each what a program does with transactions, and what happens to it.
func TestTransactionsAtBrokersOfEveryAge(t *testing.T) {
	for _, on := range []string{underTest, kafka.V4, kafka.V3, kafka.V2} {
		t.Run(on, func(t *testing.T) {
			x := newAt(t, on)
			x.once()
			x.inARow()
			x.withOffsets()
			x.tooSlow()
			x.succeeded()
			x.lost()
			if !t.Failed() {
				report.Note(t, report.Run, "package producer on "+on, "records, transactions in a row, offsets with records and alone, timeouts, successors, lost ends")
			}
		})
	}
}

func newAt(t *testing.T, on string) at {
	t.Helper()
	settings := map[string]string{
		"group.initial.rebalance.delay.ms": "0", "transaction.abort.timed.out.transaction.cleanup.interval.ms": "200",
	}
	addr := ""
	if on == underTest {
		addr = target.Start(t, settings).Addr
	} else {
		addr = target.Kafka(t, kafka.Options{Version: on, Settings: settings}).Addr
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	x := at{T: t, ctx: ctx, on: on, cluster: client.Config{Brokers: []string{addr}}}
	var err error
	x.admin, err = kgo.NewClient(x.cluster.KgoOptions()...)
	x.ok(err)
	t.Cleanup(x.admin.Close)
	return x
}

// old says that the broker is from before KIP-447 and KIP-360.
func (x at) old() bool { return x.on == kafka.V2 }

func (x at) ok(err error) {
	x.Helper()
	if err != nil {
		x.Fatal(err)
	}
}

func (x at) is(err error, class producer.Class, causes ...error) {
	x.Helper()
	if producer.ClassOf(err) != class {
		x.Fatalf("%v is %v, not %v", err, producer.ClassOf(err), class)
	}
	for _, cause := range causes {
		if !errors.Is(err, cause) {
			x.Errorf("%v is no %v", err, cause)
		}
	}
}

func (x at) topic(name string) {
	x.Helper()
	_, err := kadm.NewClient(x.admin).CreateTopic(x.ctx, 1, 1, nil, name)
	x.ok(err)
}

func (x at) opens(cfg producer.Config) *producer.Producer {
	x.Helper()
	cfg.Cluster.Brokers = x.cluster.Brokers
	p, err := producer.New(cfg)
	x.ok(err)
	x.Cleanup(func() { _ = p.Close(context.Background()) })
	return p
}

func (x at) sends(p *producer.Producer, topic, value string) error {
	return p.SendSync(x.ctx, &producer.Record{Topic: topic, Value: []byte(value)})
}

// has reads what is committed, when nothing is undecided.
func (x at) has(topic string, want ...string) {
	x.Helper()
	x.gaveUp(topic)
	ends, err := kadm.NewClient(x.admin).ListCommittedOffsets(x.ctx, topic)
	x.ok(err)
	end, _ := ends.Lookup(topic, 0)
	c, err := kgo.NewClient(append(x.cluster.KgoOptions(), kgo.KeepControlRecords(), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}))...)
	x.ok(err)
	defer c.Close()
	var got []string
	for at := int64(0); at < end.Offset; {
		fetched := c.PollFetches(x.ctx)
		x.ok(fetched.Err())
		fetched.EachRecord(func(r *kgo.Record) {
			at = r.Offset + 1
			if !r.Attrs.IsControl() {
				got = append(got, string(r.Value))
			}
		})
	}
	if !slices.Equal(got, want) {
		x.Errorf("%s has %q, not %q", topic, got, want)
	}
}

func (x at) committed(group, topic string) int64 {
	x.Helper()
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Group, req.RequireStable = group, true
	t := kmsg.NewOffsetFetchRequestTopic()
	t.Topic, t.Partitions = topic, []int32{0}
	req.Topics = append(req.Topics, t)
	for { // Kafka writes the markers of a transaction that has ended a little later
		resp, err := req.RequestWith(x.ctx, x.admin)
		x.ok(err)
		part := resp.Topics[0].Partitions[0]
		if part.ErrorCode == kerr.UnstableOffsetCommit.Code {
			continue
		}
		x.ok(kerr.ErrorForCode(part.ErrorCode))
		return part.Offset
	}
}

// once is a producer without transactions.
func (x at) once() {
	x.Helper()
	x.topic("plain")
	p := x.opens(producer.Config{})
	for i := range 100 {
		p.Send(x.ctx, &producer.Record{Topic: "plain", Value: fmt.Append(nil, i)}, nil)
	}
	x.ok(p.Close(x.ctx))
	var want []string
	for i := range 100 {
		want = append(want, fmt.Sprint(i))
	}
	x.has("plain", want...)
}

// inARow commits and aborts by turns, without a pause.
func (x at) inARow() {
	x.Helper()
	x.topic("row")
	p := x.opens(producer.Config{TransactionalID: "row"})
	var want []string
	for i := range 40 {
		x.ok(p.Begin(x.ctx))
		x.ok(x.sends(p, "row", fmt.Sprint(i)))
		if i%2 == 0 {
			x.ok(p.Commit(x.ctx))
			want = append(want, fmt.Sprint(i))
		} else {
			x.ok(p.Abort(x.ctx))
		}
	}
	x.has("row", want...)
}

// withOffsets commits them with records and alone, and under a generation that is over.
func (x at) withOffsets() {
	x.Helper()
	x.topic("in")
	x.topic("out")
	c, err := consumer.New(consumer.Config{Cluster: x.cluster, Group: "g", Reset: consumer.Earliest, ManualCommit: true})
	x.ok(err)
	defer c.Close(x.ctx)
	x.ok(c.Subscribe("in"))
	for len(c.Assignment()) == 0 {
		poll, cancel := context.WithTimeout(x.ctx, 200*time.Millisecond)
		_, err := c.Poll(poll)
		cancel()
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			x.Fatal(err)
		}
	}
	p := x.opens(producer.Config{TransactionalID: "offsets"})
	at := func(n int64) consumer.Offsets { return consumer.Offsets{{Topic: "in"}: {At: n, LeaderEpoch: -1}} }
	if x.old() {
		x.ok(p.Begin(x.ctx))
		x.is(p.SendOffsets(x.ctx, at(5), c.GroupMetadata()), producer.Fatal, producer.ErrCannotFence)
		return
	}
	for i := range int64(3) {
		x.ok(p.Begin(x.ctx))
		x.ok(x.sends(p, "out", fmt.Sprint(i)))
		stale := c.GroupMetadata()
		stale.Generation--
		x.ok(p.SendOffsets(x.ctx, at(10*i), stale))
		x.is(p.Commit(x.ctx), producer.AbortAndContinue, producer.ErrGroupMoved)
		x.ok(p.SendOffsets(x.ctx, at(10*i), c.GroupMetadata()))
		x.ok(p.Commit(x.ctx))
		x.ok(p.Begin(x.ctx))
		x.ok(p.SendOffsets(x.ctx, at(10*i+5), c.GroupMetadata()))
		x.ok(p.Commit(x.ctx))
		if got := x.committed("g", "in"); got != 10*i+5 {
			x.Errorf("the offset is %d, not %d", got, 10*i+5)
		}
	}
	x.ok(p.Begin(x.ctx))
	x.ok(p.SendOffsets(x.ctx, at(99), c.GroupMetadata()))
	x.ok(p.Abort(x.ctx))
	if got := x.committed("g", "in"); got != 25 {
		x.Errorf("the offset is %d", got)
	}
	x.has("out", "0", "1", "2")
}

// tooSlow lets the broker give transactions up (FR-H5, R-K25).
func (x at) tooSlow() {
	x.Helper()
	x.topic("slow")
	p := x.opens(producer.Config{TransactionalID: "slow", TransactionTimeout: time.Second})
	var want []string
	for i := range 3 {
		x.ok(p.Begin(x.ctx))
		x.ok(x.sends(p, "slow", "too slow"))
		x.gaveUp("slow")
		err := p.Commit(x.ctx)
		if i == 1 {
			err = x.sends(p, "slow", "after it")
		}
		if x.fatalHere(err) {
			return
		}
		x.is(err, producer.AbortAndContinue)
		if err := p.Abort(x.ctx); x.fatalHere(err) {
			return
		} else {
			x.ok(err)
		}
		x.ok(p.Begin(x.ctx))
		x.ok(x.sends(p, "slow", "quick"))
		x.ok(p.Commit(x.ctx))
		want = append(want, "quick")
	}
	x.has("slow", want...)
}

// fatalHere says that a broker has no way on from a timeout: Kafka before 4.0 refuses the owner as it does who has a successor.
func (x at) fatalHere(err error) bool {
	return (x.old() || x.on == kafka.V3) && producer.ClassOf(err) == producer.Fatal && errors.Is(err, producer.ErrFenced)
}

// gaveUp waits until nothing of a topic is undecided.
func (x at) gaveUp(topic string) {
	x.Helper()
	admin := kadm.NewClient(x.admin)
	for {
		stable, err := admin.ListCommittedOffsets(x.ctx, topic)
		x.ok(err)
		all, err := admin.ListEndOffsets(x.ctx, topic)
		x.ok(err)
		s, _ := stable.Lookup(topic, 0)
		e, _ := all.Lookup(topic, 0)
		if s.Offset == e.Offset {
			return
		}
		select {
		case <-x.ctx.Done():
			x.Fatal("the transaction is not given up")
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// succeeded is a producer whose transactional id another one takes.
func (x at) succeeded() {
	x.Helper()
	x.topic("taken")
	old, next := x.opens(producer.Config{TransactionalID: "taken"}), x.opens(producer.Config{TransactionalID: "taken"})
	x.ok(old.Begin(x.ctx))
	x.ok(x.sends(old, "taken", "old"))
	x.ok(next.Begin(x.ctx))
	x.ok(x.sends(next, "taken", "new"))
	x.is(old.Commit(x.ctx), producer.Fatal, producer.ErrFenced)
	x.ok(next.Commit(x.ctx))
	x.has("taken", "new")
}

// lost has ends of transactions, and their answers, not arrive.
func (x at) lost() {
	x.Helper()
	x.topic("lost")
	var how atomic.Int32
	cfg := producer.Config{TransactionalID: "lost"}
	cfg.Cluster.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		return breaking{conn, &how}, err
	}
	p := x.opens(cfg)
	var want []string
	for i := range 8 {
		value := fmt.Sprint(i)
		x.ok(p.Begin(x.ctx))
		x.ok(x.sends(p, "lost", value))
		how.Store(int32(i % 3))
		if i%4 == 3 {
			x.ok(p.Abort(x.ctx))
			continue
		}
		x.ok(p.Commit(x.ctx))
		want = append(want, value)
	}
	x.has("lost", want...)
}

// breaking ends with the next EndTxn: after it was sent for 1, before for 2.
type breaking struct {
	net.Conn
	how *atomic.Int32
}

func (c breaking) Write(b []byte) (int, error) {
	if len(b) < 8 || binary.BigEndian.Uint16(b[4:]) != uint16(kmsg.EndTxn) {
		return c.Conn.Write(b)
	}
	switch c.how.Swap(0) {
	case 1:
		n, err := c.Conn.Write(b)
		_ = c.Close()
		return n, err
	case 2:
		_ = c.Close()
	}
	return c.Conn.Write(b)
}

//go:build synctests

package exactlyonce

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/skeinstream/skein/broker"
	"github.com/skeinstream/skein/client"
	"github.com/skeinstream/skein/consumer"
)

const (
	fenceSession   = 6 * time.Second
	fenceHeartbeat = 500 * time.Millisecond
	fenceTimeout   = time.Minute
)

// fenceWorld is a broker in memory, and a topic of four partitions with one record each.
type fenceWorld struct {
	*testing.T
	b     *broker.Broker
	admin *kgo.Client
}

func inFenceWorld(t *testing.T, test func(w *fenceWorld)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		b, err := broker.Open(ctx, broker.Config{Settings: map[string]string{"group.initial.rebalance.delay.ms": "0", "connections.max.idle.ms": "-1"}})
		if err != nil {
			t.Fatal(err)
		}
		w := &fenceWorld{T: t, b: b}
		w.admin, err = kgo.NewClient(kgo.SeedBrokers("skein:9092"), kgo.Dialer(b.Dialer()), kgo.RecordPartitioner(kgo.ManualPartitioner()))
		w.ok(err)
		defer func() {
			w.admin.Close()
			w.ok(b.Shutdown(ctx))
		}()
		_, err = kadm.NewClient(w.admin).CreateTopics(ctx, 4, 1, nil, "in", "out")
		w.ok(err)
		for p := range int32(4) {
			w.ok(w.admin.ProduceSync(ctx, &kgo.Record{Topic: "in", Partition: p, Value: []byte("x")}).FirstErr())
		}
		test(w)
	})
}

func (w *fenceWorld) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// fenceWorker is a member of the group with a producer of transactions, both over connections that can be cut.
type fenceWorker struct {
	w *fenceWorld
	*consumer.Consumer
	f        *fencer
	producer *kgo.Client
	stop     context.CancelFunc
	polls    sync.WaitGroup

	mu    sync.Mutex
	dead  bool
	conns []net.Conn
	first map[int32]time.Time // when the first record of a partition came
}

// worker joins the group. One that does not fence has the same ids, and publishes nothing.
func (w *fenceWorld) worker(name string, fences bool) *fenceWorker {
	w.Helper()
	return w.static(name, "", fences)
}

// static is one with an instance id.
func (w *fenceWorld) static(name, instance string, fences bool) *fenceWorker {
	w.Helper()
	k := &fenceWorker{w: w, first: map[int32]time.Time{}}
	cfg := consumer.Config{
		Group: "g", Reset: consumer.Earliest, ManualCommit: true, ReadCommitted: true, SessionTimeout: fenceSession, HeartbeatInterval: fenceHeartbeat,
		Cluster: client.Config{Brokers: []string{"skein:9092"}, ClientID: name, Dial: k.dial},
	}
	cfg.InstanceID = instance
	k.f = newFencer(cfg, "", fenceTimeout, slog.New(slog.DiscardHandler))
	k.f.start()
	if fences {
		cfg = k.f.Consumer(cfg)
	}
	var err error
	k.Consumer, err = consumer.New(cfg)
	w.ok(err)
	w.ok(k.Subscribe("in"))
	k.renews()
	ctx, cancel := context.WithCancel(context.Background())
	k.stop = cancel
	k.polls.Go(func() { k.poll(ctx) })
	return k
}

// renews makes another producer of the same id.
func (k *fenceWorker) renews() {
	k.w.Helper()
	if k.producer != nil {
		k.producer.Close()
	}
	cluster := client.Config{Brokers: []string{"skein:9092"}, Dial: k.dial}
	versions := kversion.Stable()
	versions.SetMaxKeyVersion(int16(kmsg.TxnOffsetCommit), 5) // newer ones name topics by ids
	var err error
	k.producer, err = kgo.NewClient(append(cluster.KgoOptions(), kgo.MaxVersions(versions), kgo.TransactionalID(k.f.ID()), kgo.TransactionTimeout(fenceTimeout))...)
	k.w.ok(err)
}

func (k *fenceWorker) dial(ctx context.Context, network, address string) (net.Conn, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.dead {
		return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	}
	conn, err := k.w.b.Dialer()(ctx, network, address)
	if err == nil {
		k.conns = append(k.conns, conn)
	}
	return conn, err
}

// dies is what a process does that is killed: its connections are gone, and it says nothing.
func (k *fenceWorker) dies() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.dead = true
	for _, conn := range k.conns {
		_ = conn.Close()
	}
}

// revives shows that it was not dead, but out of reach.
func (k *fenceWorker) revives() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.dead, k.conns = false, nil
}

func (k *fenceWorker) poll(ctx context.Context) {
	for ctx.Err() == nil {
		batch, _ := k.Poll(ctx)
		k.mu.Lock()
		for r := range batch.Records() {
			if k.first[r.Partition].IsZero() {
				k.first[r.Partition] = time.Now()
			}
		}
		k.mu.Unlock()
	}
}

// begins a transaction with a record and the offsets of all that the worker owns.
func (k *fenceWorker) begins() {
	k.w.Helper()
	ctx := context.Background()
	k.w.ok(k.producer.BeginTransaction())
	k.w.ok(k.producer.ProduceSync(ctx, &kgo.Record{Topic: "out", Value: []byte(k.f.ID())}).FirstErr())
	id, epoch, err := k.producer.ProducerID(ctx)
	k.w.ok(err)
	as := k.GroupMetadata()
	add := kmsg.NewPtrAddOffsetsToTxnRequest()
	add.TransactionalID, add.ProducerID, add.ProducerEpoch, add.Group = k.f.ID(), id, epoch, as.Group
	added, err := add.RequestWith(ctx, k.producer)
	k.w.ok(errors.Join(err, kerr.ErrorForCode(cmp.Or(added, new(kmsg.AddOffsetsToTxnResponse)).ErrorCode)))
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.TransactionalID, req.Group, req.ProducerID, req.ProducerEpoch, req.Generation, req.MemberID = k.f.ID(), as.Group, id, epoch, as.Generation, as.Member
	topic := kmsg.NewTxnOffsetCommitRequestTopic()
	topic.Topic = "in"
	for _, tp := range k.Assignment() {
		p := kmsg.NewTxnOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset = tp.Partition, 1
		topic.Partitions = append(topic.Partitions, p)
	}
	req.Topics = append(req.Topics, topic)
	resp, err := req.RequestWith(ctx, k.producer)
	k.w.ok(err)
	for _, p := range resp.Topics[0].Partitions {
		k.w.ok(kerr.ErrorForCode(p.ErrorCode))
	}
}

func (k *fenceWorker) commits() error {
	return k.producer.EndTransaction(context.Background(), kgo.TryCommit)
}

func (k *fenceWorker) close() {
	k.stop()
	k.polls.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = k.Close(ctx) // of a dead one nobody hears
	k.f.Close()
	k.producer.Close()
}

// fencePass lets time go by, inside a bubble.
func fencePass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// last is when the last of some partitions was first read by one of the workers.
func lastRead(partitions []consumer.TopicPartition, by ...*fenceWorker) (last time.Time, all bool) {
	for _, tp := range partitions {
		var at time.Time
		for _, k := range by {
			k.mu.Lock()
			if first := k.first[tp.Partition]; !first.IsZero() && (at.IsZero() || first.Before(at)) {
				at = first
			}
			k.mu.Unlock()
		}
		if at.IsZero() {
			return last, false
		}
		if at.After(last) {
			last = at
		}
	}
	return last, true
}

// death is who dies, and who is there besides.
type death struct {
	name     string
	workers  int
	dies     int  // the first worker leads
	newcomer bool // somebody comes right after it
	// instances are the instance ids of the workers; those after the last have none.
	instances []string
}

func (d death) instance(i int) string {
	if i < len(d.instances) {
		return d.instances[i]
	}
	return ""
}

// deadAndRead is how long it takes from the death of a worker with an open transaction until its partitions are read again.
func (d death) deadAndRead(w *fenceWorld, fences bool) time.Duration {
	var workers []*fenceWorker
	for i := range d.workers {
		workers = append(workers, w.static(fmt.Sprint("worker ", i), d.instance(i), fences))
		fencePass(5 * time.Second)
	}
	dead := workers[d.dies]
	had := dead.Assignment()
	if len(had) == 0 {
		w.Fatal("it has nothing that others could wait for")
	}
	for _, k := range workers {
		if k != dead { // which may have read these partitions before
			k.mu.Lock()
			clear(k.first)
			k.mu.Unlock()
		}
	}
	dead.begins()
	dead.dies()
	died := time.Now()
	alive := slices.Delete(slices.Clone(workers), d.dies, d.dies+1)
	if d.newcomer {
		alive = append(alive, w.worker("newcomer", fences))
	}
	fencePass(3 * fenceTimeout)
	last, all := lastRead(had, alive...)
	if !all {
		w.Fatal("nobody has read what the dead one had")
	}
	for _, k := range append(alive, dead) {
		k.close()
	}
	return last.Sub(died)
}

// R-F8, FR-H1: the partitions of a worker that dies with an open transaction wait for no timeout of that: whoever leads the group then fences it. They
// are read when its session has ended, the others have heard of that, and a few requests have gone to and fro; without fencing, when the
// broker ends the transaction.
func TestTheDeadAreFenced(t *testing.T) {
	for _, c := range []death{
		{name: "a follower", workers: 3, dies: 1},
		{name: "the leader", workers: 3},
		{name: "the leader, of whom another has to know", workers: 3, newcomer: true},
		{name: "the only one, and it is started again", workers: 1, newcomer: true},
		{name: "a follower, and the leader has an instance id", workers: 3, dies: 1, instances: []string{"a"}},
		{name: "one with an instance id, who is not started again", workers: 3, dies: 1, instances: []string{"", "b"}},
		{name: "the leader, and all have instance ids", workers: 3, instances: []string{"a", "b", "c"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			inFenceWorld(t, func(w *fenceWorld) {
				took := c.deadAndRead(w, true)
				if took < fenceSession-2*fenceHeartbeat || took > fenceSession+2*fenceHeartbeat+time.Second {
					t.Errorf("fenced, it took %v for a session of %v", took, fenceSession)
				}
				t.Logf("fenced: %v", took)
			})
			inFenceWorld(t, func(w *fenceWorld) {
				took := c.deadAndRead(w, false)
				if took < fenceTimeout-time.Second {
					t.Errorf("not fenced, it took %v with transactions of %v", took, fenceTimeout)
				}
				t.Logf("not fenced: %v", took)
			})
		})
	}
}

// R-F8: whoever is alive, and leads or comes, or leaves in peace, has nobody's transaction ended: those that were open all the time are committed.
func TestTheLivingAreNotFenced(t *testing.T) {
	inFenceWorld(t, func(w *fenceWorld) {
		a := w.worker("a", true)
		fencePass(5 * time.Second)
		b := w.worker("b", true)
		fencePass(5 * time.Second)
		a.begins()
		b.begins()
		c := w.worker("c", true)
		fencePass(5 * time.Second)
		c.close()
		fencePass(5 * time.Second)
		d := w.worker("d", true)
		fencePass(5 * time.Second)
		w.ok(a.EnforceRebalance("to see what that does"))
		fencePass(5 * time.Second)
		w.ok(a.commits())
		w.ok(b.commits())
		for _, k := range []*fenceWorker{a, b, d} {
			k.close()
		}
	})
}

// A worker that was only out of reach finds its producer fenced: what it had open is not committed. It is a member again with the same id, and
// with another producer of that id it goes on.
func TestWhoComesBackGoesOn(t *testing.T) {
	inFenceWorld(t, func(w *fenceWorld) {
		a := w.worker("a", true)
		fencePass(5 * time.Second)
		b := w.worker("b", true)
		fencePass(5 * time.Second)
		b.begins()
		b.dies()
		fencePass(2 * fenceSession)
		b.revives()
		fencePass(5 * time.Second)
		if err := b.commits(); err == nil {
			t.Error("what was given to another was committed")
		}
		b.renews()
		if len(a.Assignment()) != 2 || len(b.Assignment()) != 2 {
			t.Errorf("they own %v and %v", a.Assignment(), b.Assignment())
		}
		for range 3 {
			b.begins()
			w.ok(b.commits())
			fencePass(fenceSession)
		}
		a.close()
		b.close()
	})
}

// Who reads what is committed waits for whatever is open before it. When a Run dies in the middle of a transaction, readers of its output go on as soon as
// its session has ended and it is fenced, as one with an id that the user has chosen is not.
func TestReadersOfTheDeadGoOn(t *testing.T) {
	for _, fences := range []bool{true, false} {
		inBubble(t, 2, func(w *world) {
			cfg := w.config()
			cfg.Producer.TransactionTimeout = fenceTimeout
			named := func(id string) Config {
				cfg := cfg
				if !fences {
					cfg.Producer.TransactionalID = id
				}
				return cfg
			}
			dead := w.runs("a", named("a"), func(ctx context.Context, b consumer.Batch, out *Out) error {
				err := copies(ctx, b, out)
				<-ctx.Done() // with its transaction open
				return err
			})
			alive := w.runs("b", named("b"), nil)
			pass(5 * time.Second)
			w.writes(5)
			pass(time.Second)
			dead.crashes()
			pass(fenceSession + 4*time.Second)
			if stands := w.stands("out"); stands == fences {
				t.Errorf("fenced: %t; a transaction is open in the output: %t", fences, stands)
			}
			pass(2 * fenceTimeout)
			w.judges()
			dead.quit()
			alive.ends()
			w.ok(<-dead.err)
		})
	}
}

// stands says that a transaction is open in a topic.
func (w *world) stands(topic string) bool {
	w.t.Helper()
	admin := kadm.NewClient(w.admin)
	ends, err := admin.ListEndOffsets(context.Background(), topic)
	w.ok(err)
	stable, err := admin.ListCommittedOffsets(context.Background(), topic)
	w.ok(err)
	open := false
	ends.Each(func(o kadm.ListedOffset) {
		s, _ := stable.Lookup(topic, o.Partition)
		open = open || s.Offset != o.Offset
	})
	return open
}

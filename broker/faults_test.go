package broker

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/record"
	"github.com/skeinstream/skein/internal/vfs"
)

// storageError is what clients are told of a disk that does not do what it should, and of batches behind one that failed.
func storageError(code int16) bool {
	return code == kerr.KafkaStorageError.Code || code == kerr.OutOfOrderSequenceNumber.Code
}

// TestAFullDiskRefusesAndRecovers: broker.md 4.5 rule 8. For a while nothing of some kind fits on the disk. What is refused
// never appears, what was acknowledged stays, reads go on, producers that try again are not doubled, and when there is
// room everything works again without a restart. Crashes meanwhile change nothing of it.
func TestAFullDiskRefusesAndRecovers(t *testing.T) {
	const write, create = vfs.OpWrite, vfs.OpCreate
	for i, rule := range []vfs.Rule{
		{Op: write, Name: "*.wal"},
		{Op: write, Name: "*.wal", Short: 50},
		{Op: write, Name: "*.wal", Short: -1, Skip: 2},
		{Op: create | vfs.OpRename, Name: "*.wal"},
		{Op: write, Name: "*.log"},
		{Op: write, Name: "*.log", Short: 100, Skip: 3},
		{Op: write, Name: "*.log", Short: -1},
		{Op: create, Name: "*.log"},
		{Op: write | create, Name: "*index"},
		{Op: write | create, Name: "*.snapshot"},
		{Op: write | create, Name: "catalog.log"},
		{Op: write | create, Name: "*.tmp"},
		{Op: vfs.OpRename | vfs.OpMkdir},
		{Op: write | create | vfs.OpMkdir},
		{Op: write | create | vfs.OpMkdir | vfs.OpRename, Skip: 7},
	} {
		rule.Err = syscall.ENOSPC
		t.Run(fmt.Sprintf("%d %s %d", rule.Op, rule.Name, rule.Short), func(t *testing.T) {
			t.Parallel()
			var w *workload
			synctest.Test(t, func(t *testing.T) {
				w = newWorkload(t, uint64(100+i), crashSettings(uint64(i)), func(n int) bool { return n%89 == i })
				w.fullFor(rule)
			})
			for _, c := range w.each {
				if underRace {
					break
				}
				synctest.Test(t, func(t *testing.T) { c.check(t, w.settings, 0) })
				if t.Failed() {
					t.Fatalf("did %v", w.ops)
				}
			}
		})
	}
}

// fullFor works on a disk that is full twice for a while, by a rule. It runs inside a bubble.
func (w *workload) fullFor(rule vfs.Rule) {
	w.open()
	for kind := range topicConfigs() {
		w.createTopic(kind, 2)
	}
	for range 3 {
		w.newProducer()
	}
	for range 2 {
		w.steps(12)
		w.failing = storageError
		heal := w.faults.Fail(rule)
		healed := time.AfterFunc(20*time.Second, heal) // what is in the write-ahead log waits for its segment
		w.steps(20)
		if healed.Stop() {
			heal()
		}
		w.sleep(20 * time.Second) // what is tried again now and then
		w.failing = nil
		if err := w.b.Err(); err != nil {
			w.t.Fatalf("the broker has given up: %v, after %v", err, w.ops)
		}
	}
	w.steps(12)
	w.readAll()
	w.close()
	w.mark()
	w.t.Logf("%d refusals", w.refusals)
}

func (w *workload) steps(n int) {
	for range n {
		w.step()
		w.mark()
	}
}

// readAll compares every partition with the model.
func (w *workload) readAll() {
	s := &survivor{t: w.t, crash: &crash{model: w.model, starts: logStarts{}}, b: w.b, wire: w.wire, dice: w.dice}
	s.starts.note(w.b)
	s.model.starts--
	if err := s.compare(); err != nil {
		w.t.Errorf("%v, after %v", err, w.ops)
	}
}

// TestTheDiskReserveRefusesAndRecovers: skein.disk.reserve.bytes, below which nothing is written, and everything read.
func TestTheDiskReserveRefusesAndRecovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		settings := crashSettings(0)
		settings["skein.disk.reserve.bytes"] = "1000000"
		w := newWorkload(t, 7, settings, func(int) bool { return false })
		w.open()
		for kind := range topicConfigs() {
			w.createTopic(kind, 1)
		}
		w.newProducer()
		w.steps(20)
		for _, free := range []int64{999_999, 0} {
			w.failing = storageError
			w.faults.FakeSpace(&vfs.Space{Total: 1 << 30, Free: free})
			w.steps(20)
			if w.refusals == 0 {
				t.Errorf("with %d bytes left nothing was refused", free)
			}
			w.refusals = 0
			w.faults.FakeSpace(nil)
			w.sleep(time.Second)
			w.failing = nil
			w.steps(20)
		}
		w.readAll()
		w.close()
		// A broker starts on a full disk, else nobody could delete anything.
		w.faults.FakeSpace(&vfs.Space{Total: 1 << 30, Free: 10})
		w.open()
		w.readAll()
		w.close()
	})
}

// TestAFailedSyncEndsTheBroker: broker.md 4.5 rules 5 and 6, whatever file it is of. Everybody who waits is told, nobody is
// told of a success, the service ends, and what was acknowledged before is there afterwards.
func TestAFailedSyncEndsTheBroker(t *testing.T) {
	small := func(w *workload) []int16 { return w.produceTo(3, 2, "plain", "rolled") }
	large := func(w *workload) []int16 { return w.produceTo(3, 200, "plain", "rolled") }
	roll := func(w *workload) []int16 { // every batch a segment, since time passes
		w.sleep(time.Second)
		return w.produceTo(1, 200, "rolled")
	}
	create := func(w *workload) []int16 { return w.tryCreate("another") }
	starts := func(w *workload) []int16 { return w.tryDeleteRecords("plain") }
	for _, test := range []struct {
		name string
		rule vfs.Rule
		do   func(*workload) []int16
	}{
		{"write-ahead log", vfs.Rule{Op: vfs.OpSync, Name: "*.wal"}, small},
		{"segment", vfs.Rule{Op: vfs.OpSync, Name: "00*.log"}, large},
		{"name of a segment", vfs.Rule{Op: vfs.OpSyncDir, Name: "rolled-0"}, roll},
		{"index of a segment", vfs.Rule{Op: vfs.OpSync, Name: "*.timeindex"}, roll},
		{"catalog", vfs.Rule{Op: vfs.OpSync, Name: "catalog.log"}, create},
		{"name of a partition", vfs.Rule{Op: vfs.OpSyncDir, Name: dataDir}, func(w *workload) []int16 {
			create(w) // the catalog has it durably
			return nil
		}},
		{"checkpoint file", vfs.Rule{Op: vfs.OpSync, Name: "*-checkpoint.tmp"}, starts},
		{"name of a checkpoint file", vfs.Rule{Op: vfs.OpSyncDir, Name: dataDir}, starts},
	} {
		for _, times := range []int{0, 1} { // the system reports it once, or again and again
			t.Run(fmt.Sprintf("%s, %d times", test.name, times), func(t *testing.T) {
				var w *workload
				synctest.Test(t, func(t *testing.T) {
					w = newWorkload(t, 5, crashSettings(0), func(int) bool { return false })
					test.rule.Times, test.rule.Err = times, syscall.EIO
					w.failSync(test.rule, test.do)
				})
				for i, c := range w.each {
					if i%stride == 0 {
						synctest.Test(t, func(t *testing.T) { c.check(t, w.settings, 0) })
					}
				}
			})
		}
	}
}

// failSync makes a sync fail while something is done. It runs inside a bubble.
func (w *workload) failSync(rule vfs.Rule, do func(*workload) []int16) {
	w.open()
	for _, kind := range []string{"plain", "rolled", "os", "interval"} {
		w.createTopic(kind, 1)
	}
	w.newProducer()
	for range 6 {
		w.produce()
	}
	served := make(chan error, 1)
	l := newIdleListener()
	go func() { served <- w.b.Serve(l) }()
	w.faults.Fail(rule)
	w.failing = storageError
	codes := do(w)
	synctest.Wait()
	if slices.Contains(codes, 0) {
		w.t.Errorf("somebody was told of a success: codes %v", codes)
	}
	select {
	case <-w.b.Failed():
	default:
		w.t.Fatal("the broker goes on")
	}
	if err := <-served; !errors.Is(err, syscall.EIO) || !errors.Is(w.b.Err(), syscall.EIO) {
		w.t.Errorf("Serve returned %v, Err is %v", err, w.b.Err())
	}
	for _, name := range []string{"plain", "os", "interval"} {
		for _, size := range []int{1, 200} {
			if codes := w.produceTo(1, size, name); slices.Contains(codes, 0) {
				w.t.Errorf("a batch for %s was acknowledged afterwards", name)
			}
		}
	}
	w.look(1, 1, 0, "")
	w.sample = func(int) bool { return true }
	for i := range 10 {
		w.look(uint64(i), i, rule.Op, rule.Name)
	}
	w.mark()
	w.wire.close()
	_ = w.b.Shutdown(w.t.Context())
	if _, err := w.disk.Stat(dataDir + "/.kafka_cleanshutdown"); err == nil {
		w.t.Error("the end is marked as clean")
	}
}

// produceTo sends so many requests with a batch of so many records for each topic, and returns the codes of the answers.
// What failed may be there after a restart.
func (w *workload) produceTo(requests, records int, topics ...string) (codes []int16) {
	var all [][]*toProduce
	for range requests {
		var parts []*toProduce
		w.model.mu.Lock()
		for _, name := range topics {
			b := keyedBatch(w.dice, -1, 0, records)
			p := w.model.topics[name].parts[0]
			p.sent = append(p.sent, entry{-1, b})
			parts = append(parts, &toProduce{topic: name, batch: slices.Clone(b)})
		}
		w.model.mu.Unlock()
		all = append(all, parts)
		w.must(w.wire.send(produceRequest(parts...)))
	}
	for _, parts := range all {
		resp, err := w.wire.receive()
		w.must(err)
		for _, p := range parts {
			w.must(p.take(resp.(*kmsg.ProduceResponse)))
			codes = append(codes, p.code)
			if p.code == 0 {
				w.model.acknowledge(p.topic, p.index, p.batch, p.code, p.base)
			}
		}
	}
	return codes
}

func (w *workload) tryCreate(name string) []int16 {
	w.model.pending = &change{name: name, after: newTopicModel(1, map[string]string{}), made: true}
	req := kmsg.NewPtrCreateTopicsRequest()
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, 1, 1
	req.Topics = append(req.Topics, t)
	resp, err := ask[*kmsg.CreateTopicsResponse](w.wire, req)
	w.must(err)
	return []int16{resp.Topics[0].ErrorCode}
}

func (w *workload) tryDeleteRecords(name string) []int16 {
	p := w.model.topics[name].parts[0]
	p.deleting = p.end()
	req := kmsg.NewPtrDeleteRecordsRequest()
	rt := kmsg.NewDeleteRecordsRequestTopic()
	rt.Topic = name
	rp := kmsg.NewDeleteRecordsRequestTopicPartition()
	rp.Offset = p.end()
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	resp, err := ask[*kmsg.DeleteRecordsResponse](w.wire, req)
	w.must(err)
	return []int16{resp.Topics[0].Partitions[0].ErrorCode}
}

// idleListener is a listener to which nobody comes.
type idleListener struct{ closed chan struct{} }

func newIdleListener() *idleListener { return &idleListener{make(chan struct{})} }

func (l *idleListener) Accept() (net.Conn, error) {
	<-l.closed
	return nil, net.ErrClosed
}

func (l *idleListener) Close() error {
	select {
	case <-l.closed:
		return net.ErrClosed
	default:
		close(l.closed)
		return nil
	}
}

func (l *idleListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9092} }

// TestReadErrorsAreAnswered and pass: a fetch that meets one says KAFKA_STORAGE_ERROR, or ends its connection when it has
// begun to answer, and the broker goes on.
func TestReadErrorsAreAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorkload(t, 9, crashSettings(0), func(int) bool { return false })
		w.open()
		w.createTopic("rolled", 1)
		for range 20 {
			w.produce()
		}
		heal := w.faults.Fail(vfs.Rule{Op: vfs.OpRead, Name: "00*", Err: syscall.EIO})
		f, err := w.wire.fetch("rolled", 0, 3)
		if err == nil && len(f.records) > 0 {
			t.Errorf("%d bytes were read", len(f.records))
		}
		if err != nil && !errors.Is(err, kerr.KafkaStorageError) && !strings.Contains(err.Error(), "EOF") {
			t.Errorf("the fetch: %v", err)
		}
		heal()
		w.wire.close()
		w.wire, err = dial(w.b)
		w.must(err)
		w.readAll()
		if got := record.Batch(nil); w.b.Err() != nil || got != nil {
			t.Error(w.b.Err())
		}
		w.close()
	})
}

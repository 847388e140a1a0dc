package broker

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/record"
	"github.com/skeinstream/skein/internal/vfs"
)

// workload is clients of one broker, on a disk that is looked at before each of its changes.
type workload struct {
	t        testing.TB
	dice     *rand.Rand
	disk     *vfs.Memory
	faults   *vfs.Faults
	settings map[string]string
	b        *Broker
	wire     *wire
	model    *model
	ids      []int64               // of producers
	next     map[string]int32      // sequence, by producer and partition
	bulk     bool                  // some batches are so large that the write-ahead log needs files and checkpoints
	failing  func(code int16) bool // nil, or which codes are to be expected
	refusals int
	starts   logStarts // of topics that are gone, too
	ops      []string
	done     atomic.Int32 // length of ops

	mu      sync.Mutex // guards what follows
	sample  func(n int) bool
	crashes []*crash
	marked  int // crashes whose starts are known
	changes int
}

// topicConfigs are the kinds of topics, by the beginning of their names.
func topicConfigs() map[string]map[string]string {
	return map[string]map[string]string{
		"plain":     {},
		"rolled":    {"segment.ms": "40", "index.interval.bytes": "0"},
		"retained":  {"segment.ms": "40", "retention.bytes": "2500", "file.delete.delay.ms": "1000"},
		"compacted": {"segment.ms": "40", "cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"},
		"interval":  {"skein.durability": "interval"},
		"os":        {"skein.durability": "os", "segment.ms": "100"},
	}
}

func newWorkload(t testing.TB, seed uint64, settings map[string]string, sample func(n int) bool) *workload {
	w := &workload{
		t: t, dice: rand.New(rand.NewPCG(seed, 2)), disk: vfs.NewMemory(), settings: settings, model: newModel(),
		next: map[string]int32{}, starts: logStarts{}, sample: sample,
	}
	if w.bulk = seed%4 == 3; w.bulk {
		settings["skein.wal.direct.bytes"] = "200000"
	}
	w.faults = vfs.NewFaults(w.disk)
	w.faults.BeforeMutation(func(n int, op vfs.Op, name string) { w.look(seed, n, op, name) })
	return w
}

// look takes the disk as a crash now would leave it, as often as sample says.
func (w *workload) look(seed uint64, n int, op vfs.Op, name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.changes++
	if !w.sample(n) {
		return
	}
	w.model.mu.Lock()
	defer w.model.mu.Unlock()
	known := w.model.clone()
	for i := range crashKinds {
		c := &crash{model: known, power: i > 0, seed: seed<<32 + uint64(n)<<4 + uint64(i)}
		switch {
		case i == 0:
			c.disk = w.disk.KillClone()
		case i%2 == 1:
			c.disk = w.disk.CrashClone(c.seed)
		default:
			c.disk = w.disk.CrashCloneTorn(c.seed)
		}
		c.where = fmt.Sprintf("seed %d, op %d, change %d (%d %s), crash %d", seed, w.done.Load(), n, op, name, i)
		w.crashes = append(w.crashes, c)
	}
}

// each takes the crashes out one by one: a disk that has been looked at is larger than one that has not.
func (w *workload) each(yield func(int, *crash) bool) {
	for i, c := range w.crashes {
		w.crashes[i] = nil
		if !yield(i, c) {
			return
		}
	}
}

func (w *workload) open() {
	b, err := Open(context.Background(), Config{Dir: dataDir, Settings: w.settings, files: w.faults})
	if err != nil {
		w.t.Fatalf("opening: %v", err)
	}
	w.b = b
	w.t.Cleanup(func() { // when the test has failed
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		_ = b.Shutdown(ended)
	})
	w.model.mu.Lock()
	w.model.starts = b.catalog.StartCount()
	w.model.mu.Unlock()
	if w.wire, err = dial(b); err != nil {
		w.t.Fatal(err)
	}
}

func (w *workload) close() {
	w.wire.close()
	if err := w.b.Shutdown(context.Background()); err != nil {
		w.t.Errorf("shutting down: %v", err)
	}
	synctest.Wait()
}

// run does so many things. It runs inside a bubble.
func (w *workload) run(steps int) {
	w.open()
	for _, name := range slices.Sorted(maps.Keys(topicConfigs())) {
		w.createTopic(name, 1+w.dice.IntN(2))
	}
	w.mark()
	for range steps {
		w.step()
		w.mark()
		if w.t.Failed() {
			w.t.Logf("did %v", w.ops)
			break
		}
	}
	w.close()
	w.mark()
}

// mark tells the crashes of the last step up to where logs may have been deleted.
func (w *workload) mark() {
	synctest.Wait()
	w.starts.note(w.b)
	starts := maps.Clone(w.starts)
	w.mu.Lock()
	defer w.mu.Unlock()
	for ; w.marked < len(w.crashes); w.marked++ {
		w.crashes[w.marked].starts = starts
	}
}

func (w *workload) did(format string, args ...any) {
	w.ops = append(w.ops, fmt.Sprintf(format, args...))
	w.done.Add(1)
}

func (w *workload) step() {
	switch n := w.dice.IntN(100); {
	case n < 62:
		w.produce()
	case n < 68:
		w.sleep(time.Duration(1+w.dice.IntN(60)) * time.Millisecond)
	case n < 72:
		w.sleep([]time.Duration{3 * time.Second, 20 * time.Second, 61 * time.Second, 301 * time.Second}[w.dice.IntN(4)])
	case n < 77:
		w.fetch()
	case n < 82:
		w.deleteRecords()
	case n < 86:
		w.recreate()
	case n < 90:
		w.alter()
	case n < 92:
		w.morePartitions()
	case n < 95:
		w.newProducer()
	case n < 97 && w.failing == nil:
		w.did("restart")
		w.close()
		w.open()
	default:
		w.createTopic(fmt.Sprintf("plain%d", len(w.ops)), 1)
	}
}

// topic draws a topic.
func (w *workload) topic() (string, *topicModel) {
	names := w.model.names()
	name := names[w.dice.IntN(len(names))]
	return name, w.model.topics[name]
}

// produce sends a few requests, each to a few partitions, before it reads the answers.
func (w *workload) produce() {
	w.sleep(time.Duration(w.dice.IntN(30)) * time.Millisecond)
	var requests [][]*toProduce
	for range 1 + w.dice.IntN(3) {
		requests = append(requests, w.batches())
	}
	for _, parts := range requests {
		w.must(w.wire.send(produceRequest(parts...)))
	}
	for _, parts := range requests {
		resp, err := w.wire.receive()
		w.must(err)
		for _, p := range parts {
			w.must(p.take(resp.(*kmsg.ProduceResponse)))
			if p.code != 0 {
				w.refused(p)
			}
			w.model.acknowledge(p.topic, p.index, p.batch, p.code, p.base)
		}
	}
}

// refused takes back the sequence of a batch that was refused, which is wrong unless something was made to fail.
func (w *workload) refused(p *toProduce) {
	if w.failing == nil || !w.failing(p.code) {
		w.t.Errorf("producing to %s-%d: %v (%s)", p.topic, p.index, failed(p.code), p.message)
	}
	w.refusals++
	if header := record.Batch(p.batch).Header(); header.HasProducer() {
		key := w.sequenceKey(p.topic, p.index, header.ProducerID)
		w.next[key] = min(w.next[key], header.BaseSequence)
	}
}

func (w *workload) sequenceKey(topic string, index int32, producer int64) string {
	return fmt.Sprintf("%x %d %d", w.model.topics[topic].id, index, producer)
}

// batches draws batches for some partitions, each once, and notes them as sent.
func (w *workload) batches() (all []*toProduce) {
	w.model.mu.Lock()
	defer w.model.mu.Unlock()
	seen := map[string]bool{}
	for range 1 + w.dice.IntN(4) {
		name, t := w.topic()
		index := int32(w.dice.IntN(len(t.parts)))
		if key := fmt.Sprint(name, index); seen[key] {
			continue
		} else {
			seen[key] = true
		}
		b := w.batch(name, index, t)
		t.parts[index].sent = append(t.parts[index].sent, entry{-1, b})
		all = append(all, &toProduce{topic: name, index: index, batch: slices.Clone(b)})
		w.did("%s-%d %d", name, index, len(b))
	}
	return all
}

// batch draws a batch for a partition: small or large, of a producer or not.
func (w *workload) batch(name string, index int32, t *topicModel) record.Batch {
	size := 1 + w.dice.IntN(3)
	switch {
	case w.dice.IntN(5) == 0:
		size = 40 + w.dice.IntN(60)
	case w.bulk && w.dice.IntN(5) == 0:
		size = 300 + w.dice.IntN(700)
	}
	if len(w.ids) == 0 || w.dice.IntN(3) == 0 || t.compacted() {
		return keyedBatch(w.dice, -1, 0, size)
	}
	id := w.ids[w.dice.IntN(len(w.ids))]
	key := w.sequenceKey(name, index, id)
	b := keyedBatch(w.dice, id, w.next[key], size)
	w.next[key] += int32(size)
	return b
}

// keyedBatch is a batch of small records. Its content is random, so that no two are the same.
func keyedBatch(dice *rand.Rand, producer int64, sequence int32, records int) record.Batch {
	b := record.NewBuilder(0)
	if producer >= 0 {
		b.ProducerID, b.ProducerEpoch, b.BaseSequence = producer, 0, sequence
	}
	for range records {
		key := fmt.Appendf(nil, "key %d", dice.IntN(7))
		b.Append(time.Now().UnixMilli(), key, fmt.Appendf(nil, "%016x%*s", dice.Uint64(), dice.IntN(40), ""))
	}
	return slices.Clone(record.Batch(b.Bytes()))
}

func (w *workload) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatalf("%v, after %v", err, w.ops)
	}
}

// sleep lets the bubble's clock run. What a relaxed mode has written is durable once its interval has passed.
func (w *workload) sleep(d time.Duration) {
	w.did("sleep %v", d)
	timer := time.NewTimer(d)
	<-timer.C
	synctest.Wait()
	if d < 3*time.Second {
		return
	}
	w.model.mu.Lock()
	defer w.model.mu.Unlock()
	for _, t := range w.model.topics {
		if t.configs["skein.durability"] == "interval" {
			for _, p := range t.parts {
				p.durable = len(p.acked)
			}
		}
	}
}

// fetch reads a partition to its end. What a reader has seen must stay, unless the mode says otherwise.
func (w *workload) fetch() {
	name, t := w.topic()
	index := int32(w.dice.IntN(len(t.parts)))
	w.did("fetch %s-%d", name, index)
	if w.b.table.Topic(name).Partition(index).Offline() != nil && w.failing != nil {
		return // it was made while the disk was full
	}
	start, err := w.wire.startOf(name, index)
	w.must(err)
	f, err := w.wire.fetch(name, index, start)
	w.must(err)
	w.model.mu.Lock()
	defer w.model.mu.Unlock()
	t.parts[index].shown = f.highWatermark
}

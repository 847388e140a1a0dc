package partition

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skeinstream/skein/broker/internal/catalog"
	"github.com/skeinstream/skein/broker/internal/catalog/catalogtest"
	"github.com/skeinstream/skein/broker/internal/record"
	"github.com/skeinstream/skein/internal/settings"
	"github.com/skeinstream/skein/internal/vfs"
)

const dataDir = "data"

// world is a catalog and a table over one file system, in a bubble with a clock of its own.
type world struct {
	t       testing.TB
	fs      vfs.FS
	static  map[string]string // broker settings
	catalog *catalog.Catalog
	*Table
	logs logs
	runs chan error
}

// inBubble runs a test over files in memory.
func inBubble(t *testing.T, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(newWorld(t, vfs.NewMemory())) })
}

func newWorld(t testing.TB, fs vfs.FS) *world {
	t.Helper()
	return &world{t: t, fs: fs, static: map[string]string{}}
}

// start opens the catalog and the table and runs it.
func (w *world) start() *world {
	w.t.Helper()
	if err := w.open(); err != nil {
		w.t.Fatal(err)
	}
	w.run()
	return w
}

func (w *world) open() error {
	w.Table = nil
	if err := w.fs.MkdirAll(dataDir); err != nil {
		return err
	}
	c, err := catalog.Open(w.fs, dataDir, catalog.Options{
		Random: rand.NewChaCha8([32]byte{1}),
		Published: func(_, after *catalog.Snapshot) {
			if w.Table != nil {
				w.Apply(after)
			}
		},
	})
	if err != nil {
		return err
	}
	w.catalog = c
	w.Table, err = Open(context.Background(), Options{
		FS: w.fs, Dir: dataDir, LeaderEpoch: c.StartCount(),
		Layers: w.layers, Broker: w.broker, Forget: c.ForgetTopics,
		Logger: slog.New(slog.NewTextHandler(&w.logs, nil)),
	}, c.Snapshot())
	return err
}

func (w *world) run() {
	runs, running := make(chan error, 1), w.Table
	w.runs = runs
	go func() {
		runs <- running.Run(context.Background())
		close(runs)
	}()
	synctest.Wait()
	w.t.Cleanup(func() { // a test that failed has not ended it
		if running == w.Table && w.runs != nil {
			w.kill()
		}
	})
}

func (w *world) layers() settings.Layers { return settings.Layers{Static: w.static} }

func (w *world) broker() *settings.Broker {
	b, err := settings.ResolveBroker(w.layers())
	if err != nil {
		w.t.Fatal(err)
	}
	return &b
}

// stop ends the table cleanly.
func (w *world) stop() {
	w.t.Helper()
	err := errors.Join(w.Shutdown(context.Background()), <-w.runs, w.catalog.Close())
	w.runs = nil
	if err != nil {
		w.t.Fatal(err)
	}
}

// kill ends the table as a crash would, but for the goroutines, which must end with the bubble. What is on the file system
// after it does not matter: take a clone before.
func (w *world) kill() {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	_ = w.Shutdown(ended)
	<-w.runs
	w.runs = nil
	_ = w.catalog.Close()
}

// restart stops and starts again.
func (w *world) restart() {
	w.t.Helper()
	w.stop()
	w.start()
}

// create makes a topic; configs are name, value, …
func (w *world) create(name string, partitions int32, configs ...string) *Topic {
	w.t.Helper()
	set := map[string]string{}
	for pair := range slices.Chunk(configs, 2) {
		set[pair[0]] = pair[1]
	}
	made, err := catalogtest.CreateTopic(context.Background(), w.catalog, catalog.Topic{Name: name, Partitions: partitions, Configs: set})
	if err != nil {
		w.t.Fatal(err)
	}
	return w.TopicByID(made.ID)
}

func (w *world) configure(topic *Topic, configs ...string) {
	w.t.Helper()
	set := map[string]string{}
	for pair := range slices.Chunk(configs, 2) {
		set[pair[0]] = pair[1]
	}
	if err := catalogtest.SetTopicConfigs(context.Background(), w.catalog, topic.ID, set); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) deleteTopic(topic *Topic) {
	w.t.Helper()
	if err := catalogtest.DeleteTopic(context.Background(), w.catalog, topic.ID); err != nil {
		w.t.Fatal(err)
	}
}

// partition finds the only partition of a topic.
func (w *world) partition(topic string) *Partition {
	w.t.Helper()
	found := w.Topic(topic)
	if found == nil {
		w.t.Fatalf("there is no topic %s", topic)
	}
	return found.Partition(0)
}

// batch is a batch of so many small records.
func batch(records int) []byte { return batchOf(0, records) }

func batchOf(valueSize, records int) []byte {
	b := record.NewBuilder(0)
	for range records {
		b.Append(time.Now().UnixMilli(), []byte("key"), make([]byte, valueSize))
	}
	return b.Bytes()
}

// from is a batch of an idempotent producer.
func from(producer int64, epoch int16, sequence int32, records int) []byte {
	b := record.NewBuilder(0)
	b.ProducerID, b.ProducerEpoch, b.BaseSequence = producer, epoch, sequence
	for range records {
		b.Append(time.Now().UnixMilli(), []byte("key"), []byte("value"))
	}
	return b.Bytes()
}

// waitFor is an Append's owner that counts how often it is told.
type waitFor struct {
	mu    sync.Mutex
	told  int
	order *[]int64
	Append
}

func (f *waitFor) Appended(a *Append) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.told++
	if f.order != nil {
		*f.order = append(*f.order, a.Result.BaseOffset)
	}
}

func (f *waitFor) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.told
}

func send(p *Partition, b []byte) *waitFor {
	f := &waitFor{}
	f.Records, f.Done = b, f
	p.Append(&f.Append)
	return f
}

// appended sends a batch, waits for its result and checks the code.
func (w *world) appended(p *Partition, b []byte, code int16) Result {
	w.t.Helper()
	f := send(p, b)
	synctest.Wait()
	if f.count() != 1 {
		w.t.Fatalf("told %d times", f.count())
	}
	if f.Result.Code != code {
		w.t.Fatalf("code %d (%s), want %d", f.Result.Code, f.Result.Message, code)
	}
	return f.Result
}

// read reads everything from an offset on and returns the batches' base offsets.
func (w *world) read(p *Partition, offset int64) (bases []int64) {
	w.t.Helper()
	for {
		r := p.Read(ReadOptions{Offset: offset, MaxBytes: 1 << 20, MinOne: true, LeaderEpoch: -1, LastFetchedEpoch: -1})
		if r.Code != 0 {
			w.t.Fatalf("reading from %d: code %d", offset, r.Code)
		}
		if r.Records.Len == 0 {
			return bases
		}
		b := make([]byte, r.Records.Len)
		if _, err := r.Records.ReadAt(b, 0); err != nil {
			w.t.Fatal(err)
		}
		for got, err := range record.Batches(b) {
			if err != nil {
				w.t.Fatal(err)
			}
			if err := got.Verify(); err != nil {
				w.t.Fatal(err)
			}
			bases = append(bases, got.Header().BaseOffset)
		}
		offset = r.Records.End
		r.Records.Release()
	}
}

// logs keeps what was logged.
type logs struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logs) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logs) has(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.text.String(), text)
}

// settle lets the bubble's clock run.
func (w *world) settle(d time.Duration) {
	timer := time.NewTimer(d)
	<-timer.C
	synctest.Wait()
}

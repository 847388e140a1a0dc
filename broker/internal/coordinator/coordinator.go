package coordinator

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/skeinstream/skein/internal/machine"
)

var (
	// ErrLoading is for callers who come while the shard's log is being read. They may ask again, here.
	ErrLoading = errors.New("the coordinator is loading its log")
	// ErrNotCoordinator is for callers whose question has been lost, or cannot be answered here: an append has failed, the
	// log cannot be read or takes no records, or the coordinator shuts down. What they asked for may or may not be in the
	// log. They may ask again, after looking for the coordinator.
	ErrNotCoordinator = errors.New("not the coordinator any more")
)

// Log is where a shard keeps its records: one partition of an internal topic.
type Log interface {
	// Replay yields every record and marker in order, from the beginning. It ends with the error of yield. What it yields is
	// valid during the call only. The next Append goes behind what it has yielded.
	Replay(ctx context.Context, yield func(machine.Record) error) error
	// Append makes records, of the shard's own partition, and group durable, all or none, and calls done once, from any
	// goroutine, also before it returns. It does not wait for that. Appends become durable in order; after one that has
	// failed every further one fails too, until a Replay. Records and group are not kept. A group names each partition once,
	// and the shard's own only when there are no records.
	//
	// Records of one producer in a row are one batch, and a marker is one. Without a group all or none is true of each
	// batch: of several, the first ones may be there alone after a crash. With a group, records are one batch.
	Append(records []machine.Record, group []machine.Write, done func(error))
	// AppendLent is Append for a group that reaches into the partitions of other logs, which their owners have lent for the
	// time of the call. An error says that nothing has been appended and all these logs are as before; then done is not
	// called. When done gets one, each of them is to be replayed.
	AppendLent(records []machine.Record, group []machine.Write, lent []Log, done func(error)) error
	// Refusal is why an Append would fail now, nil when none is known.
	Refusal() error
}

// Config says what a coordinator runs. Shards, Open and Machine are required.
type Config struct {
	// Shards is how many partitions the topic has.
	Shards int
	// Open returns the log of a shard. It is called anew for every attempt to load the shard.
	Open func(shard int32) (Log, error)
	// Machine makes an empty machine.
	Machine func(shard int32) machine.Machine
	// Loaded, when set, is called after a shard has been loaded and before anybody else's input, and again after Welcome,
	// each time once the log takes records. It must be quick.
	Loaded func(shard int32, step Step)
	// Neighbour, when set, is the coordinator whose log a topic is, nil for topics that are nobody's. A group of writes into
	// its partitions is made with its shards: see rendezvous. A neighbour has no neighbours itself.
	Neighbour func(topic string) *Coordinator
	// Ask, when set, is given what a machine asks for once what it has decided before is durable. It must be quick.
	Ask func(shard int32, ask any)
	// Workers is how many goroutines run the shards. Default: one a core, 4 at most.
	Workers int
	// RetryMin and RetryMax bound the time between attempts to load a shard. Defaults 100 ms and 30 s.
	RetryMin, RetryMax time.Duration

	Now    func() time.Time // default time.Now
	Logger *slog.Logger     // default: nothing is logged
	Events Events
}

// Step gives an input to the machine and returns what answers it, nil without an answer. done, which may be nil, is called
// once that is durable, or with why it is not.
type Step func(in any, done func(error)) (answer any)

// Events are called as things happen, when set. They must be quick.
type Events struct {
	// Loaded is called after each load of a shard.
	Loaded func(shard int32, records int64, took time.Duration)
}

func (c Config) withDefaults() Config {
	if c.Workers <= 0 {
		c.Workers = min(runtime.GOMAXPROCS(0), 4)
	}
	c.Workers = max(1, min(c.Workers, c.Shards))
	if c.RetryMin <= 0 {
		c.RetryMin = 100 * time.Millisecond
	}
	if c.RetryMax <= 0 {
		c.RetryMax = 30 * time.Second
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Coordinator runs the shards of one topic. Its methods may be called from any goroutine.
type Coordinator struct {
	cfg     Config
	shards  []*shard
	workers []*worker
	loads   loads
	end     context.CancelFunc // of loading
	running sync.WaitGroup     // workers, and who loads
	first   atomic.Int32       // shards whose first load is not over
	tried   chan struct{}      // closed when there are none
}

// Open starts the workers and begins to load every shard. It does not wait for that.
func Open(cfg Config) *Coordinator {
	c := &Coordinator{cfg: cfg.withDefaults()}
	c.loads = make(loads, c.cfg.Shards)
	c.first.Store(int32(c.cfg.Shards))
	c.tried = make(chan struct{})
	for range c.cfg.Workers {
		c.workers = append(c.workers, newWorker(&c.cfg))
	}
	for i := range int32(c.cfg.Shards) {
		w := c.workers[int(i)%len(c.workers)]
		s := newShard(&c.cfg, w, i, c.loads)
		s.tried = c.shardTried
		c.shards = append(c.shards, s)
		s.load()
	}
	ctx, end := context.WithCancel(context.Background())
	c.end = end
	for _, w := range c.workers {
		c.running.Go(w.run)
		c.running.Go(func() { c.loads.run(ctx, &c.cfg) })
	}
	return c
}

func (c *Coordinator) shardTried() {
	if c.first.Add(-1) == 0 {
		close(c.tried)
	}
}

// Tried is closed when the first load of every shard is over, for good or ill, or will not be.
func (c *Coordinator) Tried() <-chan struct{} { return c.tried }

// Shards is how many shards there are.
func (c *Coordinator) Shards() int { return len(c.shards) }

// Do gives an input to a shard and returns at once. done is called exactly once, with what the machine answers or with
// ErrLoading or ErrNotCoordinator. It is called on the shard's worker, before Do returns, or on
// the goroutine that commits, where others wait for it: it must be quick.
func (c *Coordinator) Do(shard int32, in any, done func(reply any, err error)) {
	if shard < 0 || int(shard) >= len(c.shards) {
		done(nil, ErrNotCoordinator)
		return
	}
	s := c.shards[shard]
	if !s.worker.post(call{shard: s, in: in, done: done}) {
		done(nil, ErrNotCoordinator)
	}
}

// DoEarly is Do with an answer that does not wait for the disk: what the step has decided is decided and on its way to the log,
// ahead of everything that is appended anywhere after done was called, but it may fail to get there. It is for answers which
// nobody but this process hears of. durable, which may be nil, is called once after a done without an error, when it has got
// there or, with an error, has not.
func (c *Coordinator) DoEarly(shard int32, in any, done func(reply any, err error), durable func(error)) {
	c.Do(shard, early{in, durable}, done)
}

// early is the input of DoEarly.
type early struct {
	in      any
	durable func(error)
}

// Write appends records to a shard's log that its machine has not decided, and applies them: an admin's markers. done is called
// as that of Do, without a reply.
func (c *Coordinator) Write(shard int32, records []machine.Record, done func(error)) {
	c.Do(shard, written{records}, func(_ any, err error) { done(err) })
}

// written is the input for Write.
type written struct{ records []machine.Record }

// Serves reports whether a shard has been loaded and takes inputs. It may be otherwise a moment later.
func (c *Coordinator) Serves(shard int32) bool {
	return shard >= 0 && int(shard) < len(c.shards) && c.shards[shard].serves.Load()
}

// Welcome has Config.Loaded called again for a shard, before the next input that comes when the log takes records.
func (c *Coordinator) Welcome(shard int32) {
	s := c.shards[shard]
	s.worker.tell(event{shard: s, welcome: true})
}

// Shutdown takes no more inputs, answers everybody whose answer is not decided yet with ErrNotCoordinator, waits until the
// appends under way have been answered, and ends the workers. When ctx ends first those who wait for appends are answered
// with ErrNotCoordinator too, and ctx's error is returned. Later calls wait for the same.
func (c *Coordinator) Shutdown(ctx context.Context) error {
	for _, w := range c.workers {
		w.stop()
	}
	c.end()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.running.Wait()
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
	}
	for _, w := range c.workers {
		w.abort()
	}
	<-ended
	return context.Cause(ctx)
}

// Shard is the shard that a key belongs to: Kafka's rule, a Java string's hash code without its sign, modulo the number of
// partitions. The hash code whose sign cannot be taken away counts as 0.
func Shard(key string, shards int) int32 {
	h := javaHash(key)
	if h == math.MinInt32 {
		h = 0
	}
	return max(h, -h) % int32(shards)
}

// javaHash is Java's String.hashCode, which goes over UTF-16 units.
func javaHash(s string) (h int32) {
	for _, r := range s {
		if r >= 0x10000 {
			r -= 0x10000
			h = 31*h + 0xd800 + r>>10
			r = 0xdc00 + r&0x3ff
		}
		h = 31*h + r
	}
	return h
}

package partition

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/skeinstream/skein/broker/internal/catalog"
	"github.com/skeinstream/skein/broker/internal/commit"
	"github.com/skeinstream/skein/broker/internal/record"
	"github.com/skeinstream/skein/broker/internal/storage"
	"github.com/skeinstream/skein/internal/settings"
	"github.com/skeinstream/skein/internal/vfs"
)

// Options are what a Table needs to know.
type Options struct {
	FS  vfs.FS
	Dir string // where the partitions' directories are; the write-ahead log is in "wal" below it
	// LeaderEpoch is the leader epoch of every partition: the number of this start of the broker.
	LeaderEpoch int32
	// Layers returns the broker settings that were given, by who gave them, as they are now.
	Layers func() settings.Layers
	// Broker returns the broker settings in force now.
	Broker func() *settings.Broker
	// Forget tells the catalog that nothing is left of deleted topics.
	Forget func(ctx context.Context, ids ...catalog.ID) error
	// Commit configures the committer. SyncSegments is set by the table.
	Commit commit.Config

	Now    func() time.Time // default time.Now
	Logger *slog.Logger     // default: nothing is logged
	Events Events
}

// Events are called as things happen, when set. They must be quick.
type Events struct {
	// Opened is called once when all partitions are open.
	Opened func(partitions, offline int, took time.Duration)
	// Swept is called after each round of retention.
	Swept func(segments int)
	// Cleaned is called after each compaction of a log.
	Cleaned func(bytesRead, bytesKept int64)
	// Flushed is called after each sync of a segment outside the committer.
	Flushed func(took time.Duration)
}

func (o *Options) withDefaults() {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Layers == nil {
		o.Layers = func() settings.Layers { return settings.Layers{} }
	}
	if o.Broker == nil {
		b, _ := settings.ResolveBroker(settings.Layers{})
		o.Broker = func() *settings.Broker { return &b }
	}
	if o.Forget == nil {
		o.Forget = func(context.Context, ...catalog.ID) error { return nil }
	}
}

// Table is the partitions of all topics. Open one, call Run for as long as it lives, then Shutdown.
type Table struct {
	opts       Options
	files      *storage.Files
	committing *commit.Committer
	validators sync.Pool // of *record.Validator
	large      places    // for batches that take much memory
	topics     atomic.Pointer[topicIndex]
	space      *space
	flushes    alarm
	cleaning   cleanings
	doomed     doomed
	dead       dead
	stale      atomic.Bool   // the checkpoint files may have entries of deleted partitions
	changing   chan struct{} // holds whoever makes and removes partitions
	saving     chan struct{} // holds whoever writes a checkpoint file
	work       chan struct{} // the housekeeper should look for work before its time
	fatal      chan error    // what ends Run
	ended      chan struct{} // Run has returned
	running    atomic.Bool
	broken     atomic.Bool // nobody knows what is on the disk: nothing is written any more
}

// Topic returns the topic of that name, nil when there is none.
func (t *Table) Topic(name string) *Topic { return t.topics.Load().byName[name] }

// TopicBytes is Topic for a name that is bytes.
func (t *Table) TopicBytes(name []byte) *Topic { return t.topics.Load().byName[string(name)] }

// TopicByID returns the topic with that id, nil when there is none.
func (t *Table) TopicByID(id catalog.ID) *Topic { return t.topics.Load().byID[id] }

// Topics calls yield for every topic, in no order.
func (t *Table) Topics(yield func(*Topic) bool) {
	for _, topic := range t.topics.Load().byName {
		if !yield(topic) {
			return
		}
	}
}

// each walks all partitions.
func (t *Table) each(yield func(*Partition) bool) {
	for topic := range t.Topics {
		for _, p := range topic.Partitions() {
			if !yield(p) {
				return
			}
		}
	}
}

// now is the wall clock in ms.
func (t *Table) now() int64 { return t.opts.Now().UnixMilli() }

// Apply makes the table follow a snapshot of the catalog: it makes partitions of new topics, removes those of deleted
// ones and passes changed settings on. It is called by one goroutine at a time, with ever newer snapshots; when it
// returns, what the snapshot has can be used. A partition that cannot be made is offline.
func (t *Table) Apply(s *catalog.Snapshot) {
	t.changing <- struct{}{}
	defer func() { <-t.changing }()
	before := t.topics.Load()
	after := newTopicIndex(len(s.Topics()))
	layers := t.opts.Layers()
	made := false
	for _, ct := range s.Topics() {
		topic := before.byID[ct.ID]
		if topic == nil {
			topic = newTopic(ct, t.resolve(layers, ct))
		} else if set := t.resolve(layers, ct); *topic.Settings() != set {
			t.reconfigure(topic, set)
		}
		made = t.grow(topic, ct.Partitions) || made
		after.add(topic)
	}
	if made {
		t.syncDir()
	}
	t.topics.Store(after)
	t.removeAbsent(before, after)
}

func (t *Table) resolve(l settings.Layers, ct *catalog.Topic) settings.Topic {
	set, err := settings.ResolveTopic(l, ct.Configs)
	if err != nil { // they were checked when they were set
		t.opts.Logger.Error("settings of a topic cannot be read, defaults hold in their place", "topic", ct.Name, "error", err)
	}
	return set
}

// grow makes the partitions that a topic does not have yet.
func (t *Table) grow(topic *Topic, partitions int32) bool {
	have := int32(len(topic.Partitions()))
	if have >= partitions {
		return false
	}
	more := make([]*Partition, 0, partitions-have)
	for i := have; i < partitions; i++ {
		more = append(more, t.create(topic, i))
	}
	topic.add(more...)
	return true
}

// removeAbsent deletes the topics that are not there any more.
func (t *Table) removeAbsent(before, after *topicIndex) {
	var gone []*Topic
	for id, topic := range before.byID {
		if after.byID[id] == nil {
			gone = append(gone, topic)
		}
	}
	if len(gone) > 0 {
		t.remove(gone)
	}
}

// reconfigure passes changed settings on to a topic's partitions.
func (t *Table) reconfigure(topic *Topic, set settings.Topic) {
	topic.configure(set)
	relaxed := topic.state.Load().relaxed()
	for _, p := range topic.Partitions() {
		if p.Refusal() == 0 {
			p.log.Reconfigure(storageOf(&set))
			p.beginStrict(relaxed) // who sees the new mode may rely on it; the housekeeper does the rest
		}
	}
	t.poke()
}

// poke makes Run look for work.
func (t *Table) poke() {
	select {
	case t.work <- struct{}{}:
	default:
	}
}

// Fail ends Run with the reason, and nothing is written any more: somebody else has found that the disk cannot be trusted.
func (t *Table) Fail(reason error) { t.fail("the broker has failed", reason) }

// fail ends Run: what is on the disk is not known any more.
func (t *Table) fail(act string, err error) {
	t.broken.Store(true)
	select {
	case t.fatal <- fmt.Errorf("%s: %w", act, err):
	default:
	}
}

// writeFailed is called when the log or the committer refuses a batch. The reason is the disk's, so one line for many
// appends will do: the committer and the space watch report changes of state.
func (t *Table) writeFailed(p *Partition, err error) {
	if errors.Is(err, storage.ErrSync) && !p.Deleted() {
		t.fail("writing to "+p.name(), err)
	}
	t.opts.Logger.Debug("a record could not be written", "partition", p.name(), "error", err)
}

func (t *Table) newValidator() any { return &record.Validator{Gate: t.large} }

// largeAtOnce is how many batches may take much memory, some hundred megabytes each, at a time. They are rare, and each
// keeps a core busy for seconds.
const largeAtOnce = 2

// places is so many places to be in.
type places chan struct{}

// Enter waits for a place.
func (p places) Enter() { p <- struct{}{} }

// Leave gives it back.
func (p places) Leave() { <-p }

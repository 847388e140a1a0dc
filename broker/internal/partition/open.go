package partition

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/skeinstream/skein/broker/internal/catalog"
	"github.com/skeinstream/skein/broker/internal/commit"
	"github.com/skeinstream/skein/broker/internal/storage"
)

const walDir = "wal"

// Open opens the partitions of every topic in the snapshot, several at a time, and brings what the write-ahead log has
// beyond their ends into them. A partition whose log is damaged is offline; an error is about the table as a whole.
//
// The order matters: which offsets the write-ahead log can supply again must be known before a log is opened, since it
// then cuts damage there instead of refusing. And the mark of a clean end must be gone, durably, before the first write.
func Open(ctx context.Context, opts Options, s *catalog.Snapshot) (*Table, error) {
	opts.withDefaults()
	started := opts.Now()
	t := &Table{
		opts:     opts,
		files:    storage.NewFiles(opts.FS, 0),
		large:    make(places, largeAtOnce),
		saving:   make(chan struct{}, 1),
		changing: make(chan struct{}, 1),
		work:     make(chan struct{}, 1),
		fatal:    make(chan error, 1),
		ended:    make(chan struct{}),
	}
	t.flushes = newAlarm()
	t.topics.Store(newTopicIndex(0))
	t.space = newSpace(t)
	t.validators.New = t.newValidator
	o := opener{Table: t, rescued: map[commit.Key]bool{}}
	if err := o.open(ctx, s); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the partitions in %s: %w", opts.Dir, err), t.abandon())
	}
	t.space.look()
	t.reportOpened(t.opts.Now().Sub(started))
	return t, nil
}

// abandon lets go of the files of a table that could not be opened.
func (t *Table) abandon() (err error) {
	if t.committing != nil {
		err = t.committing.Shutdown(context.Background()) // it never ran, so there is nothing to wait for
	}
	return errors.Join(err, t.closeLogs(), t.files.Close())
}

func (t *Table) reportOpened(took time.Duration) {
	partitions, offline := 0, 0
	for p := range t.each {
		partitions++
		if p.Refusal() != 0 {
			offline++
		}
	}
	if t.opts.Events.Opened != nil {
		t.opts.Events.Opened(partitions, offline, took)
	}
}

// opener is one Open under way.
type opener struct {
	*Table
	clean   bool
	points  offsets
	starts  offsets
	cleaned offsets
	// pointless is set by an examination: the recovery points cannot be read.
	pointless bool
	byKey     map[commit.Key]*Partition
	rescued   map[commit.Key]bool // what the write-ahead log has of an offline partition was saved

	mu     sync.Mutex // guards what follows while partitions are opened
	supply map[commit.Key]supply
}

func (o *opener) open(ctx context.Context, s *catalog.Snapshot) error {
	for _, step := range []func() error{o.prepare, o.readPoints, o.readSupply} {
		if err := step(); err != nil {
			return err
		}
	}
	for _, topic := range s.Deleted() {
		o.dead.add(topic.ID)
	}
	if err := o.openTopics(ctx, s); err != nil {
		return err
	}
	if err := o.sortOut(s); err != nil {
		return err
	}
	if err := o.replay(); err != nil {
		return err
	}
	return o.forgetStale()
}

// forgetStale takes what the checkpoint files say of partitions that are no more out of them. A full disk puts it off.
func (o *opener) forgetStale() error {
	known := map[string]bool{}
	for p := range o.each {
		known[p.name()] = true
	}
	for _, said := range []offsets{o.points, o.starts, o.cleaned} {
		for name := range said {
			if !known[name] {
				o.stale.Store(true)
			}
		}
	}
	err := o.dropStale()
	if err != nil && !errors.Is(err, storage.ErrSync) {
		o.opts.Logger.Warn("deleted partitions cannot be taken out of the checkpoint files", "error", err)
		return nil
	}
	return err
}

// prepare makes the directory and takes the mark of a clean end away.
func (o *opener) prepare() error {
	fs, dir := o.opts.FS, o.opts.Dir
	if err := fs.MkdirAll(dir); err != nil {
		return err
	}
	err := fs.Remove(filepath.Join(dir, cleanFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	o.clean = true
	return fs.SyncDir(dir)
}

// readPoints reads the checkpoint files, all of which must be readable.
func (o *opener) readPoints() error {
	damaged, err := o.readWhatPoints()
	for _, reason := range damaged {
		err = errors.Join(err, fmt.Errorf("%w; `skein log repair` tells what that means", reason))
	}
	return err
}

// readWhatPoints reads them as far as they can be read, and returns what is wrong with the others.
func (o *opener) readWhatPoints() (damaged map[string]error, err error) {
	damaged = map[string]error{}
	for _, f := range []struct {
		to   *offsets
		name string
	}{{&o.points, recoveryPointFile}, {&o.starts, startOffsetFile}, {&o.cleaned, cleanedFile}} {
		*f.to, err = readOffsets(o.opts.FS, filepath.Join(o.opts.Dir, f.name))
		if errors.Is(err, errCheckpoint) {
			damaged[f.name], *f.to, err = err, offsets{}, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return damaged, nil
}

// openTopics opens every partition that the catalog knows.
func (o *opener) openTopics(ctx context.Context, s *catalog.Snapshot) error {
	index := newTopicIndex(len(s.Topics()))
	layers := o.opts.Layers()
	var group errgroup.Group
	group.SetLimit(max(1, o.opts.Broker().RecoveryThreads))
	for _, ct := range s.Topics() {
		topic := newTopic(ct, o.resolve(layers, ct))
		partitions := make([]*Partition, ct.Partitions)
		topic.partitions.Store(&partitions)
		index.add(topic)
		for i := range partitions {
			group.Go(func() error {
				partitions[i] = o.openPartition(ctx, topic, int32(i))
				return ctx.Err()
			})
		}
	}
	err := group.Wait()
	o.topics.Store(index)
	return errors.Join(err, o.opts.FS.SyncDir(o.opts.Dir))
}

func (o *opener) openPartition(ctx context.Context, topic *Topic, index int32) *Partition {
	p := o.newPartition(topic, index)
	if err := o.openLog(ctx, p); err != nil {
		return o.offline(p, err)
	}
	p.online()
	return p
}

func (o *opener) openLog(ctx context.Context, p *Partition) error {
	name := p.name()
	p.said = said{o.points[name], o.starts[name], o.cleaned[name]}
	cleared, err := o.claim(p.dir, p.topic.ID)
	if err != nil {
		return err
	}
	s, err := o.supplyOf(p.Key(), p.dir)
	if err != nil {
		return err
	}
	rec := storage.Recovery{DurableTo: s.durable, Promised: s.promised, Resupply: s.ranges}
	if cleared {
		p.said = said{}
		o.stale.Store(true)
	} else {
		rec = o.recovery(name, s)
		p.cleaned.Store(p.said.cleaned)
	}
	log, report, err := storage.Open(ctx, o.files, p.dir, storageOf(p.topic.Settings()), rec)
	if err != nil {
		return err
	}
	o.report(name, report)
	p.log = log
	return nil
}

// recovery is what is known of a log before it is opened.
func (o *opener) recovery(name string, s supply) storage.Recovery {
	return storage.Recovery{
		DurableTo: max(s.durable, o.points[name]), Promised: s.promised, Resupply: s.ranges,
		Clean: o.clean, StartOffset: o.starts[name],
	}
}

// report tells of what recovery has cut.
func (o *opener) report(name string, r storage.Report) {
	if r.Cut > 0 {
		o.opts.Logger.Info("cut the torn end of a log", "partition", name, "bytes", r.Cut, "end", r.CutFrom, "reason", r.CutReason)
	}
}

// offline is a partition that cannot be used. This is said once, here.
func (t *Table) offline(p *Partition, reason error) *Partition {
	p.setState(offline, reason)
	t.opts.Logger.Error("a partition is offline", "partition", p.name(), "reason", reason)
	return p
}

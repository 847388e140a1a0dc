package partition

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/skeinstream/skein/broker/internal/catalog"
	"github.com/skeinstream/skein/broker/internal/commit"
	"github.com/skeinstream/skein/broker/internal/record"
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
		opts:   opts,
		files:  storage.NewFiles(opts.FS, opts.OpenFiles),
		saving: make(chan struct{}, 1),
		work:   make(chan struct{}, 1),
		fatal:  make(chan error, 1),
		ended:  make(chan struct{}),
	}
	t.flushes = newAlarm()
	t.topics.Store(newTopicIndex(0))
	t.space = newSpace(t)
	t.validators.New = t.newValidator
	o := opener{Table: t, ctx: ctx}
	if err := o.open(s); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the partitions in %s: %w", opts.Dir, err), t.closeLogs())
	}
	t.space.look()
	t.reportOpened(t.opts.Now().Sub(started))
	return t, nil
}

func (t *Table) reportOpened(took time.Duration) {
	partitions, offline := 0, 0
	for p := range t.each {
		partitions++
		if p.refusal() != 0 {
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
	ctx     context.Context
	clean   bool
	points  offsets
	starts  offsets
	cleaned offsets
	supply  map[commit.Key]supply // what the write-ahead log has
	byKey   map[commit.Key]*Partition
}

// supply is what the write-ahead log has of a partition.
type supply struct {
	ranges  []storage.Range
	durable int64 // a note says that the segments are durable up to here
}

func (o *opener) open(s *catalog.Snapshot) error {
	for _, step := range []func() error{o.prepare, o.readPoints, o.readSupply} {
		if err := step(); err != nil {
			return err
		}
	}
	if err := o.openTopics(s); err != nil {
		return err
	}
	if err := o.sortOut(s); err != nil {
		return err
	}
	return o.replay()
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

func (o *opener) readPoints() (err error) {
	for _, f := range []struct {
		to   *offsets
		name string
	}{{&o.points, recoveryPointFile}, {&o.starts, startOffsetFile}, {&o.cleaned, cleanedFile}} {
		if *f.to, err = readOffsets(o.opts.FS, filepath.Join(o.opts.Dir, f.name)); err != nil {
			return err
		}
	}
	return nil
}

// readSupply reads through the write-ahead log for the first time.
func (o *opener) readSupply() error {
	o.supply = map[commit.Key]supply{}
	return commit.Read(o.opts.FS, filepath.Join(o.opts.Dir, walDir), func(f commit.Frame) error {
		s := o.supply[f.Key]
		if f.Kind == commit.Note {
			s.durable = max(s.durable, f.Base)
		} else {
			s.add(f.Base, f.Last+1)
		}
		o.supply[f.Key] = s
		return nil
	})
}

// add joins a range to the last one where it can.
func (s *supply) add(from, to int64) {
	if n := len(s.ranges); n > 0 && s.ranges[n-1].To == from {
		s.ranges[n-1].To = to
		return
	}
	s.ranges = append(s.ranges, storage.Range{From: from, To: to})
}

// openTopics opens every partition that the catalog knows.
func (o *opener) openTopics(s *catalog.Snapshot) error {
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
				partitions[i] = o.openPartition(topic, int32(i))
				return o.ctx.Err()
			})
		}
	}
	err := group.Wait()
	o.topics.Store(index)
	o.syncDir()
	return err
}

func (o *opener) openPartition(topic *Topic, index int32) *Partition {
	name := dirName(topic.Name, index)
	dir := filepath.Join(o.opts.Dir, name)
	ours, err := o.claim(dir, topic.ID)
	if err != nil {
		return o.offline(topic, index, dir, err)
	}
	s := o.supply[commit.Key{Topic: topic.ID, Partition: index}]
	rec := storage.Recovery{DurableTo: s.durable, Resupply: s.ranges}
	if ours {
		rec.DurableTo, rec.StartOffset, rec.Clean = max(rec.DurableTo, o.points[name]), o.starts[name], o.clean
	}
	log, report, err := storage.Open(o.ctx, o.files, dir, storageOf(topic.Settings()), rec)
	if err != nil {
		return o.offline(topic, index, dir, err)
	}
	o.report(name, report)
	p := newPartition(o.Table, topic, index, dir, log, nil)
	if ours {
		p.cleaned.Store(o.cleaned[name])
	}
	return p
}

// report tells of what recovery has cut.
func (o *opener) report(name string, r storage.Report) {
	if r.Cut > 0 {
		o.opts.Logger.Info("cut the torn end of a log", "partition", name, "bytes", r.Cut, "end", r.CutFrom, "reason", r.CutReason)
	}
}

// offline is a partition that cannot be used. This is said once, here.
func (t *Table) offline(topic *Topic, index int32, dir string, reason error) *Partition {
	p := newPartition(t, topic, index, dir, nil, reason)
	t.opts.Logger.Error("a partition is offline", "partition", p.name(), "reason", reason)
	return p
}

// replay reads through the write-ahead log for the second time and opens it for writing.
func (o *opener) replay() error {
	o.byKey = map[commit.Key]*Partition{}
	for p := range o.each {
		o.byKey[p.key()] = p
	}
	cfg := o.opts.Commit
	cfg.SyncSegments = o.syncSegments
	committer, err := commit.Open(o.opts.FS, filepath.Join(o.opts.Dir, walDir), cfg, o.apply)
	if err != nil {
		return err
	}
	o.committing = committer
	for p := range o.each {
		o.settle(p)
	}
	return nil
}

// apply brings one frame into its segment. Frames of partitions that are gone, and of what the segment has, are passed
// over. One that begins beyond the log's end cannot be: what is between was durable once.
func (o *opener) apply(f commit.Frame) error {
	p := o.byKey[f.Key]
	if p == nil || p.state != online || f.Kind != commit.Data || f.Last < p.log.EndOffset() {
		return nil
	}
	if err := p.replay(f); err != nil {
		p.setState(offline, err)
		o.opts.Logger.Error("a partition is offline", "partition", p.name(), "reason", err)
	}
	return nil
}

func (p *Partition) replay(f commit.Frame) error {
	for batch, err := range record.Batches(f.Bytes) {
		if err != nil {
			return fmt.Errorf("replaying the write-ahead log, frame %d: %w", f.Seq, err)
		}
		h := batch.Header()
		switch end := p.log.EndOffset(); {
		case h.BaseOffset < end:
			continue
		case h.BaseOffset > end:
			return fmt.Errorf("the write-ahead log goes on at offset %d, but the log ends at %d: what is between is lost", h.BaseOffset, end)
		}
		if err := p.log.Write(batch, p.table.now()); err != nil {
			return fmt.Errorf("replaying the write-ahead log: %w", err)
		}
	}
	return nil
}

// settle ends the opening of a partition. What a relaxed mode left in the page cache before a crash of the process must be
// durable before the write-ahead log may go on from there; until Run has seen to it, appends are parked.
func (o *opener) settle(p *Partition) {
	if p.state != online {
		return
	}
	p.next = p.log.EndOffset()
	p.advance(p.next, &wakes{})
	if !p.relaxed && !o.covered(p) {
		p.relaxed, p.changing = true, true
	}
}

// covered says that everything which a power cut could take is in the write-ahead log.
func (o *opener) covered(p *Partition) bool {
	from, to := p.log.RecoveryPoint(), p.log.EndOffset()
	for _, r := range o.supply[p.key()].ranges {
		if r.From <= from {
			from = max(from, r.To)
		}
	}
	return from >= to
}

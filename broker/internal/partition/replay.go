package partition

import (
	"errors"
	"fmt"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"github.com/skeinstream/skein/broker/internal/commit"
	"github.com/skeinstream/skein/broker/internal/record"
	"github.com/skeinstream/skein/broker/internal/storage"
	"github.com/skeinstream/skein/internal/vfs"
)

// supply is what can be written again of a partition, since the write-ahead log has it, or since it was rescued from there.
type supply struct {
	ranges []storage.Range
	// durable: a note says that the segments are durable up to here.
	durable int64
	// promised: everything below was durable, in the segments or in what can be written again. Where the write-ahead log
	// goes on with a partition, all before has been durable.
	promised int64
	rescued  bool // there is a file of rescued batches
}

// readSupply reads through the write-ahead log for the first time.
func (o *opener) readSupply() error {
	gone, err := walGone(o.opts.FS, o.opts.Dir, o.clean)
	if gone {
		err = &commit.DamageError{File: filepath.Join(o.opts.Dir, walDir), Reason: walGoneReason}
	}
	if err != nil {
		return err
	}
	return o.supplyFrom(commit.Read)
}

func (o *opener) supplyFrom(read func(vfs.FS, string, func(commit.Frame) error) error) error {
	o.supply = map[commit.Key]supply{}
	return read(o.opts.FS, filepath.Join(o.opts.Dir, walDir), func(f commit.Frame) error {
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
	s.promised = max(s.promised, from)
	if n := len(s.ranges); n > 0 && s.ranges[n-1].To == from {
		s.ranges[n-1].To = to
		return
	}
	s.ranges = append(s.ranges, storage.Range{From: from, To: to})
}

// supplyOf is what can be written again of a partition, with what was rescued of it, which is older than what the
// write-ahead log has.
func (o *opener) supplyOf(key commit.Key, dir string) (supply, error) {
	o.mu.Lock()
	fromLog := o.supply[key]
	o.mu.Unlock()
	s := supply{durable: fromLog.durable}
	err := readRescued(o.opts.FS, dir, func(b record.Batch) error {
		s.add(b.Header().BaseOffset, b.Header().LastOffset()+1)
		s.rescued = true
		return nil
	})
	if err != nil || !s.rescued {
		return fromLog, err
	}
	for _, r := range fromLog.ranges {
		s.add(r.From, r.To)
	}
	s.promised = max(s.promised, fromLog.promised)
	o.mu.Lock()
	o.supply[key] = s
	o.mu.Unlock()
	return s, nil
}

// replay brings what was rescued, and then what the write-ahead log has, into the segments, and opens the log for writing.
func (o *opener) replay() error {
	o.byKey = map[commit.Key]*Partition{}
	for p := range o.each {
		o.byKey[p.Key()] = p
		if p.state == online && o.supply[p.Key()].rescued {
			o.applyRescued(p)
		}
	}
	if err := o.rescueOffline(); err != nil {
		return err
	}
	cfg := o.opts.Commit
	cfg.SyncSegments = o.syncSegments
	committer, err := commit.Open(o.opts.FS, filepath.Join(o.opts.Dir, walDir), cfg, o.apply)
	if err != nil {
		return err
	}
	o.committing = committer
	return o.settle()
}

// apply brings one frame into its segment. Frames of partitions that are gone, and of what the segment has, are passed
// over. What cannot be taken now stays in the write-ahead log.
func (o *opener) apply(f commit.Frame) error {
	p := o.byKey[f.Key]
	switch {
	case p == nil || f.Kind != commit.Data || o.rescued[f.Key]:
		return nil
	case p.state != online:
		return fmt.Errorf("%w: %w", commit.ErrKeep, p.reason)
	case f.Last < p.log.EndOffset():
		return nil
	}
	for batch, err := range record.Batches(f.Bytes) {
		if err == nil {
			err = p.replay(batch)
		}
		if errors.Is(err, storage.ErrSync) {
			return err
		}
		if err != nil {
			o.offline(p, fmt.Errorf("replaying the write-ahead log, frame %d: %w", f.Seq, err))
			return fmt.Errorf("%w: %w", commit.ErrKeep, err)
		}
	}
	return nil
}

// applyRescued does the same with what was saved while the partition was offline. The file stays until it is durable.
func (o *opener) applyRescued(p *Partition) {
	if err := readRescued(o.opts.FS, p.dir, p.replay); err != nil {
		o.offline(p, err)
	}
}

// replay writes a batch at the end of the log, unless the log has it. One that begins beyond the end cannot be: what is
// between was durable once.
func (p *Partition) replay(b record.Batch) error {
	base := b.Header().BaseOffset
	switch end := p.log.EndOffset(); {
	case base < end:
		return nil
	case base > end:
		return fmt.Errorf("it goes on at offset %d, but the log ends at %d: what is between is lost", base, end)
	}
	return p.log.Write(b, p.table.now())
}

// settle makes durable what readers are about to see, and what the write-ahead log may go on from: a process that was
// killed has left it in the page cache.
func (o *opener) settle() error {
	var group errgroup.Group
	group.SetLimit(max(1, o.opts.Broker().RecoveryThreads))
	for p := range o.each {
		if p.state != online {
			continue
		}
		p.next = p.log.EndOffset()
		p.advance(p.next, &wakes{})
		rescued := o.supply[p.Key()].rescued
		if rescued || !p.relaxed && !o.covered(p) {
			group.Go(func() error { return p.settle(rescued) })
		}
	}
	return group.Wait()
}

func (p *Partition) settle(rescued bool) error {
	if err := p.log.Sync(); err != nil || !rescued {
		return err
	}
	p.table.opts.Logger.Info("records that were saved while a partition was offline are in its log again", "partition", p.name())
	if err := p.table.opts.FS.Remove(filepath.Join(p.dir, rescuedFile)); err != nil { // it is passed over then
		p.table.opts.Logger.Warn("a file that is not needed any more cannot be removed", "partition", p.name(), "error", err)
	}
	return nil
}

// covered says that everything which a power cut could take is in the write-ahead log.
func (o *opener) covered(p *Partition) bool {
	return storage.Cover(o.supply[p.Key()].ranges, p.log.RecoveryPoint(), p.log.EndOffset())
}

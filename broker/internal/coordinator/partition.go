package coordinator

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/skeinstream/skein/broker/internal/machine"
	"github.com/skeinstream/skein/broker/internal/partition"
	"github.com/skeinstream/skein/broker/internal/record"
)

// PartitionLog is a Log in a partition. Its methods are called by one goroutine at a time.
type PartitionLog struct {
	opts      LogOptions
	partition *partition.Partition
	next      int64       // the offset that the next batch gets
	broken    atomic.Bool // an append has failed, and no replay has come since
	builder   *record.Builder
}

// LogOptions are what a PartitionLog needs to know.
type LogOptions struct {
	// Table has the partitions that groups of writes go to.
	Table *partition.Table
	// Codec is what the records are compressed with.
	Codec record.Codec
	Now   func() time.Time
}

// NewPartitionLog returns the log that a shard has in p. It is to be replayed before anything is appended.
func NewPartitionLog(p *partition.Partition, opts LogOptions) *PartitionLog {
	l := &PartitionLog{opts: opts, partition: p, builder: record.NewBuilder(0)}
	l.broken.Store(true)
	return l
}

// Replay implements Log.
func (l *PartitionLog) Replay(ctx context.Context, yield func(machine.Record) error) error {
	end, err := l.partition.Records(ctx, func(r record.Record) error {
		return yield(machine.Record{Key: r.Key, Value: r.Value})
	})
	if err != nil {
		return err
	}
	l.next = end
	l.broken.Store(false)
	return nil
}

// Refusal implements Log.
func (l *PartitionLog) Refusal() error { return l.partition.Barred() }

// Append implements Log. Several appends may be under way; each goes to the offset behind the one before, or fails.
func (l *PartitionLog) Append(records []machine.Record, group []machine.Write, done func(error)) {
	if l.broken.Load() {
		done(errBehind)
		return
	}
	if len(group) > 0 {
		l.appendGroup(records, group, done)
		return
	}
	a := &ownAppend{log: l, done: done}
	a.Records, a.Done = l.batch(records, machine.Producer{}), a
	at := l.next
	l.next += int64(len(records))
	l.partition.AppendAt(&a.Append, at)
}

var errBehind = fmt.Errorf("an append before has failed: %w", ErrNotCoordinator)

// ownAppend is an append to the shard's own partition alone.
type ownAppend struct {
	partition.Append
	log  *PartitionLog
	done func(error)
}

// Appended implements partition.Appended.
func (a *ownAppend) Appended(*partition.Append) { a.log.finish(a.Result.Err(), a.done) }

func (l *PartitionLog) finish(err error, done func(error)) {
	if err != nil {
		l.broken.Store(true)
	}
	done(err)
}

// appendGroup appends records and group as one. What is for partitions that are deleted needs not be written.
func (l *PartitionLog) appendGroup(records []machine.Record, group []machine.Write, done func(error)) {
	var shares []partition.Share
	if len(records) > 0 {
		shares = append(shares, l.share(l.partition, l.batch(records, machine.Producer{}), len(records)))
	}
	for _, w := range group {
		if p := l.find(w); p != nil {
			shares = append(shares, l.share(p, l.write(w), max(len(w.Records), 1)))
		}
	}
	l.opts.Table.AppendGroup(shares, func(err error) { l.finish(err, done) })
}

func (l *PartitionLog) find(w machine.Write) *partition.Partition {
	topic := l.opts.Table.Topic(w.Topic)
	if topic == nil {
		return nil
	}
	return topic.Partition(w.Partition)
}

// share is one batch of so many offsets for p.
func (l *PartitionLog) share(p *partition.Partition, batch record.Batch, offsets int) partition.Share {
	s := partition.Share{Partition: p, Records: batch, At: partition.Anywhere}
	if p == l.partition {
		s.At = l.next
		l.next += int64(offsets)
	}
	return s
}

// write is the batch of a write.
func (l *PartitionLog) write(w machine.Write) record.Batch {
	if w.Marker == nil {
		return l.batch(w.Records, w.Producer)
	}
	kind := record.Abort
	if w.Marker.Commit {
		kind = record.Commit
	}
	return record.ControlMarker(kind, w.Producer.ID, w.Producer.Epoch, w.Marker.CoordinatorEpoch, l.opts.Now().UnixMilli())
}

func (l *PartitionLog) batch(records []machine.Record, of machine.Producer) record.Batch {
	b := l.builder
	b.Reset(0)
	b.Codec = l.opts.Codec
	if of.Transactional {
		b.ProducerID, b.ProducerEpoch, b.Transactional = of.ID, of.Epoch, true
	}
	now := l.opts.Now().UnixMilli()
	for _, r := range records {
		b.Append(now, r.Key, r.Value)
	}
	return b.Bytes()
}

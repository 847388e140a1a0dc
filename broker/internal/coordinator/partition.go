package coordinator

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/skeinstream/skein/broker/internal/partition"
	"github.com/skeinstream/skein/broker/internal/record"
	"github.com/skeinstream/skein/internal/machine"
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
	end, err := l.partition.Records(ctx, func(r partition.Stored) error { return yield(recordOf(&r)) })
	if err != nil {
		return err
	}
	l.next = end
	l.broken.Store(false)
	return nil
}

// recordOf is what a machine is told of a record or a marker.
func recordOf(r *partition.Stored) machine.Record {
	of := machine.Producer{Transactional: true, ID: r.Batch.ProducerID, Epoch: r.Batch.ProducerEpoch}
	switch {
	case r.Marker != nil:
		return machine.Record{Producer: of, Marker: &machine.Marker{Commit: !r.Marker.Abort, CoordinatorEpoch: r.Marker.CoordinatorEpoch}}
	case r.Batch.Transactional():
		return machine.Record{Key: r.Key, Value: r.Value, Producer: of}
	}
	return machine.Record{Key: r.Key, Value: r.Value}
}

// Refusal implements Log.
func (l *PartitionLog) Refusal() error { return l.partition.Barred() }

// Append implements Log. Several appends may be under way; each goes to the offset behind the one before, or fails.
func (l *PartitionLog) Append(records []machine.Record, group []machine.Write, done func(error)) {
	switch {
	case l.broken.Load():
		done(errBehind)
	case len(group) > 0:
		if err := l.AppendLent(records, group, nil, done); err != nil {
			l.finish(err, done)
		}
	default:
		l.appendOwn(records, done)
	}
}

var errBehind = fmt.Errorf("an append before has failed: %w", ErrNotCoordinator)

// appendOwn appends records to the shard's own partition alone: a batch for each run of records, one behind the other.
func (l *PartitionLog) appendOwn(records []machine.Record, done func(error)) {
	run, rest := firstRun(records)
	if len(rest) > 0 {
		all := &runs{done: done, missing: 1 + countRuns(rest)}
		done = all.told
	}
	for len(run) > 0 {
		a := &ownAppend{log: l, done: done}
		a.Records, a.Done = l.run(run), a
		at := l.next
		l.next += int64(len(run))
		l.partition.AppendAt(&a.Append, at)
		run, rest = firstRun(rest)
	}
}

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

// AppendLent implements Log. What is for partitions that are deleted needs not be written.
func (l *PartitionLog) AppendLent(records []machine.Record, group []machine.Write, lent []Log, done func(error)) error {
	logs := []*PartitionLog{l}
	for _, other := range lent {
		logs = append(logs, other.(*PartitionLog))
	}
	places := make([]int64, len(logs))
	for i, one := range logs {
		if one.broken.Load() {
			return errBehind
		}
		places[i] = one.next
	}
	err := l.opts.Table.AppendGroup(l.shares(records, group, logs), func(err error) {
		for _, one := range logs {
			if err != nil {
				one.broken.Store(true)
			}
		}
		done(err)
	})
	if err != nil {
		for i, one := range logs {
			one.next = places[i]
		}
	}
	return err
}

// shares is what each partition gets of a group.
func (l *PartitionLog) shares(records []machine.Record, group []machine.Write, logs []*PartitionLog) (shares []partition.Share) {
	for run, rest := firstRun(records); len(run) > 0; run, rest = firstRun(rest) {
		shares = append(shares, share(l.partition, l.run(run), len(run), logs))
	}
	for _, w := range group {
		if p := l.find(w); p != nil {
			shares = append(shares, share(p, l.write(w), max(len(w.Records), 1), logs))
		}
	}
	return shares
}

func (l *PartitionLog) find(w machine.Write) *partition.Partition {
	topic := l.opts.Table.Topic(w.Topic)
	if topic == nil {
		return nil
	}
	return topic.Partition(w.Partition)
}

// share is one batch of so many offsets for p. In the partition of a log it goes where that log expects its end.
func share(p *partition.Partition, batch record.Batch, offsets int, logs []*PartitionLog) partition.Share {
	s := partition.Share{Partition: p, Records: batch, At: partition.Anywhere}
	for _, l := range logs {
		if p == l.partition {
			s.At = l.next
			l.next += int64(offsets)
		}
	}
	return s
}

// write is the batch of a write.
func (l *PartitionLog) write(w machine.Write) record.Batch {
	if w.Marker == nil {
		return l.batch(w.Records, w.Producer)
	}
	return l.marker(w.Producer, w.Marker)
}

// run is the batch of a run of records.
func (l *PartitionLog) run(records []machine.Record) record.Batch {
	if m := records[0].Marker; m != nil {
		return l.marker(records[0].Producer, m)
	}
	return l.batch(records, records[0].Producer)
}

func (l *PartitionLog) marker(of machine.Producer, m *machine.Marker) record.Batch {
	kind := record.Abort
	if m.Commit {
		kind = record.Commit
	}
	return record.ControlMarker(kind, of.ID, of.Epoch, m.CoordinatorEpoch, l.opts.Now().UnixMilli())
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
	if b.Size() > builderBytes {
		l.builder = record.NewBuilder(0)
	}
	return b.Bytes()
}

// builderBytes is the largest batch whose memory is kept for the next one. The record of one large group must not cost its
// size for ever.
const builderBytes = 4 * flightBytes

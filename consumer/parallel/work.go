package parallel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/skeinstream/skein/consumer"
	"github.com/skeinstream/skein/consumer/internal/acks"
)

// Work knows which records of a consumer are being worked on. Its methods may be called by several goroutines.
type Work struct {
	c    *consumer.Consumer
	log  *slog.Logger
	next consumer.Listener // the user's
	crew crew

	committing chan struct{} // held by who commits: a later look at what is done is not overtaken by an earlier one
	mu         sync.Mutex
	partitions map[consumer.TopicPartition]*ledger
	over       chan struct{} // closed when a record is over; nil while nobody waits for that
}

// crew are the workers that a Processor has.
type crew interface {
	// shorten takes back what need not be worked on before partitions are given up.
	shorten([]consumer.TopicPartition)
	// abort ends the work on partitions as soon as it can.
	abort([]consumer.TopicPartition, error)
	// dismiss forgets partitions. The lock is held.
	dismiss([]consumer.TopicPartition)
}

// noCrew is of a program whose goroutines are its own.
type noCrew struct{}

func (noCrew) shorten([]consumer.TopicPartition)      {}
func (noCrew) abort([]consumer.TopicPartition, error) {}
func (noCrew) dismiss([]consumer.TopicPartition)      {}

// ledger is one partition's.
type ledger struct {
	acks      acks.Tracker
	underWay  int
	committed acks.Point // as the group has it, unless it is zero
}

// Open makes a consumer, as consumer.New does, and the work on its records. Commits are the work's, by Commit: what cfg says of
// committing has no effect. The functions of cfg.Listener are called when what they are to do is safe: Revoked once the work on the
// partitions is over and committed.
func Open(cfg consumer.Config) (*consumer.Consumer, *Work, error) {
	w := newWork(&cfg)
	c, err := consumer.New(cfg)
	if err != nil {
		return nil, nil, err
	}
	w.c = c
	return c, w, nil
}

// newWork changes cfg so that its consumer asks the work before it gives partitions up. The consumer is to be set.
func newWork(cfg *consumer.Config) *Work {
	w := &Work{
		log:        cmp.Or(cfg.Logger, cfg.Cluster.Logger, slog.New(slog.DiscardHandler)),
		next:       cfg.Listener,
		partitions: map[consumer.TopicPartition]*ledger{},
		crew:       noCrew{},
		committing: make(chan struct{}, 1),
	}
	cfg.ManualCommit = true
	cfg.Listener.Revoked, cfg.Listener.Lost = w.revoked, w.lost
	return w
}

// Begin says that all records of a batch are under way. It is called between the Poll that returned it and the next one.
func (w *Work) Begin(b consumer.Batch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range b.Partitions {
		w.begin(&b.Partitions[i])
	}
}

// begin says whether the consumer was sent back by Seek: what was known of the partition is of another reading.
func (w *Work) begin(b *consumer.PartitionBatch) (again bool) {
	l := w.partitions[b.TopicPartition]
	if l == nil {
		l = new(ledger)
		w.partitions[b.TopicPartition] = l
	}
	for _, r := range b.Records {
		if !l.acks.Take(r.Offset, r.LeaderEpoch) {
			again = true
			*l = ledger{}
			l.acks.Take(r.Offset, r.LeaderEpoch)
		}
		l.underWay++
	}
	return again
}

// Done says that the work on a record has come to its good end: it may be committed, once all before it are. Of a partition that was given
// up meanwhile nothing is committed.
func (w *Work) Done(r *consumer.Record) { w.DoneWith(r, "") }

// DoneWith is Done with metadata for the commit: those of the last record that has any go with the offset.
func (w *Work) DoneWith(r *consumer.Record, metadata string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end(r, func(l *ledger) bool { return l.acks.Ack(r.Offset, metadata) })
}

// Failed says that the work on a record is over, and that it is not done: nothing from it on is committed, so that the partition's next owner
// reads it again.
func (w *Work) Failed(r *consumer.Record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end(r, func(l *ledger) bool { return l.acks.IsOpen(r.Offset) })
}

func (w *Work) end(r *consumer.Record, how func(*ledger) bool) {
	l := w.partitions[partitionOf(r)]
	if l == nil || !how(l) {
		return
	}
	l.underWay--
	w.wake()
}

// wake has those look again who wait for records to be over.
func (w *Work) wake() {
	if w.over != nil {
		close(w.over)
		w.over = nil
	}
}

func partitionOf(r *consumer.Record) consumer.TopicPartition {
	return consumer.TopicPartition{Topic: r.Topic, Partition: r.Partition}
}

// UnderWay counts the records of partitions that are being worked on; of all without any.
func (w *Work) UnderWay(list ...consumer.TopicPartition) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.underWay(list)
}

func (w *Work) underWay(list []consumer.TopicPartition) (n int) {
	if len(list) == 0 {
		for _, l := range w.partitions {
			n += l.underWay
		}
	}
	for _, p := range list {
		if l := w.partitions[p]; l != nil {
			n += l.underWay
		}
	}
	return n
}

// Drain waits until no record of partitions is under way any more; of all without any. It fails when ctx ends first.
func (w *Work) Drain(ctx context.Context, list ...consumer.TopicPartition) error {
	for {
		w.mu.Lock()
		n := w.underWay(list)
		if w.over == nil {
			w.over = make(chan struct{})
		}
		over := w.over
		w.mu.Unlock()
		if n <= 0 {
			return nil
		}
		select {
		case <-over:
		case <-ctx.Done():
			return fmt.Errorf("%d records are still being worked on: %w", n, context.Cause(ctx))
		}
	}
}

// Commit commits what may be: of each partition up to its first record that is not done. It may be called while records are under
// way. An error that will pass, consumer.ErrRebalanceInProgress, and one that comes too late to matter, consumer.ErrCommitFailed, are none: what
// was not committed is so by the next Commit, or is the next owner's to read.
func (w *Work) Commit(ctx context.Context) error { return w.commit(ctx, nil) }

// commit is Commit for some partitions; nil is all.
func (w *Work) commit(ctx context.Context, list []consumer.TopicPartition) error {
	select {
	case w.committing <- struct{}{}:
		defer func() { <-w.committing }()
	case <-ctx.Done():
		return fmt.Errorf("committing what is done: %w", context.Cause(ctx))
	}
	points := w.points(list)
	if len(points) == 0 {
		return nil
	}
	offsets := consumer.Offsets{}
	for p, at := range points {
		offsets[p] = consumer.Offset{At: at.At, LeaderEpoch: at.LeaderEpoch, Metadata: at.Metadata}
	}
	err := w.c.CommitOffsets(ctx, offsets)
	switch {
	case errors.Is(err, consumer.ErrRebalanceInProgress), errors.Is(err, consumer.ErrCommitFailed), errors.Is(err, consumer.ErrNotOwned):
		w.log.Info("a commit came while the group rebalances", "error", err)
		return nil
	case err != nil:
		return fmt.Errorf("committing what is done: %w", err)
	}
	w.committed(points)
	return nil
}

// points are what the group does not have yet.
func (w *Work) points(list []consumer.TopicPartition) map[consumer.TopicPartition]acks.Point {
	w.mu.Lock()
	defer w.mu.Unlock()
	points := map[consumer.TopicPartition]acks.Point{}
	add := func(p consumer.TopicPartition, l *ledger) {
		if at, ok := l.acks.Point(); ok && at != l.committed {
			points[p] = at
		}
	}
	if list == nil {
		for p, l := range w.partitions {
			add(p, l)
		}
	}
	for _, p := range list {
		if l := w.partitions[p]; l != nil {
			add(p, l)
		}
	}
	return points
}

func (w *Work) committed(points map[consumer.TopicPartition]acks.Point) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for p, at := range points {
		if l := w.partitions[p]; l != nil {
			l.committed = at
		}
	}
}

package cli

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/skeinstream/skein/cli/internal/problem"
	"github.com/skeinstream/skein/cli/internal/recordtext"
)

// sender sends the records of all sources, in order, and keeps the account.
type sender struct {
	cl       *kgo.Client
	plan     producePlan
	progress *progress
	stop     context.CancelFunc // ends reading
	each     *eachWriter
	pace     pace

	sent, settled atomic.Int64  // records handed to the client; those of them that it has reported
	silence       chan struct{} // closed when the cluster has acknowledged nothing for too long

	mu    sync.Mutex
	first *failure // the failed record that was read first
}

// errSilence fails the records that were on their way when the patience ended.
var errSilence = errors.New("no acknowledgement")

type failure struct {
	seq    int64 // in reading order
	source source
	line   int
	err    error
}

// sendAll reads until the end, the first failure or an interrupt, and then
// waits for what is on its way. It returns an error only for an interrupt;
// failures are in s.failure.
func (s *sender) sendAll(ctx context.Context, sources []source) error {
	reading, stop := context.WithCancel(ctx)
	defer stop()
	s.stop, s.silence = stop, make(chan struct{})
	watching, unwatch := context.WithCancel(context.WithoutCancel(ctx))
	var watcher sync.WaitGroup
	watcher.Go(func() { s.watch(watching) })
	defer watcher.Wait()
	defer unwatch()
	// Reading standard input cannot be interrupted: when the user gives up,
	// this goroutine stays behind in Read and ends with the process.
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.pump(reading, sources)
	}()
	select {
	case <-done:
	case <-reading.Done():
	}
	if ctx.Err() == nil {
		_ = s.cl.Flush(ctx)
	}
	if ctx.Err() != nil { // an interrupt, while reading or flushing
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), interruptFlush)
		defer cancel()
		_ = s.cl.Flush(last)
	}
	return ctx.Err()
}

// watch gives up when records are on their way and none is acknowledged for as
// long as the plan has patience. Closing the client fails them all.
//
// The client has a delivery timeout of its own, but counts it from a record's
// timestamp, which for us is whatever the input says.
func (s *sender) watch(ctx context.Context) {
	tick := time.NewTicker(max(s.plan.patience/20, time.Millisecond))
	defer tick.Stop()
	var settled int64
	last := s.progress.now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now, done := s.progress.now(), s.settled.Load()
		if done != settled || done == s.sent.Load() {
			settled, last = done, now
		}
		if now.Sub(last) >= s.plan.patience {
			close(s.silence)
			s.cl.Close()
			return
		}
	}
}

func (s *sender) gaveUp() bool {
	select {
	case <-s.silence:
		return true
	default:
		return false
	}
}

func (s *sender) pump(ctx context.Context, sources []source) {
	var seq int64
	// What was read is sent, whatever ends the reading.
	sending := context.WithoutCancel(ctx)
	for _, src := range sources {
		r := s.plan.reader(src.r)
		for ctx.Err() == nil {
			record, err := r.Read()
			if err == io.EOF {
				break
			}
			seq++
			s.pace.wait(ctx)
			if err != nil {
				s.failRead(seq, src, r, err)
				return
			}
			s.send(sending, failure{seq: seq, source: src, line: r.Line()}, record)
		}
	}
}

func (s *sender) failRead(seq int64, src source, r recordtext.Reader, err error) {
	line := r.Line() + 1
	if e, ok := errors.AsType[*recordtext.LineError](err); ok {
		line, err = e.Line, e.Err
	}
	s.fail(failure{seq, src, line, err})
}

// send hands a record to the client; at is where it was read.
func (s *sender) send(ctx context.Context, at failure, record *kgo.Record) {
	s.plan.complete(record)
	if at.err = s.plan.checkPartition(record.Partition); at.err != nil {
		s.fail(at)
		return
	}
	size := recordBytes(record)
	s.sent.Add(1)
	s.cl.Produce(ctx, record, func(r *kgo.Record, err error) {
		defer s.settled.Add(1)
		switch {
		case err == nil:
			s.progress.add(1, size)
			if s.plan.unconfirmed {
				r.Offset = -1
			}
			s.each.tell(at, r)
		case s.gaveUp():
			at.err = errSilence
			s.fail(at)
		default:
			at.err = err
			s.fail(at)
		}
	})
}

// fail keeps the failure that came first in reading order and stops reading.
func (s *sender) fail(f failure) {
	s.mu.Lock()
	if s.first == nil || f.seq < s.first.seq {
		s.first = &f
	}
	s.mu.Unlock()
	s.stop()
}

func (s *sender) failure() *failure {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.first
}

// complete adds what the flags say to a record that was read.
func (p producePlan) complete(r *kgo.Record) {
	if r.Key == nil {
		r.Key = p.key
	}
	r.Headers = append(r.Headers, p.headers...)
	if p.repartition || r.Partition < 0 {
		r.Partition = p.partition
	}
	if r.Timestamp.IsZero() {
		r.Timestamp = p.timestamp
	}
}

// checkPartition refuses partitions that the topic does not have.
func (p producePlan) checkPartition(partition int32) error {
	if p.partitions == 0 || int(partition) < p.partitions {
		return nil
	}
	return problem.New("--repartition ignores the partitions in the input and chooses by key", "%w", noPartition(p.topic, partition, p.partitions))
}

func recordBytes(r *kgo.Record) int64 {
	n := len(r.Key) + len(r.Value)
	for _, h := range r.Headers {
		n += len(h.Key) + len(h.Value)
	}
	return int64(n)
}

// partitioner lets records that name their partition have it, and hands the
// others to inner.
type partitioner struct{ inner kgo.Partitioner }

func (p partitioner) ForTopic(topic string) kgo.TopicPartitioner {
	return topicPartitioner{p.inner.ForTopic(topic)}
}

type topicPartitioner struct{ inner kgo.TopicPartitioner }

func (p topicPartitioner) RequiresConsistency(r *kgo.Record) bool {
	return r.Partition >= 0 || p.inner.RequiresConsistency(r)
}

func (p topicPartitioner) Partition(r *kgo.Record, n int) int {
	if r.Partition >= 0 {
		return int(r.Partition)
	}
	return p.inner.Partition(r, n)
}

// PartitionByBackup is what the client calls for partitioners that look at
// how much is buffered, as the inner one may.
func (p topicPartitioner) PartitionByBackup(r *kgo.Record, n int, backup kgo.TopicBackupIter) int {
	inner, ok := p.inner.(kgo.TopicBackupPartitioner)
	if r.Partition >= 0 || !ok {
		return p.Partition(r, n)
	}
	return inner.PartitionByBackup(r, n, backup)
}

package partition

import (
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/skeinstream/skein/broker/internal/producers"
	"github.com/skeinstream/skein/broker/internal/storage"
)

// state is what a partition can do.
type state int32

const (
	online state = iota
	offline
	deleted
)

// code is the error of every access in that state.
func (s state) code() int16 {
	switch s {
	case offline:
		return kerr.KafkaStorageError.Code
	case deleted:
		return kerr.UnknownTopicOrPartition.Code
	default:
		return 0
	}
}

// Partition is one partition of one topic. Its methods may be called from any goroutine.
type Partition struct {
	table *Table
	topic *Topic
	index int32
	dir   string       // path of the log
	epoch int32        // leader epoch: the number of this start of the broker
	log   *storage.Log // nil when it could not be opened; then the state is not online

	// Readers take these without a lock. Both only grow, except that the last stable offset may stand still.
	highWatermark atomic.Int64
	lastStable    atomic.Int64
	current       atomic.Int32 // copy of state, for a quick look
	cleaned       atomic.Int64 // up to where the log is compacted
	cleanAfter    atomic.Int64 // ms: not to be compacted before
	stuck         atomic.Bool  // what is durable in the write-ahead log cannot be brought into the segment
	said          said         // while log is nil
	troubles      troubles     // with the files of log
	unmade        atomic.Bool  // there is nothing of it yet, and log may still be written

	mu      sync.Mutex // guards what follows, and the order of writes to the log and to the committer
	state   state
	reason  error // why it is offline
	next    int64 // offset of the next append
	relaxed bool  // appends go to the page cache at once: modes interval and os
	pending int   // appends that the committer has
	unflushed
	underway chain   // those of the pending that may still be committed, by offset
	overlay  overlay // of those under way
	endings  endings // of transactions, for guards
	awaited  awaited // of producers that the log does not know
	repeats  chain   // duplicates of those under way
	parked   chain   // appends that wait for changing to end
	waiters  waiters
	// changing is set while the mode of durability changes: from when appends are parked until what came before is durable.
	changing bool
	// heldUntil is until when a strict partition whose mode is relaxed does not follow it.
	heldUntil time.Time
}

// newPartition is a partition that is offline: its log has not been opened.
func (t *Table) newPartition(topic *Topic, index int32) *Partition {
	dir := filepath.Join(t.opts.Dir, dirName(topic.Name, index))
	p := &Partition{table: t, topic: topic, index: index, dir: dir, epoch: t.opts.LeaderEpoch}
	p.setState(offline, errUnopened)
	return p
}

var errUnopened = errors.New("it is being opened")

// online begins to serve the log, unless the partition was deleted meanwhile.
func (p *Partition) online() {
	var woken wakes
	p.mu.Lock()
	if p.state == offline {
		p.next = p.log.EndOffset()
		p.relaxed = p.topic.state.Load().relaxed()
		p.advance(p.next, &woken)
		p.setState(online, nil)
	}
	p.mu.Unlock()
	woken.wake()
}

// Topic is the topic that the partition belongs to.
func (p *Partition) Topic() *Topic { return p.topic }

// Index is the partition's number in its topic.
func (p *Partition) Index() int32 { return p.index }

// LeaderEpoch is the epoch that appends are stamped with.
func (p *Partition) LeaderEpoch() int32 { return p.epoch }

// HighWatermark is the offset below which everything may be read.
func (p *Partition) HighWatermark() int64 { return p.highWatermark.Load() }

// LastStableOffset is the offset below which no transaction is open.
func (p *Partition) LastStableOffset() int64 { return p.lastStable.Load() }

// bound is where a reader must stop.
func (p *Partition) bound(committed bool) int64 {
	if committed {
		return p.lastStable.Load()
	}
	return p.highWatermark.Load()
}

// Refusal is the code that every access is refused with, 0 while the partition works.
func (p *Partition) Refusal() int16 { return state(p.current.Load()).code() }

// Dir is the directory of the partition's log.
func (p *Partition) Dir() string { return p.dir }

// Deleted reports whether the partition is gone, so that whoever kept it should look for another of the name.
func (p *Partition) Deleted() bool { return state(p.current.Load()) == deleted }

// Offline returns why the partition cannot be used, nil when it can.
func (p *Partition) Offline() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reason
}

// Size is the bytes of the log's segments.
func (p *Partition) Size() int64 {
	if p.Refusal() != 0 {
		return 0
	}
	return p.log.Size()
}

// Segments is how many segments the log has.
func (p *Partition) Segments() int {
	if p.Refusal() != 0 {
		return 0
	}
	return p.log.Segments()
}

// StartOffset is the first offset that may be read.
func (p *Partition) StartOffset() int64 {
	if p.Refusal() != 0 {
		return 0
	}
	return p.log.StartOffset()
}

// Producers is every producer that the log remembers, by id.
func (p *Partition) Producers() ([]producers.Entry, int16) {
	if code := p.Refusal(); code != 0 {
		return nil, code
	}
	return p.log.Producers(), 0
}

// FirstOpen is the producer of the transaction that committed readers wait for; ok is false without one.
func (p *Partition) FirstOpen() (e producers.Entry, ok bool) {
	if p.Refusal() != 0 || p.LastStableOffset() == p.HighWatermark() {
		return producers.Entry{}, false
	}
	return p.log.FirstOpen()
}

// Producer is what is known of one producer, with what it has under way.
func (p *Partition) Producer(id int64) producers.Entry {
	if p.Refusal() != 0 {
		return producers.New(id)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.producer(id)
}

// CheckEpoch compares the leader epoch that a client knows with the partition's; -1 is none (KIP-320).
func (p *Partition) CheckEpoch(known int32) int16 {
	switch {
	case known == -1 || known == p.epoch:
		return 0
	case known < p.epoch:
		return kerr.FencedLeaderEpoch.Code
	default:
		return kerr.UnknownLeaderEpoch.Code
	}
}

// setState changes what the partition can do and returns who must hear of it. The caller holds p.mu, or owns p alone.
func (p *Partition) setState(s state, reason error) (woken wakes) {
	p.state, p.reason = s, reason
	p.current.Store(int32(s))
	p.waiters.takeAll(&woken)
	return woken
}

// producer is what is known of a producer, pending batches included. The caller holds p.mu.
func (p *Partition) producer(id int64) producers.Entry {
	if e, ok := p.overlay.get(id); ok {
		return e
	}
	return p.log.Producer(id)
}

// advance moves the high watermark, and the last stable offset with it. The caller holds p.mu.
func (p *Partition) advance(to int64, woken *wakes) {
	stable := to
	if first, open := p.log.FirstUnstable(); open {
		stable = min(to, max(first, p.log.StartOffset()))
	}
	p.lastStable.Store(stable)
	p.highWatermark.Store(to)
	p.waiters.takeBelow(to, stable, woken)
}

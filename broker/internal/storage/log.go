package storage

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/skeinstream/skein/broker/internal/producers"
	"github.com/skeinstream/skein/internal/vfs"
)

// ErrOffsetOutOfRange is for offsets below the log's start or above its end.
var ErrOffsetOutOfRange = errors.New("offset is out of range")

// ErrClosed is returned by a log that was closed or deleted.
var ErrClosed = errors.New("log is closed")

// Log is one partition's log. Its methods may be called by any number of
// goroutines, save that Write wants one caller at a time to make sense.
//
// Who may do what: the holder of writing appends, rolls and replaces the list of
// segments, and is held up by nothing but the page cache, save by making the files of
// a new segment and by taking back a write that failed; the holder of upkeep
// takes segments out of the log and puts cleaned ones in; the holder of syncing
// waits for the disk. Readers take the list as it is. Where two are held, upkeep
// or syncing was taken first, then writing, then mu.
type Log struct {
	files *Files
	fs    vfs.FS
	dir   string
	cfg   atomic.Pointer[Config]

	segments atomic.Pointer[[]*segment] // by base, the last is active; never empty
	start    atomic.Int64
	end      atomic.Int64
	point    atomic.Int64 // recovery point
	epochs   atomic.Pointer[[]epoch]
	closed   atomic.Bool
	trouble  atomic.Pointer[error]
	broken   atomic.Pointer[error] // an ErrSync, which is final

	writing sync.Mutex
	upkeep  turn
	syncing turn

	mu        sync.Mutex // guards what follows, for moments
	producers producers.Table
	unsynced  []*segment // sealed, not durable yet, oldest first
	snapshots []int64    // offsets of the producer snapshots there are, ascending
	since     int64      // bytes written since the newest of them
	deleted   []deletion // waiting for Reap
	changed   changes
}

// changes is what Sync has to make durable besides segments.
type changes struct {
	parent bool // the directory is new
	dir    bool // files are new
	epochs bool
}

// turn is a right that may be kept while waiting for the disk, which a mutex may
// not: it is free when the channel is empty.
type turn chan struct{}

func (t turn) take() { t <- struct{}{} }
func (t turn) give() { <-t }

func newLog(files *Files, dir string, cfg Config) *Log {
	l := &Log{files: files, fs: files.fs, dir: dir, upkeep: make(turn, 1), syncing: make(turn, 1)}
	l.cfg.Store(&cfg)
	l.segments.Store(new([]*segment))
	l.epochs.Store(new([]epoch))
	return l
}

// EndOffset is the offset that the next batch gets: everything below is in segments.
func (l *Log) EndOffset() int64 { return l.end.Load() }

// StartOffset is the first offset that may be read.
func (l *Log) StartOffset() int64 { return l.start.Load() }

// RecoveryPoint is the offset below which everything is durable.
func (l *Log) RecoveryPoint() int64 { return l.point.Load() }

// Config is the configuration in force.
func (l *Log) Config() Config { return *l.cfg.Load() }

// Reconfigure changes the configuration of the running log.
func (l *Log) Reconfigure(cfg Config) { l.cfg.Store(&cfg) }

// Size is the bytes of all segments.
func (l *Log) Size() int64 {
	total := int64(0)
	for _, s := range *l.segments.Load() {
		total += s.size.Load()
	}
	return total
}

// Segments is how many segments there are, the active one included.
func (l *Log) Segments() int { return len(*l.segments.Load()) }

// Producer is what the batches written say of a producer; producers.New when
// nothing is known.
func (l *Log) Producer(id int64) producers.Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.producers.Lookup(id)
}

// Producers is every producer known, by id.
func (l *Log) Producers() []producers.Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.producers.All()
}

// FirstUnstable is the first offset of the oldest open transaction; ok is false
// when none is open.
func (l *Log) FirstUnstable() (offset int64, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.producers.FirstUnstable()
}

// FirstOpen is the producer of the oldest open transaction; ok is false when
// none is open.
func (l *Log) FirstOpen() (e producers.Entry, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.producers.FirstOpen()
}

// ExpireProducers forgets producers that have been silent for ttl ms, unless a
// transaction of theirs is open, and returns how many.
func (l *Log) ExpireProducers(now, ttl int64) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.producers.Expire(now, ttl)
}

// EndOffsetForEpoch answers OffsetForLeaderEpoch (T11): the largest epoch not
// above the one asked for, and where it ended; -1, -1 when the epoch is not known.
// current is the partition's leader epoch now, which may have written nothing
// yet, or -1.
func (l *Log) EndOffsetForEpoch(asked, current int32) (epoch int32, end int64) {
	return endOfEpoch(*l.epochs.Load(), asked, current, l.EndOffset())
}

// EpochAt is the leader epoch in which an offset was written, -1 when not known.
func (l *Log) EpochAt(offset int64) int32 { return epochAt(*l.epochs.Load(), offset) }

func (l *Log) active() *segment {
	list := *l.segments.Load()
	return list[len(list)-1]
}

// wrap says what went wrong in which log, and remembers what is final.
func (l *Log) wrap(act string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", act, l.dir, l.final(err))
}

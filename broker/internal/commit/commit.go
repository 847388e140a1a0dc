// Package commit makes appends of all partitions durable together: it stands between the partitions, which assign offsets,
// and the segments of their logs.
//
// The plain way is one fdatasync an append. With many partitions and small batches the disk then does nothing else. So
// appends wait in one queue, and a round takes all that wait, makes it durable with as few syncs as it can, and starts
// again as soon as it has ended; nobody waits for a timer. In a round each partition takes one of two roads:
//
//   - Road A, for small appends and for atomic groups over several partitions: the batches go as frames into a shared
//     write-ahead log, one fdatasync covers them all, and only then are they written to their segments, without a sync.
//     So no segment ever holds bytes of road A that the log lacks, and a power cut cannot leave half a group behind.
//   - Road B, for a partition with much to write: straight to its segment, which is synced itself, without writing twice.
//
// Rounds follow one another, so a partition is never on both roads at once, and what is durable of it is always a prefix.
//
// What fails, and how: when the log or a segment cannot be written before the sync, the writes concerned fail, may be
// tried again, and service goes on. When a sync fails nobody knows what is on the disk: every waiter of the round and of
// the queue gets that same error, and the committer is dead. When a segment cannot be written after its bytes are durable
// in the log, they are committed, and stay in memory until the segment takes them.
//
// docs/format/wal.md has the bytes of the log.
package commit

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/skeinstream/skein/internal/vfs"
)

var (
	// ErrNotWritten is wrapped by errors of writes that did not reach the disk and may be tried again, as on a full disk.
	ErrNotWritten = errors.New("not written")
	// ErrFatal is wrapped by the error that killed the committer. A Target returns an error that wraps it from WriteSegment
	// when a sync in there failed.
	ErrFatal = errors.New("commit log is dead")
	// ErrClosed is what Enqueue says after Shutdown, and what writes get that Shutdown had no time for.
	ErrClosed = errors.New("commit log is closed")
	// ErrKeep is wrapped by what replay returns for a frame that its partition cannot take now. The replay goes on; the frame
	// stays in the log, and everything after it, until a later start has replayed it.
	ErrKeep = errors.New("the frame must stay in the log")
	// ErrGone is wrapped by what a Target returns from WriteSegment when its partition has been deleted. Nothing of it is
	// tried again.
	ErrGone = errors.New("partition is gone")
)

// Key names a partition in the log.
type Key struct {
	Topic     [16]byte
	Partition int32
}

// Target is a partition as the committer sees it, a pointer or otherwise comparable. Its methods are never called
// concurrently with one another and never from within Enqueue, so they may take the lock under which the partition
// enqueues. They hold up everybody else's commits, so they do not wait for anything but the disk. Slices of writes are
// valid during the call only.
type Target interface {
	Key() Key
	// WriteSegment writes the bytes to the segment, in order and without sync. A write that failed is tried again with the
	// same bytes if they are durable in the log already, otherwise Failed follows. It must leave nothing that a recovery
	// could take for batches, since others may get the same offsets and go through the log: what it has written of them is
	// cut away again, durably, or the error is fatal.
	WriteSegment(w *Write) error
	// SyncSegment makes durable everything that WriteSegment has written. Its error is fatal.
	SyncSegment() error
	// Committed says that the writes are durable and in the segment.
	Committed(ws []*Write)
	// Failed says that the writes, which are consecutive, are not committed: the next append of the partition takes the
	// offset ws[0].Base. Writes below that may still be under way, and Committed follows for them. Everything that the
	// partition has enqueued behind ws before it takes back the offset fails too, by Dropped.
	// After ErrFatal and ErrClosed it is unknown whether they will be there after a restart.
	Failed(ws []*Write, err error)
	// Dropped says that the writes are not committed because they stood behind one that failed. Failed has already been
	// called for that one, so there is nothing to restore, only to answer.
	Dropped(ws []*Write, err error)
}

// Write is one append: whole batches with their final offsets.
type Write struct {
	Target     Target
	Base, Last int64  // offsets
	Bytes      []byte // not to be changed until Committed, Failed or Dropped
	Position   int64  // where in the segment the bytes go, a hint for people who read the log; -1: unknown
	// Relaxed leaves durability to the operating system: the write waits for no sync. It still goes through the log when it
	// belongs to a group, so that a group stays whole if the process is killed, though not if the machine is.
	Relaxed bool
	// Tag belongs to the target.
	Tag any

	index, count int   // place in the group; count 0: no group
	lane         *lane // set while a round works on it
}

func (w *Write) grouped() bool { return w.count > 0 }

// members is how many writes of the queue, from this first one on, stand and fall together.
func (w *Write) members() int { return max(1, w.count) }

// Committer owns the write-ahead log and runs the rounds.
type Committer struct {
	cfg Config
	wal *wal

	// Owned by the goroutine of Run.
	lanes  map[Key]*lane
	active []*lane  // of this round, in order of their first write
	taken  []*Write // of this round, in order of the queue
	stuck  []*lane  // with writes that are durable, but not in their segment
	batch  []*Write
	rest   []*Write // of batch, not yet in a round
	notes  []note   // of the last round, for the log of the next
	stats  RoundStats

	wake       chan struct{} // there is work in the fields below
	chores     chan struct{} // the housekeeper should look around
	checkpoint chan struct{} // held by the one checkpoint at a time, and for ever after the last round
	always     chan struct{} // closed
	ended      chan struct{} // closed when there will be no more rounds
	done       chan struct{} // closed when Run has returned
	unsaved    atomic.Int64  // bytes of log since the last checkpoint
	recovered  atomic.Bool   // there has been none since what was replayed

	mu      sync.Mutex // guards what follows
	queue   []*Write
	rolls   []chan uint64
	err     error // no more writes are taken, and why
	fatal   error // a sync outside of rounds failed
	closing bool
	aborted bool
	started bool
}

type note struct {
	key Key
	to  int64
}

// Open replays the log in dir, which is made when missing, and opens it for writing. Replay gets, in order, the frames of
// all rounds that may have been answered; its error ends Open, save ErrKeep. A torn last round is left out without a word;
// anything else that cannot be read is a *DamageError, and then nothing has been changed. What was replayed is durable in
// the log, not in segments; it is replayed again until a checkpoint, which Run makes at once if SyncSegments is set.
func Open(fs vfs.FS, dir string, cfg Config, replay func(Frame) error) (*Committer, error) {
	cfg = cfg.withDefaults()
	wal, err := openWAL(fs, dir, cfg, replay)
	if err != nil {
		return nil, err
	}
	c := &Committer{
		cfg:        cfg,
		wal:        wal,
		lanes:      map[Key]*lane{},
		wake:       make(chan struct{}, 1),
		chores:     make(chan struct{}, 1),
		checkpoint: make(chan struct{}, 1),
		always:     make(chan struct{}),
		ended:      make(chan struct{}),
		done:       make(chan struct{}),
	}
	close(c.always)
	c.unsaved.Store(wal.usedBytes)
	if len(wal.used) > 0 {
		c.recovered.Store(true)
		signal(c.chores)
	}
	return c, nil
}

// Enqueue takes a write into the next round. It does not wait for the disk. Writes of one target are committed in the
// order in which they are enqueued, which is the order of their offsets, so the target calls it under the lock under which
// it assigns them. After an error the write was not taken, and no method of the target will be called for it.
func (c *Committer) Enqueue(w *Write) error {
	w.index, w.count = 0, 0
	return c.enqueue(w)
}

// EnqueueGroup takes writes that become durable all or none, whatever happens. Each target may be in it once.
func (c *Committer) EnqueueGroup(ws []*Write) error {
	for i, w := range ws {
		w.index, w.count = i, len(ws)
	}
	return c.enqueue(ws...)
}

func (c *Committer) enqueue(ws ...*Write) error {
	c.mu.Lock()
	if c.err != nil {
		err := c.err
		c.mu.Unlock()
		return err
	}
	first := len(c.queue) == 0
	c.queue = append(c.queue, ws...)
	c.mu.Unlock()
	if first {
		signal(c.wake)
	}
	return nil
}

// signal tells a goroutine to look for work; a signal that it has not seen yet is enough.
func signal(to chan<- struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

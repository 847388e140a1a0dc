package commit

import (
	"crypto/rand"
	"encoding/binary"
	"time"
)

// Config has a zero value that works.
type Config struct {
	// DirectBytes is from how many bytes in one round a partition takes road B. Default 256 KiB.
	DirectBytes int64
	// RoundBytes bounds what one round takes from the queue. Default 32 MiB.
	RoundBytes int64
	// FileBytes is the size of a file of the log. Default 64 MiB. The first file begins small.
	FileBytes int64
	// CheckpointBytes of log since the last checkpoint cause the next. Default 256 MiB. It bounds the time of a recovery.
	CheckpointBytes int64
	// SyncSegments makes durable every segment that has been written without sync. The committer calls it in the background
	// for checkpoints that are due by size, and at the end of Shutdown; without it there are only those that Checkpoint is
	// called for. Its error is fatal.
	SyncSegments func() error
	// SyncsMax is how many syncs run at once in a round. Default 4.
	SyncsMax int
	// RetryMin and RetryMax bound the time between attempts to write to a segment that failed after its bytes were durable
	// in the log. Defaults 50 ms and 1 s.
	RetryMin, RetryMax time.Duration
	// OnFatal is called once when a sync has failed, after all waiters have been told. Run returns the same error, and does
	// not return before OnFatal does.
	OnFatal func(error)
	Events  Events

	// Now, After and Salt replace the system's clock and randomness.
	Now   func() time.Time
	After func(time.Duration) <-chan time.Time
	Salt  func() uint64
}

// Events are called on the goroutine that commits, so they must be quick. Any may be nil.
type Events struct {
	Round func(RoundStats)
	// Answers calls what answers the writes of a round.
	Answers func(answer func())
	// SegmentSync tells of a road B sync. It may be called several at once.
	SegmentSync func(took time.Duration)
	// Refused tells of writes that failed with ErrNotWritten.
	Refused func(writes int, err error)
	// Stuck tells of a partition whose segment cannot be written, each time it is tried, and Unstuck that it goes on.
	Stuck   func(Key, error)
	Unstuck func(Key)
	// Checkpoint tells how many files of the log became free. It is called by the goroutine that made the checkpoint.
	Checkpoint func(files int, took time.Duration, err error)
}

// RoundStats describe one round.
type RoundStats struct {
	Writes      int
	Partitions  int
	WALBytes    int64         // written to the log, frames included
	DirectBytes int64         // written to segments by road B
	WALSync     time.Duration // 0: the log was not synced
	Took        time.Duration // from the start of the round until the last answer
}

const (
	kib = 1 << 10
	mib = 1 << 20
)

func (c Config) withDefaults() Config {
	c.DirectBytes = orDefault(c.DirectBytes, 256*kib)
	c.RoundBytes = orDefault(c.RoundBytes, 32*mib)
	c.FileBytes = orDefault(c.FileBytes, 64*mib)
	c.CheckpointBytes = orDefault(c.CheckpointBytes, 256*mib)
	c.SyncsMax = orDefault(c.SyncsMax, 4)
	c.RetryMin = orDefault(c.RetryMin, 50*time.Millisecond)
	c.RetryMax = max(c.RetryMin, orDefault(c.RetryMax, time.Second))
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.After == nil {
		c.After = time.After
	}
	if c.Salt == nil {
		c.Salt = randomSalt
	}
	return c
}

func orDefault[T int | int64 | time.Duration](v, otherwise T) T {
	if v <= 0 {
		return otherwise
	}
	return v
}

func randomSalt() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.BigEndian.Uint64(b[:])
}

package storage

import (
	"context"
	"errors"

	"github.com/skeinstream/skein/broker/internal/producers"
)

// ErrOffsetOutOfRange is for offsets below the log's start or above its end.
var ErrOffsetOutOfRange = errors.New("offset is out of range")

// ErrClosed is returned by a log that was closed or deleted.
var ErrClosed = errors.New("log is closed")

// Log is one partition's log.
type Log struct{}

// Open opens the log in dir, which is made when it is missing, and recovers it.
// Of damage it returns a *DamageError and changes nothing.
func Open(ctx context.Context, files *Files, dir string, cfg Config, rec Recovery) (*Log, Report, error) {
	return nil, Report{}, errors.New("not built yet")
}

// EndOffset is the offset that the next batch gets: everything below is in segments.
func (l *Log) EndOffset() int64 { return 0 }

// StartOffset is the first offset that may be read.
func (l *Log) StartOffset() int64 { return 0 }

// RecoveryPoint is the offset below which everything is durable.
func (l *Log) RecoveryPoint() int64 { return 0 }

// Write appends one or more whole, valid batches whose offsets are assigned, the
// first at EndOffset or above, to the page cache. After an error nothing was
// written. now is ms since the epoch. It keeps nothing of b.
func (l *Log) Write(b []byte, now int64) error { return nil }

// Sync makes everything durable that was written before the call. An error is
// final: nothing written since the last success may be called durable any more.
func (l *Log) Sync() error { return nil }

// Read returns whole batches from the one that holds from, or the next there is,
// all below upTo and maxBytes long together. minOne lets the first batch be
// longer (T21). It is empty, without an error, when from is not below upTo or the
// first batch is too long. The batches are of one segment: there may be more
// even when fewer than maxBytes come. Release what you get.
func (l *Log) Read(from, upTo int64, maxBytes int, minOne bool) (Slice, error) { return Slice{}, nil }

// Place is a record's place in the log.
type Place struct {
	Offset    int64
	Timestamp int64 // ms
	Epoch     int32 // leader epoch of its batch
}

// OffsetForTime finds the first record below upTo whose timestamp is ts or later
// (T27: the record itself, not its batch).
func (l *Log) OffsetForTime(ts, upTo int64) (at Place, found bool, err error) {
	return Place{}, false, nil
}

// MaxTimestamp finds the first record below upTo that has the largest timestamp.
func (l *Log) MaxTimestamp(upTo int64) (at Place, found bool, err error) { return Place{}, false, nil }

// EndOffsetForEpoch answers OffsetForLeaderEpoch (T11): the largest epoch not
// above the one asked for, and where it ended; -1, -1 when the epoch is not known.
// current is the partition's leader epoch now, which may have written nothing yet.
func (l *Log) EndOffsetForEpoch(epoch, current int32) (int32, int64) { return -1, -1 }

// EpochAt is the leader epoch in which an offset was written, -1 when not known.
func (l *Log) EpochAt(offset int64) int32 { return -1 }

// AbortedTxn is an aborted transaction of a producer.
type AbortedTxn struct {
	ProducerID  int64
	FirstOffset int64
	LastOffset  int64 // the marker's
	LastStable  int64 // first unstable offset right after the marker
}

// AbortedTransactions returns every aborted transaction that overlaps the offsets
// from up to, not including, to, by first offset (T23).
func (l *Log) AbortedTransactions(from, to int64) ([]AbortedTxn, error) { return nil, nil }

// Producer is what the batches written say of a producer; producers.New when
// nothing is known.
func (l *Log) Producer(id int64) producers.Entry { return producers.Entry{} }

// Producers is every producer known, by id.
func (l *Log) Producers() []producers.Entry { return nil }

// FirstUnstable is the first offset of the oldest open transaction; ok is false
// when none is open.
func (l *Log) FirstUnstable() (offset int64, ok bool) { return 0, false }

// ExpireProducers forgets producers silent for ttl ms and returns how many.
func (l *Log) ExpireProducers(now, ttl int64) int { return 0 }

// SetStartOffset moves the log's start up, as DeleteRecords does. Segments wholly
// below it go with the next DeleteOldSegments. It does nothing when the start is
// there already, and is ErrOffsetOutOfRange beyond the end. Persist the new start
// before you answer: storage does not.
func (l *Log) SetStartOffset(offset int64) error { return nil }

// DeleteOldSegments deletes the segments that retention or the log's start offset
// have expired, never one that holds offsets at or above highWatermark. It returns
// how many. The files are renamed to .deleted at once and removed by Reap.
func (l *Log) DeleteOldSegments(now, highWatermark int64) (int, error) { return 0, nil }

// Reap removes the .deleted files whose delay has passed.
func (l *Log) Reap(now int64) error { return nil }

// Size is the bytes of all segments.
func (l *Log) Size() int64 { return 0 }

// Segments is how many segments there are, the active one included.
func (l *Log) Segments() int { return 0 }

// Config is the configuration in force.
func (l *Log) Config() Config { return Config{} }

// Reconfigure changes the configuration of the running log.
func (l *Log) Reconfigure(cfg Config) {}

// Close makes everything durable, derived files included, so that the next Open
// may be told Recovery.Clean. Slices stay readable.
func (l *Log) Close() error { return nil }

// Delete closes the log and removes its directory.
func (l *Log) Delete() error { return nil }

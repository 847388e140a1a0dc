package consumer

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/skeinstream/skein/consumer/internal/membership"
	"github.com/skeinstream/skein/consumer/internal/reset"
	"github.com/skeinstream/skein/internal/roster"
)

type (
	// Record is a record as franz-go has it. It may be kept.
	Record = kgo.Record
	// TopicPartition names a partition.
	TopicPartition = membership.TopicPartition
	// Event is one thing that a rebalance did.
	Event = membership.Event
	// EventKind says what an Event is about.
	EventKind = membership.EventKind
	// Roster is what the members of a group publish (Config.Publish): Present those of this generation, Missing those that were there before, as far
	// as any of the present ones has been told. Instances are the instance ids of all static members.
	Roster = roster.Roster
)

// Kinds of events.
const (
	Rejoining    = membership.Rejoining
	Joined       = membership.Joined
	Completed    = membership.Completed
	Yielded      = membership.Yielded
	Adopted      = membership.Adopted
	Switched     = membership.Switched
	Expelled     = membership.Expelled
	ShortCircuit = membership.ShortCircuit
	Withheld     = membership.Withheld
)

// Batch is what one Poll hands out. It may be kept: nothing in it is used again.
type Batch struct {
	Partitions []PartitionBatch
}

// PartitionBatch are consecutive records of one partition, and what the broker said of it with them.
type PartitionBatch struct {
	TopicPartition
	Records []*Record
	// HighWatermark is the offset after the last that is replicated, LastStable the one before which every transaction is decided,
	// LogStart the first that is kept.
	HighWatermark, LastStable, LogStart int64
}

// String is the partition, and how many records of it there are.
func (p PartitionBatch) String() string {
	return fmt.Sprintf("%s: %d records", p.TopicPartition, len(p.Records))
}

// Len counts the records.
func (b Batch) Len() int {
	n := 0
	for i := range b.Partitions {
		n += len(b.Partitions[i].Records)
	}
	return n
}

// Records goes through all of them, partition by partition.
func (b Batch) Records() iter.Seq[*Record] {
	return func(yield func(*Record) bool) {
		for i := range b.Partitions {
			for _, r := range b.Partitions[i].Records {
				if !yield(r) {
					return
				}
			}
		}
	}
}

// Offset is how far a partition has been read.
type Offset struct {
	// At is the offset of the next record to read.
	At int64
	// LeaderEpoch is that of the last record that was read, -1 if it is not known (KIP-320).
	LeaderEpoch int32
	// Metadata is kept with a committed offset, for the user's own ends: at most the broker's offset.metadata.max.bytes, 4096.
	Metadata string
}

// Offsets are offsets by partition.
type Offsets map[TopicPartition]Offset

// GroupMetadata is in whose name offsets are committed, for transactions (KIP-447). It is never reset: one that has lost its place is
// refused by the broker (R-B13). Before the first generation, and for partitions that were assigned by hand, Generation is -1 and Member "".
type GroupMetadata struct {
	Group      string
	Generation int32
	Member     string
	Instance   string
}

// Listener is told of partitions that come and go (table B18 of docs/requirements.md). Its functions run inside Poll, Unsubscribe and
// Close. They may commit, seek, pause and ask for positions and metadata; heartbeats go on meanwhile. What they return is returned by
// that call too, once the rebalance is over; it stops nothing. The context ends at the deadline, and when the group has gone on
// without this member, context.Cause saying which.
type Listener struct {
	// Revoked partitions are the member's until it returns: the last moment to commit them. Under EAGER assignors it is called at the start
	// of each rebalance with all that is owned, if nothing; under COOPERATIVE ones only with what has to be given up.
	Revoked func(ctx context.Context, r Rebalance) error
	// Assigned is called at the end of each rebalance, with what is new, if nothing. To Committed, Rewind, SeekToBeginning and others, none are
	// all: who hands r.Partitions on to them looks first whether there are any.
	Assigned func(ctx context.Context, r Rebalance) error
	// Lost partitions may be somebody else's already: no commit of them is taken. Nil has Revoked called in its place. It is never
	// called with nothing.
	Lost func(ctx context.Context, r Rebalance) error
}

// Rebalance is what a Listener is told.
type Rebalance struct {
	Partitions []TopicPartition
	Generation int32
	// Lost says that Revoked stands in for Lost.
	Lost bool
	// Deadline is until when the group waits for this callback; then the member is expelled.
	Deadline time.Time
}

// Reset is where to begin: one of the constants, or ByDuration.
type Reset = reset.Policy

// Policies of auto.offset.reset.
const (
	Latest   = reset.Latest   // the end of the log
	Earliest = reset.Earliest // its start
	None     = reset.None     // a *NoOffsetError
)

// ByDuration begins with the first record that is not older than d (KIP-1106).
func ByDuration(d time.Duration) Reset { return reset.ByDuration(d) }

package txn

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Partition is one partition that a transaction writes to.
type Partition struct {
	Topic     string
	Partition int32
}

func (p Partition) String() string { return fmt.Sprintf("%s-%d", p.Topic, p.Partition) }

// Caller is the client that a request of a transaction comes from.
type Caller struct {
	// Connection grows with the time at which connections were accepted. It tells late requests from others (late.go,
	// Settings.RefuseLate). 0: not known, never late.
	Connection uint64
	// Version of the request: it decides between PRODUCER_FENCED and INVALID_PRODUCER_EPOCH, and about KIP-890.
	Version int16
}

// Ends is what the caller of an input that may end a transaction has found out. The caller asks with Reach first. A partition
// that has come into the transaction since is taken for one that takes a marker: if it does not, the append fails, the
// machine is loaded again, and the client comes again.
type Ends struct {
	// NewProducerID is a producer id that nobody has; -1: none at hand. An input that needs one is answered by NeedProducerID.
	NewProducerID int64
	// Unreachable take no marker now.
	Unreachable []Partition
	// Gone need none any more: the topic was deleted, or the partition knows a newer epoch of the producer.
	Gone []Partition
	// CoordinatorEpoch is the highest that one of the partitions has seen: no marker has a lower one.
	CoordinatorEpoch int32
}

// The inputs of a Machine's Step, and what answers each.
type (
	// Init is InitProducerId with a transactional id. It is answered by a *kmsg.InitProducerIDResponse, or by NeedProducerID:
	// then the same comes again with a NewProducerID.
	Init struct {
		Caller
		Ends
		Request *kmsg.InitProducerIDRequest
	}
	// Add adds partitions to a transaction, or asks whether they are in it (VerifyOnly). It is answered by Added.
	Add struct {
		Caller
		TransactionalID string
		ProducerID      int64
		Epoch           int16
		Partitions      []Partition
		VerifyOnly      bool
		// Implicit: Produce or TxnOffsetCommit wants it, not a request of its own. A stale epoch is then
		// INVALID_PRODUCER_EPOCH, the only code for it that those know.
		Implicit bool
		// Offsets: the request is AddOffsetsToTxn, or TxnOffsetCommit where it is Implicit; else AddPartitionsToTxn or Produce.
		Offsets bool
	}
	// End is EndTxn. It is answered by Ended, or by NeedProducerID.
	End struct {
		Caller
		Ends
		TransactionalID string
		ProducerID      int64
		Epoch           int16
		Commit          bool
	}
	// Finish goes on with what an Ask wanted: the abort of a transaction that is out of time, or markers that are still to
	// be written. It is answered by nil, or by NeedProducerID.
	Finish struct {
		Ends
		TransactionalID string
		ProducerID      int64
		Epoch           int16
	}
	// Reach asks which partitions an end of the transaction would write markers to. It is answered by Reached.
	Reach struct{ TransactionalID string }
	// Found tells what partitions have open, before anybody else is heard. It is answered by nil.
	Found struct{ Open []Opened }
	// Unended asks for every transaction that is open or misses markers. It is answered by []Reached.
	Unended struct{}
	// Describe is answered by a *kmsg.DescribeTransactionsResponseTransactionState.
	Describe struct{ TransactionalID string }
	// List is answered by []Listed: every transactional id, in order.
	List struct{}
	// Count asks for numbers and is answered by Counts.
	Count struct{}
)

// The answers.
type (
	// NeedProducerID asks for the same input again, with a new producer id.
	NeedProducerID struct{}
	// Reached is where a transaction would end now: its producer, and its partitions. An end that raises the epoch writes
	// markers of the next one. An id that is not known has no producer (-1) and no partitions.
	Reached struct {
		ProducerID int64
		Epoch      int16
		Partitions []Partition
	}
	// Added answers Add: one code for all partitions, or, for VerifyOnly without an error for all, one for each.
	//
	// Late: it has come over a connection that its producer has given up. Nobody reads the answer, and if somebody does, it
	// should come again over another connection, which is never late: so the connection is to be closed.
	Added struct {
		Code  int16
		Codes []int16
		Late  bool
	}
	// Ended answers End. The id and epoch are what the producer goes on with (KIP-890); -1 with an error.
	Ended struct {
		Code       int16
		Late       bool // as in Added
		ProducerID int64
		Epoch      int16
	}
	// Listed is one transactional id.
	Listed struct {
		kmsg.ListTransactionsResponseTransactionState
		// Started is when its last transaction began; zero: there was none since the producer was initialised.
		Started time.Time
		// Timeout is the producer's: how long its transactions may take.
		Timeout time.Duration
	}
)

// Ask is what a machine wants done: it is in the Asks of its outputs. The answer is a Finish for the same id and epoch. A
// machine that hears nothing asks again after a while.
type Ask struct {
	TransactionalID string
	ProducerID      int64
	Epoch           int16
	// Abort: the transaction is out of time. Else: it is decided, and markers are missing.
	Abort bool
	// Partitions are those that take a marker.
	Partitions []Partition
	// After: not before this has passed.
	After time.Duration
}

// Counts are a machine's numbers for metrics.
type Counts struct {
	States map[string]int // transactional ids by state
	// Totals since the machine was made. Committed, Aborted: ends that were decided, the latter whoever aborted. TimedOut:
	// those of them that were out of time. Fenced: open transactions that another InitProducerId aborted. Late: requests that
	// came over connections that were given up. Expired: forgotten transactional ids.
	Committed, Aborted, TimedOut, Fenced, Late, Expired int64
	// The open transaction that began first; zero: none is open.
	OldestStarted time.Time
	OldestID      string
}

// Settings are the broker settings that transactions obey, and the shard's place. The zero value of a field is taken as it
// is: use the defaults of the settings package.
type Settings struct {
	MaxTimeout  time.Duration // transaction.max.timeout.ms
	Expiration  time.Duration // transactional.id.expiration.ms
	ExpiryCheck time.Duration // transaction.remove.expired.transaction.cleanup.interval.ms
	// AbortCheck is transaction.abort.timed.out.transaction.cleanup.interval.ms. Deadlines here are exact; this is how long
	// the machine waits for the answer to an Ask before it asks again.
	AbortCheck time.Duration
	Version2   bool // the finalized feature transaction.version is 2 (KIP-890 part 2)
	RefuseLate bool // skein.transaction.refuse.late.requests
	// CoordinatorEpoch is the leader epoch of the shard's partition. Markers carry it, or a higher one (Ends).
	CoordinatorEpoch int32
}

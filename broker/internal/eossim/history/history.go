// Package history is what clients of a simulated broker have done and seen, and the judge of it: Check says which promises of
// exactly-once the broker has broken (KIP-98, 360, 447, 890). It stands at the end of a simulation's journey and knows nothing
// of brokers: any record of requests and answers with times can be judged, also one of real processes.
package history

import (
	"fmt"
	"time"
)

// Partition is a topic's partition.
type Partition struct {
	Topic string
	Index int32
}

func (p Partition) String() string { return fmt.Sprintf("%s-%d", p.Topic, p.Index) }

// History is everything that clients know once all is quiet. Times count from the start of the run.
type History struct {
	Txns     []*Txn // in the order in which they began
	Plain    []*Write
	Reads    []Read
	Fetched  []OffsetRead
	Fences   []Fence
	Accepted []Accepted
	// Starts is when brokers began to serve, the first and each after a crash.
	Starts []time.Duration
	// Full is when the disk was. A transaction that ends then may get some of its markers later, when its end has been
	// acknowledged, which is as Kafka has it always.
	Full []Span
	// Slack is how long after its timeout, or after a full disk, a transaction may still hold up readers.
	Slack time.Duration
	Final Final
}

// Span is some time.
type Span struct{ From, To time.Duration }

// Outcome is what a client knows of the end of a transaction.
type Outcome int

// The outcomes.
const (
	Open      Outcome = iota // the client has never asked for its commit
	Asked                    // it has asked for the commit and does not know what came of it
	Committed                // the commit was acknowledged
	Aborted                  // it has asked for the abort, whatever the answer was
	Refused                  // it has asked for the commit, and each time was told that there is none
)

func (o Outcome) String() string {
	return [...]string{"open", "asked to commit", "committed", "aborted", "refused"}[o]
}

// Txn is one transaction as its client knows it.
type Txn struct {
	Number   int
	ID       string // the transactional id
	Producer int64
	Epoch    int16
	Began    time.Duration
	Timeout  time.Duration
	Outcome  Outcome
	Asked    time.Duration // when its commit was sent first; 0: never
	Ended    time.Duration // when an end of it was acknowledged; 0: never
	Writes   []*Write
	Offsets  []Offset
}

func (t *Txn) String() string {
	return fmt.Sprintf("transaction %d of %s (producer %d, epoch %d, %v)", t.Number, t.ID, t.Producer, t.Epoch, t.Outcome)
}

// Write is a record that a client has sent at least once.
type Write struct {
	At    Partition
	Key   string
	Order int    // records of one key are to be read in this order
	Value string // no two writes have the same
	Acked bool
	// Source is what the record was made of, if it was.
	Source *Source
}

// Source is a record that a group has consumed.
type Source struct {
	Group  string
	At     Partition
	Offset int64
}

// Offset is what a transaction says about how far a group has come.
type Offset struct {
	Group string
	At    Partition
	Next  int64
}

// Seen is a record as a reader has got it.
type Seen struct {
	Offset int64
	Value  string
}

// Read is one answered fetch of a reader of what is committed. Records are those that count, and Next is where it goes on.
// What a reader reads of a partition in its Reads is contiguous.
type Read struct {
	Reader         string
	At             Partition
	Sent, Got      time.Duration
	From, Next     int64
	Stable, Synced int64 // the last stable offset and the high watermark
	Records        []Seen
}

// OffsetRead is one answered fetch of a group's stable offset. -1: there is none.
type OffsetRead struct {
	Reader    string
	Group     string
	At        Partition
	Sent, Got time.Duration
	Next      int64
}

// Fence is a producer's new epoch, as its client was told.
type Fence struct {
	ID       string
	Producer int64
	Epoch    int16
	Got      time.Duration
}

// Accepted is a request of a transactional producer that was answered without an error.
type Accepted struct {
	ID       string
	Producer int64
	Epoch    int16
	Sent     time.Duration
	What     string
}

// Final is what is found at the end, when everybody has stopped and every timeout has passed.
type Final struct {
	Logs    map[Partition]Log
	Offsets map[string]map[Partition]int64 // by group
	// Inputs are the partitions that groups had to consume to the end.
	Inputs map[string][]Partition
}

// Log is a partition at the end: everything in it, and what of it counts.
type Log struct {
	All          []Seen // without control records
	Committed    []Seen
	Stable, High int64
}

// Violation is a promise that was broken.
type Violation struct {
	Rule string // a few words that are the same for all of its kind
	What string
}

func (v Violation) String() string { return v.Rule + ": " + v.What }

// Ask notes that an end of t is asked for at a time.
func (t *Txn) Ask(commit bool, now time.Duration) {
	switch {
	case commit:
		t.Outcome, t.Asked = Asked, now
	case t.Outcome == Open:
		t.Outcome = Aborted
	}
}

// Answer notes an answer to that: ok, or that there is no such end. lost: an earlier try was not answered, so that the
// transaction may have been committed all the same.
func (t *Txn) Answer(commit, ok, lost bool, now time.Duration) {
	switch {
	case ok && commit:
		t.Outcome, t.Ended = Committed, now
	case ok:
		t.Ended = now
	case commit && !lost:
		t.Outcome = Refused
	}
}

package work

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// Partition names a partition.
type Partition struct {
	Topic     string
	Partition int32
}

// String is "topic-partition".
func (p Partition) String() string { return fmt.Sprintf("%s-%d", p.Topic, p.Partition) }

// Compare orders partitions by topic, then by number.
func (p Partition) Compare(q Partition) int {
	return cmp.Or(cmp.Compare(p.Topic, q.Topic), cmp.Compare(p.Partition, q.Partition))
}

// Offset is how far a partition is: the offset of the next record, and the leader epoch of the one before, -1 if it is not known.
type Offset struct {
	At          int64
	LeaderEpoch int32
}

// Reached is how far a partition is.
type Reached struct {
	Partition
	Offset
}

// Mark is a record.
type Mark struct {
	Partition
	At int64
}

// String is "topic-partition at offset".
func (m Mark) String() string { return fmt.Sprintf("%s at offset %d", m.Partition, m.At) }

// Act is what the loop is to do.
type Act uint8

const (
	// Poll waits for records until Until, and runs the consumer's callbacks. With Hold it waits for callbacks alone: nothing is handed
	// out. It may return early. Polled is the answer.
	Poll Act = iota
	// Process has the first Records of what was polled and not processed processed, but those in Skip, whose letters are sent instead; with Begin
	// it begins a transaction first. It is told to end at Until. Processed is the answer.
	Process
	// Commit commits the transaction, if there is one, with Offsets in the name of the group's generation of that moment, which is read before it is
	// made sure that all their partitions are owned still. Without records that were sent no transaction is needed. Committed is the answer.
	Commit
	// Abort aborts the transaction. Aborted is the answer.
	Abort
	// Rewind has Partitions go back to the group's committed offsets, once these are decided, and forgets what was polled of them. Rewound is
	// the answer, which does not wait for that.
	Rewind
	// Renew closes the producer and makes another of the same transactional id, which ends whatever the old one has left. Renewed is
	// the answer.
	Renew
	// Release has the callback return. What was polled of partitions that it gives up is forgotten. Polled comes next.
	Release
	// Stop ends the loop, with Err if it is not nil. The consumer is closed, whose callbacks are steps still, and the producer.
	Stop
)

func (a Act) String() string {
	return [...]string{"poll", "process", "commit", "abort", "rewind", "renew", "release", "stop"}[a]
}

// Output is the next act, and what has come to an end.
type Output struct {
	Act     Act
	Hold    bool
	Begin   bool
	Until   time.Time // zero is no end
	Records int
	Skip    []Mark      // in order
	Offsets []Reached   // in order
	Back    []Partition // of Rewind, in order
	Err     error

	// Ended is the transaction that has ended with the input, nil if none has.
	Ended *Ended
}

// Ended is the end of a transaction.
type Ended struct {
	End     End
	Reason  Reason // of one that was not committed
	Err     error
	Records int // processed in it
	Since   time.Time
	Offsets []Reached // committed, or to be
}

// End is how a transaction has ended.
type End uint8

const (
	// IsCommitted is for good.
	IsCommitted End = iota
	// IsAborted is that nothing of it will be seen.
	IsAborted
	// IsUnknown is that it was committed or aborted, and that nobody has said which: the group's offsets tell.
	IsUnknown
)

// Reason is why a transaction was not committed.
type Reason uint8

const (
	// Lost is that partitions of it are another's, or may be.
	Lost Reason = iota + 1
	// Moved is that the group has gone on to another generation, and that the member was not told of it in time.
	Moved
	// Refused is that the broker, or the producer, has refused to send or to commit: transactions that took too long are among these.
	Refused
	// TooLong is that it took longer than the transaction timeout.
	TooLong
	// Poisoned is that a record could not be processed.
	Poisoned
	// Failed is that the loop ends by an error.
	Failed
	// Halted is that the loop ends, and the processing with it.
	Halted
)

func (r Reason) String() string {
	return [...]string{"none", "lost", "moved", "refused", "too-long", "poisoned", "failed", "halted"}[r]
}

// Reasons are all of them.
func Reasons() []Reason { return []Reason{Lost, Moved, Refused, TooLong, Poisoned, Failed, Halted} }

// String is the act in words, without its time.
func (o Output) String() string {
	words := []string{o.Act.String()}
	add := func(is bool, format string, args ...any) {
		if is {
			words = append(words, fmt.Sprintf(format, args...))
		}
	}
	add(o.Hold, "nothing")
	add(o.Begin, "anew")
	add(o.Records > 0, "%d", o.Records)
	add(len(o.Skip) > 0, "but %v", o.Skip)
	for _, r := range o.Offsets {
		add(true, "%s=%d", r.Partition, r.At)
	}
	for _, tp := range o.Back {
		add(true, "%s", tp)
	}
	add(o.Err != nil, "for %v", o.Err)
	if e := o.Ended; e != nil {
		add(true, "after %s", e)
	}
	return strings.Join(words, " ")
}

// String is the end, and why.
func (e Ended) String() string {
	if e.End == IsCommitted {
		return fmt.Sprintf("committed %d", e.Records)
	}
	return fmt.Sprintf("%s %d (%s)", [...]string{IsAborted: "aborted", IsUnknown: "unknown"}[e.End], e.Records, e.Reason)
}

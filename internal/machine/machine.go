// Package machine is the vocabulary of coordinators: how something that decides (groups, transactions) tells what is to
// be made durable, answered and waited for, without doing any of it.
//
// A machine is a deterministic function of what it was given: the clock is an argument, randomness comes with the input,
// waiting callers are tokens that the loop (package coordinator) keeps. Its state has two parts. The durable part changes
// in Apply alone, live and in replay, so that the log is the whole truth about it. The volatile part (who waits, which
// members have joined the round, deadlines) changes in Step and Tick and is lost with the machine.
package machine

import (
	"log/slog"
	"time"
)

// Token names a caller who waits for an answer. The loop gives them out; 0 is nobody.
type Token uint64

// Record is one record of an internal topic. A nil Value is a tombstone.
type Record struct {
	Key, Value []byte
	// Producer is whose transaction the record belongs to; the zero value: none.
	Producer Producer
	// Marker is set in control records, which end the transaction of Producer in this partition. They have no Key or Value.
	Marker *Marker
}

// Producer is whose batch a Write is: one with a transaction. The zero value is nobody.
type Producer struct {
	Transactional bool
	ID            int64
	Epoch         int16
}

// Marker ends the transaction of a Write's producer in its partition.
type Marker struct {
	Commit           bool
	CoordinatorEpoch int32
}

// Write is one batch for one partition: records, or a marker.
type Write struct {
	Topic     string
	Partition int32
	Producer  Producer
	Records   []Record
	Marker    *Marker
}

// Reply answers a caller. Value is what the machine's package says about the input that it answers.
type Reply struct {
	To    Token
	Value any
}

// Note is something that an operator may want to read in the log.
type Note struct {
	Level   slog.Level
	Message string
	Attrs   []slog.Attr
}

// Output is what a step has decided.
type Output struct {
	// Records go to the machine's own partition, in order.
	Records []Record
	// Group are batches of other partitions that become durable in the same atomic step as Records: all or none.
	Group []Write
	// Replies are released once everything that was decided up to now is durable, also what earlier steps have decided.
	Replies []Reply
	// Notes are logged at that same moment.
	Notes []Note
	// Asks are what the machine wants done by others, handed out at that same moment. The answers come back as inputs.
	Asks []any
	// Wake is the next moment at which Tick is wanted; it replaces what an earlier output said. The zero time: never.
	Wake time.Time
}

// Machine decides. Its methods are called by one goroutine at a time.
//
// After a Step or Tick the loop calls Apply for each of the output's Records, in order, before anything else: Apply is the
// only way in which durable state changes. When an append fails the loop answers everybody who waits, drops the machine and
// replays the log into a new one; nothing is ever taken back.
type Machine interface {
	Step(now time.Time, caller Token, in any) Output
	Tick(now time.Time) Output
	Apply(r Record)
	// Loaded is called once, after the last record of a replay and before the first Step.
	Loaded(now time.Time) Output
}

// Read is implemented by inputs whose step decides no records. While the log takes no appends, they alone are let in.
type Read interface{ Reads() }

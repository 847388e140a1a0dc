package api

import "github.com/skeinstream/skein/internal/txn"

// Transactions is the coordinator of transactions as the handlers see it. None of its methods waits; each calls done exactly
// once, from any goroutine, also before it returns, and done must not wait either.
//
// The errors are those of Groups.
type Transactions interface {
	// Prepare sees to it that there is a coordinator: it makes the topic of the transactions if that is missing.
	Prepare(done func(error))
	// Do gives an input of package txn (Init, Add, End, Describe) to the shard of the transactional id, after Prepare. The
	// reply is what package txn says about the input, but never NeedProducerID: what the input's Ends have to say, which
	// partitions can be reached and which producer id is free, is found out here, and its field left zero by the caller.
	Do(transactionalID string, in any, done func(reply any, err error))
	// AddEarly is Do for what a batch or an offset brings along, or asks about: the answer does not wait for the disk. What is
	// appended in done, or later, is not durable before the addition is; but that may be lost, and what was appended not. The
	// coordinator finds that in partitions of records and in the groups' when it reads its log again, if it was appended in
	// done. For all else there is durable, which may be nil: it is called once after a done without an error, and says with
	// an error that the addition is lost.
	AddEarly(transactionalID string, in txn.Add, done func(reply any, err error), durable func(error))
	// All gives an input (List, Count) to every shard, and done gets what each has answered, in no order. When there is no
	// topic of the transactions yet there are no replies, and none is made.
	All(in any, done func(replies []any, err error))
	// Mark writes markers into partitions as an admin wants (WriteTxnMarkers), each for itself, and tells what has become of
	// each: a code of WriteTxnMarkers, in the order of the marks. What belongs to groups is theirs when it is told.
	Mark(marks []Mark, done func(codes []int16))
	// ProducerID takes a producer id that nobody has, for an idempotent producer.
	ProducerID(done func(id int64, err error))
}

// Mark is one marker for one partition.
type Mark struct {
	Topic            string
	Partition        int32
	ProducerID       int64
	ProducerEpoch    int16
	CoordinatorEpoch int32
	Commit           bool
	// Raised: the transaction is of version 2, so that the epoch must be above the partition's own (R-K28).
	Raised bool
}

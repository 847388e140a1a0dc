package producer

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/skeinstream/skein/client"
	"github.com/skeinstream/skein/internal/transaction"
)

type (
	// Class says what to do about an error.
	Class = transaction.Class
	// Error is why a call has failed. Its message says what to do.
	Error = transaction.Error
)

// Classes of errors.
const (
	// Retriable: the same call may be made again, with more time. Nothing is decided yet.
	Retriable = transaction.Retriable
	// AbortAndContinue: this transaction cannot be committed. Abort it, go back to the offsets that the group has committed, begin another.
	AbortAndContinue = transaction.AbortAndContinue
	// Fatal: this producer has come to its end. Close it, make another, and go back to the offsets that the group has committed.
	Fatal = transaction.Fatal
	// Illegal: the call is out of order, or cannot be as it was asked for. It has changed nothing.
	Illegal = transaction.Illegal
)

// Errors that callers branch on, with errors.Is.
var (
	// ErrGroupMoved is Commit's: the group has gone on since the offsets were sent (22, 25, 27 or 82 from TxnOffsetCommit). Its class is
	// AbortAndContinue, but the transaction is still open: who has kept all partitions of it without a break may call SendOffsets with the group
	// metadata of now, and Commit again.
	ErrGroupMoved = transaction.ErrGroupMoved
	// ErrFenced is Fatal: another producer has begun with the same transactional id.
	ErrFenced = transaction.ErrFenced
	// ErrCannotFence is Fatal: the broker is older than Kafka 2.5. No offsets were committed.
	ErrCannotFence = transaction.ErrCannotFence
	// ErrNoGroupYet is SendOffsets', and Illegal: the metadata has no generation.
	ErrNoGroupYet = transaction.ErrNoGroupYet
	// ErrUnanswered is SendSync's, when its context ends while records are on their way: they may be written yet, and may fail. Its class is
	// Retriable, though to send them again may write them twice; in a transaction it is AbortAndContinue, but Commit may be called, which waits for
	// them.
	ErrUnanswered = transaction.ErrUnanswered
	// ErrOutcomeUnknown is Commit's, and Fatal: another producer has begun with the transactional id before the answer, which was lost, could be had
	// again.
	ErrOutcomeUnknown = transaction.ErrOutcomeUnknown
	// ErrClosed is of a producer that is closed, or closes.
	ErrClosed = errors.New("the producer is closed")
)

// ClassOf sorts an error of a producer: Fatal for one that it does not know, 0 for nil.
func ClassOf(err error) Class {
	if err == nil {
		return 0
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Class
	}
	return Fatal
}

// sendError says what has become of a record without a transaction, and what to do.
func sendError(r *Record, err error) error {
	op := fmt.Sprintf("sending a record to %s", r.Topic)
	switch {
	case errors.Is(err, kgo.ErrClientClosed), errors.Is(err, ErrClosed):
		return &Error{Op: op, Class: Fatal, Err: ErrClosed}
	case errors.Is(err, kgo.ErrRecordTimeout), errors.Is(err, kgo.ErrRecordRetries):
		return &Error{Op: op, Class: Retriable, Err: fmt.Errorf("no broker has confirmed it within DeliveryTimeout, and it may have been written or not: %w", err)}
	}
	code, _ := errors.AsType[*kerr.Error](err)
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), unreached(err), code != nil && code.Retriable && code != kerr.UnknownTopicOrPartition:
		return &Error{Op: op, Class: Retriable, Err: err}
	case code == kerr.ClusterAuthorizationFailed, code == kerr.TransactionalIDAuthorizationFailed, code == kerr.ProducerFenced:
		return &Error{Op: op, Class: Fatal, Err: err}
	}
	return &Error{Op: op, Class: Illegal, Err: fmt.Errorf("%w%s", err, recordAdvice(err))}
}

// unreached says that the network is at fault.
func unreached(err error) bool {
	_, dialling := errors.AsType[*client.DialError](err)
	return dialling || kgo.IsRetryableBrokerErr(err)
}

// recordAdvice is what helps where it is the record that is refused.
func recordAdvice(err error) string {
	code, _ := errors.AsType[*kerr.Error](err)
	switch code {
	case kerr.MessageTooLarge, kerr.RecordListTooLarge:
		return ": make it smaller, or raise Config.BatchBytes and the topic's max.message.bytes"
	case kerr.UnknownTopicOrPartition:
		return ": create the topic first"
	case kerr.TopicAuthorizationFailed:
		return ": the user may not WRITE this topic"
	case kerr.InvalidRecord:
		return ": a compacted topic takes only records with a key"
	}
	return ""
}

package transaction

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Class says what to do about an error.
type Class int8

const (
	// Retriable: the same call may be made again, with more time. Nothing is decided yet.
	Retriable Class = iota + 1
	// AbortAndContinue: this transaction cannot be committed. Abort it, go back to the offsets that the group has committed, begin another.
	AbortAndContinue
	// Fatal: this producer has come to its end. Close it, make another, and go back to the offsets that the group has committed.
	Fatal
	// Illegal: the call is out of order, or cannot be as it was asked for. It has changed nothing.
	Illegal
)

// String is the class in a word.
func (c Class) String() string {
	switch c {
	case Retriable:
		return "retriable"
	case AbortAndContinue:
		return "abort and continue"
	case Fatal:
		return "fatal"
	case Illegal:
		return "illegal"
	}
	return "none"
}

// Errors that callers branch on.
var (
	// ErrGroupMoved is the refusal of a transaction's offsets, since the group has gone on: 22, 25, 27 or 82 from TxnOffsetCommit. The
	// transaction is still open. Who has kept all partitions of it without a break may send the offsets again with the group
	// metadata of now, and commit again; everybody else aborts.
	ErrGroupMoved = errors.New("the group has gone on since the offsets were sent; the transaction is still open")
	// ErrFenced says that another producer has begun with the same transactional id.
	ErrFenced = errors.New("another producer has begun with the same transactional id: there must be one at a time")
	// ErrCannotFence says that the broker knows no offset commits which the group's generation fences, as Kafka does since 2.5.
	ErrCannotFence = errors.New("the broker cannot fence offset commits by the group's generation (TxnOffsetCommit below version 3: Kafka before 2.5)")
	// ErrNoGroupYet says that the consumer is no member of its group yet, or reads partitions that were assigned by hand.
	ErrNoGroupYet = errors.New("the group metadata has no generation: poll until partitions are assigned, and read GroupMetadata when you commit; offsets of partitions that were assigned by hand are sent by SendUnfencedOffsets")
	// ErrUnanswered says that a caller has not waited for the answers of records which were handed over.
	ErrUnanswered = errors.New("records that were handed over have no answer yet, and are on their way: they may be written or not")
	// ErrOutcomeUnknown says that nobody can tell any more whether a transaction was committed: while the answer was being asked for
	// again, another producer has begun with the same transactional id.
	ErrOutcomeUnknown = errors.New("whether the transaction was committed cannot be found out: the offsets that the group has committed tell, since they were in it")
)

// Error is why a call of a producer has failed, and says what to do.
type Error struct {
	Op    string // what was being done
	Class Class
	Err   error
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

func (e *Error) Error() string {
	return e.Op + ": " + e.Err.Error() + e.advice()
}

func (e *Error) advice() string {
	switch {
	case errors.Is(e.Err, ErrGroupMoved):
		return ": if its partitions have stayed this member's all the time, send the offsets again with the group metadata of now and commit again, else abort"
	case errors.Is(e.Err, ErrCannotFence):
		return ": upgrade the brokers to Kafka 2.5 or later first; or keep one producer for each input partition until then, which UpgradeFrom says; SendUnfencedOffsets gives up the protection"
	case errors.Is(e.Err, ErrUnanswered) && e.Class == Retriable:
		return ": Flush waits for them; to send them again may write them twice"
	case errors.Is(e.Err, ErrUnanswered) && e.Class == AbortAndContinue:
		return ": they are part of the transaction: Commit waits for them, and fails if one has; to send them again, abort first, or they are written twice"
	case e.Class == Retriable:
		return ": call it again"
	case e.Class == AbortAndContinue:
		return ": abort, go back to the committed offsets, and begin another transaction"
	case errors.Is(e.Err, kerr.InvalidTransactionTimeout):
		return ": lower the one, or raise the other"
	case errors.Is(e.Err, kerr.TransactionalIDAuthorizationFailed):
		return ": allow it"
	case e.Class == Fatal && errors.Is(e.Err, ErrFenced):
		return ": if two processes have the id, give each its own; else close this producer, make another, and go back to the committed offsets"
	case e.Class == Fatal:
		return ": close this producer, make another, and go back to the committed offsets"
	}
	return ""
}

// Unsent is the error of a record that fails within a transaction.
func Unsent(op string, err error) *Error { return &Error{op, classOfSend(err), err} }

var (
	errNotOpen      = errors.New("no transaction is open: Begin one first")
	errOpen         = errors.New("a transaction is open: Commit or Abort it first")
	errEnding       = errors.New("the transaction is being ended: wait for Commit or Abort to return, and Begin another")
	errUndecided    = errors.New("a Commit has not been answered yet: only Commit may be called again, until it says what has become of the transaction")
	errAborting     = errors.New("an Abort has not come to its end: call it again")
	errEpochRaised  = errors.New("the producer's epoch was raised within the transaction, which has aborted what was written before")
	errNoID         = errors.New("the broker gives no producer id: transactions need Kafka 0.11 or later, or Skein")
	errNoGeneration = errors.New("the group metadata names a generation but no member: take them as the consumer's GroupMetadata returns them")
	errNoGroup      = errors.New("offsets need a group, and none is named: set the consumer's Config.Group, or name one")
)

// codeOf is the broker's error within err, nil if there is none.
func codeOf(err error) *kerr.Error {
	code, _ := errors.AsType[*kerr.Error](err)
	return code
}

// passes says of an error of the coordinator that the same request may succeed a little later. No answer at all is one, too.
func passes(err error) bool {
	switch codeOf(err) {
	case nil, kerr.ConcurrentTransactions, kerr.CoordinatorLoadInProgress, kerr.CoordinatorNotAvailable, kerr.NotCoordinator,
		kerr.RequestTimedOut, kerr.UnknownServerError, kerr.NetworkException, kerr.UnknownTopicOrPartition, kerr.NotEnoughReplicas,
		kerr.NotEnoughReplicasAfterAppend:
		return true
	}
	return false
}

// doubtful says of a refusal that it may mean a successor, or that the transaction was too slow: a Fence tells.
func doubtful(err error) bool {
	switch codeOf(err) {
	case kerr.InvalidProducerEpoch, kerr.ProducerFenced, kerr.InvalidTxnState, kerr.InvalidProducerIDMapping, kerr.UnknownProducerID,
		kerr.OutOfOrderSequenceNumber, kerr.TransactionAbortable:
		return true
	}
	return false
}

// fenced says of an answer to a Fence that the producer is not the one of its transactional id any more.
func fenced(err error) bool {
	switch codeOf(err) {
	case kerr.InvalidProducerEpoch, kerr.ProducerFenced:
		return true
	}
	return false
}

// classOfSend sorts the failure of a record within a transaction (R-F16, R-F17). That there is a newer epoch, which is fatal if it is a
// successor's, is proven by Abort.
func classOfSend(err error) Class {
	switch codeOf(err) {
	case kerr.InvalidTxnState, kerr.TransactionalIDAuthorizationFailed, kerr.ClusterAuthorizationFailed,
		kerr.UnsupportedForMessageFormat, kerr.UnsupportedVersion:
		return Fatal
	}
	return AbortAndContinue
}

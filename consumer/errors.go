package consumer

import (
	"errors"
	"fmt"
	"strings"

	"github.com/skeinstream/skein/consumer/internal/membership"
)

// Errors that callers branch on.
var (
	// ErrClosed is returned by a consumer that is closed, or closes.
	ErrClosed = errors.New("the consumer is closed")
	// ErrRebalanceInProgress says that a commit may be tried again after the next Poll, for what is still owned then.
	ErrRebalanceInProgress = membership.ErrRebalanceInProgress
	// ErrCommitFailed says that the group has gone on without this member: what it has not committed is read again by others.
	ErrCommitFailed = membership.ErrCommitFailed
	// ErrNotOwned says that partitions are not this consumer's, or not any more. A *NotOwnedError names them.
	ErrNotOwned = errors.New("not owned by this consumer")
	// ErrNoGroup is returned where a Config.Group is needed.
	ErrNoGroup = errors.New("the consumer has no Config.Group: set it, or take partitions with Assign, and keep their offsets yourself")
	// ErrAssigned is returned by Subscribe while partitions are assigned by hand, and the other way round.
	ErrAssigned = errors.New("the consumer has partitions in the other way already, by Assign or by Subscribe: Unsubscribe first")
	// ErrExpelled is the cause of a context that ends since the group has gone on without this member.
	ErrExpelled = errors.New("the group has gone on without this member")
	// ErrSilent is the cause of a callback's context that ends since the group's coordinator has not answered for the session timeout: it may
	// have given this member up.
	ErrSilent = errors.New("the group's coordinator has not answered for the session timeout")
	// ErrRevoked is the cause of a partition's context that ends since the partition was given up.
	ErrRevoked = errors.New("the partition was given up")
)

type (
	// ProtocolError says that a group runs assignors which this member does not offer, and what to change: its Group, what was Offered, and the one
	// that is Selected there, "" where that could not be found out.
	ProtocolError = membership.ProtocolError
	// JoinError is a refusal of the group that only the user can end: of its Group, of this member's Instance id, with Err, an error of franz-go's
	// package kerr that errors.Is and errors.As find.
	JoinError = membership.JoinError
)

// NotOwnedError names partitions that were left out of a commit, since they are not this consumer's. The others were committed.
type NotOwnedError struct{ Partitions []TopicPartition }

// Unwrap returns ErrNotOwned.
func (e *NotOwnedError) Unwrap() error { return ErrNotOwned }

func (e *NotOwnedError) Error() string {
	return fmt.Sprintf("%s: %s", names(e.Partitions), ErrNotOwned)
}

// NoOffsetError says that there is nowhere to begin: the group has no offset of the partition, or one that the log does not hold,
// and Config.Reset is None. Seek, or commit an offset, and poll on.
type NoOffsetError struct {
	TopicPartition
	// Offset is the one that the log does not hold; -1 is none.
	Offset int64
}

func (e *NoOffsetError) Error() string {
	if e.Offset < 0 {
		return fmt.Sprintf("%s has no committed offset, and the reset policy is none: seek, or choose another policy", e.TopicPartition)
	}
	return fmt.Sprintf("%s does not hold offset %d, and the reset policy is none: seek, or choose another policy", e.TopicPartition, e.Offset)
}

// PartitionError is an error of fetching one partition. Poll goes on with the others when it is called again. It
// ends the Run of package parallel, unless its Config.PollError returns nil for it.
type PartitionError struct {
	TopicPartition
	Err error
}

// Unwrap returns the cause.
func (e *PartitionError) Unwrap() error { return e.Err }

func (e *PartitionError) Error() string {
	return fmt.Sprintf("fetching %s: %s", e.TopicPartition, e.Err)
}

func names(list []TopicPartition) string {
	var all []string
	for _, p := range list {
		all = append(all, p.String())
	}
	return strings.Join(all, " ")
}

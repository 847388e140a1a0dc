package assign

import (
	"errors"
	"fmt"
)

var (
	// ErrMalformed is wrapped by every error about bytes that are no subscription
	// and no assignment.
	ErrMalformed = errors.New("malformed consumer protocol bytes")
	// ErrDuplicateMember: two members have one id.
	ErrDuplicateMember = errors.New("two members have the same id")
	// ErrDuplicateTopic: the metadata names a topic twice.
	ErrDuplicateTopic = errors.New("the metadata names a topic twice")
	// ErrTooLarge: more partitions than the solver's 32-bit columns hold, 2^30.
	ErrTooLarge = errors.New("too many partitions for one group")
)

// InvalidPlanError says which rule a plan breaks that holds for every assignor.
type InvalidPlanError struct {
	// Topic and Partition say about which partition, unless Topic is "".
	Topic     string
	Partition int32
	// Member is the id of the member that is concerned, if one is.
	Member string
	Reason string
}

func (e *InvalidPlanError) Error() string {
	about := "the plan"
	switch {
	case e.Topic != "" && e.Member != "":
		about = fmt.Sprintf("%s-%d, given to %s,", e.Topic, e.Partition, e.Member)
	case e.Topic != "":
		about = fmt.Sprintf("%s-%d", e.Topic, e.Partition)
	case e.Member != "":
		about = "member " + e.Member
	}
	return "invalid plan: " + about + " " + e.Reason
}

// NotCooperativeError says that a plan gives a partition to one member while
// another still claims it, which the COOPERATIVE protocol forbids: both would
// process it for a while.
type NotCooperativeError struct {
	Topic     string
	Partition int32
	// Claimant still owns the partition that the plan gives to Receiver.
	Claimant, Receiver string
}

func (e *NotCooperativeError) Error() string {
	return fmt.Sprintf("the assignor violates the COOPERATIVE protocol: %s-%d goes to %s while %s still owns it; it must stay with nobody for one generation",
		e.Topic, e.Partition, e.Receiver, e.Claimant)
}

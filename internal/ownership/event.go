// Package ownership judges what the members of a consumer group have done: who owned which partition when, what was handled, and
// what was committed. It is the oracle of `skein demo upgrade`, and of tests with real clients: both write down a History and ask
// for a Verdict.
//
// What must never be, whoever joins, leaves or dies (docs/requirements.md, C26):
//
//   - INV1: a partition has two owners at a time;
//   - INV2: an offset that was committed goes back, or whoever is not the owner commits while another is;
//   - a record that was acknowledged to its producer is handled by nobody, or an owner begins after one that nobody handled;
//   - a record is handled again that is below the committed offset, or whose owner could have committed it;
//   - and, in phases that are called clean, any record is handled twice, or a live member is thrown out.
//
// It has no opinion about members that their group has given up while they go on: those are not its owners any more, but may not
// know yet. A history with such members says Ended for them first.
package ownership

import (
	"fmt"
	"time"
)

// Kind is what an Event tells.
type Kind string

const (
	// Assigned: a member got partitions. It is told when the member hears of it.
	Assigned Kind = "assigned"
	// Revoked: a member gave partitions up. It is told when it has committed what it will.
	Revoked Kind = "revoked"
	// Lost: a member was told that its partitions may be another's already.
	Lost Kind = "lost"
	// Handled: a member is done with the records First to Last of one partition, Count in all.
	Handled Kind = "handled"
	// Committed: First is an offset that the broker has accepted, or, without a member, that it told somebody who asked.
	Committed Kind = "committed"
	// Refused: the broker has not accepted a commit of the Partitions.
	Refused Kind = "refused"
	// Joined: a member has a Generation, of that Assignor.
	Joined Kind = "joined"
	// Ended: a member is gone, however that came.
	Ended Kind = "ended"
	// Began: a phase of the history begins here; Phase, Clean and Limit belong to it.
	Began Kind = "began"
)

// Event is one moment of a group's life. The order of the times is the order of cause and effect: who stamps an event does so
// before anything else can follow from it.
type Event struct {
	At         time.Time
	Kind       Kind
	Member     string
	Partitions []int32 // of the one topic that is looked at

	First, Last, Count int64

	Generation int32
	Assignor   string
	Leader     bool

	Phase string
	Clean bool  // a record that is handled twice is a fault
	Limit int32 // so many generations it may take at most; 0: no matter
}

// String is the event in one line.
func (e Event) String() string {
	head := fmt.Sprintf("%s %s", e.At.UTC().Format("15:04:05.000"), e.Kind)
	if e.Member != "" {
		head += " " + e.Member
	}
	switch e.Kind {
	case Handled:
		return fmt.Sprintf("%s %v %d-%d", head, e.Partitions, e.First, e.Last)
	case Committed:
		return fmt.Sprintf("%s %v %d", head, e.Partitions, e.First)
	case Joined:
		return fmt.Sprintf("%s generation %d, %s", head, e.Generation, e.Assignor)
	case Began:
		return fmt.Sprintf("%s %s", head, e.Phase)
	case Ended:
		return head
	}
	return fmt.Sprintf("%s %v", head, e.Partitions)
}

package membership

import (
	"time"

	"github.com/skeinstream/skein/internal/roster"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Output is what is to be done, in the order of its fields.
type Output struct {
	// Stop are partitions of which no record is handed out from now on. Those in Lost take no commits any more, either.
	Stop []TopicPartition
	// Start are partitions that are the member's from now on.
	Start []TopicPartition
	// Call is a callback of the user to run; Called is the answer to it.
	Call *Call
	// Roster is what the members of a generation publish, for its leader; nil if nobody does.
	Roster *roster.Roster
	// Requests go to the coordinator; Answered is the answer to each.
	Requests []Request
	// Want are topics whose metadata the leader needs before it can plan; Metadata is the answer.
	Want []string
	// Events are for the log, the metrics and the user's hooks.
	Events []Event
	// Err is for the user, from the next poll. A fatal one ends the membership; Close is all that can follow it.
	Err   error
	Fatal bool
	// Wake is when Tick is wanted; it replaces what an earlier output said. The zero time: never.
	Wake time.Time
}

// Request is one to send, with the number that its answer carries.
type Request struct {
	ID  uint64
	Req kmsg.Request
}

// Callback is a kind of callback (R-B18).
type Callback uint8

const (
	// Revoked partitions may be committed until it returns. Under EAGER it is called at the start of every rebalance,
	// under COOPERATIVE only with some to give up.
	Revoked Callback = iota
	// Assigned is called once for every rebalance that is completed, with what is new, if nothing.
	Assigned
	// Lost partitions may be somebody else's already: nothing of them can be committed. It is called only with some.
	Lost
)

func (c Callback) String() string { return [...]string{"revoked", "assigned", "lost"}[c] }

// Call is a callback and what it is told.
type Call struct {
	Callback   Callback
	Partitions []TopicPartition
}

// Event is one thing that a rebalance did (I3, I5 of the requirements).
type Event struct {
	Kind                    EventKind
	Reason                  string
	OldGeneration           int32
	Generation              int32
	Member                  string
	Assignor                string
	Cooperative             bool
	Leader                  bool
	Added, Revoked, Dropped int
	Offered, Group          []string
}

// EventKind says what an Event is about.
type EventKind uint8

const (
	Rejoining    EventKind = iota // a rebalance begins for this member: Reason
	Joined                        // it has a generation: Assignor, Leader, and Cooperative, the protocol that it came with
	Completed                     // it has its assignment: Added, Revoked, Cooperative
	Yielded                       // a narrowed list was refused: it gives up all it owns (R-C12)
	Adopted                       // it offers what the group runs, too: Assignor (R-C10)
	Switched                      // it runs the other protocol from now on: Cooperative
	Expelled                      // the group has gone on without it: Dropped partitions are lost
	ShortCircuit                  // an EAGER assignor was selected although it owns some: Dropped (R-C17)
	Withheld                      // as the leader it kept back partitions that foreign members claim: Dropped (R-C16)
)

// Generation is in whose name offsets are committed (R-B13). It is never reset while the consumer lives: a member that
// was expelled commits in the name of its old generation, and is refused.
type Generation struct {
	ID       int32 // -1 before the first
	Member   string
	Instance string
}

package work

import "time"

// Input is how an act has ended, or a callback of the consumer, which comes in the middle of a Poll or after Stop.
type Input interface{ input() }

type (
	// Begun is the first input.
	Begun struct{}
	// Polled is the answer to Poll. Generation is the group's generation of now. Passed is how far partitions are that have no record which
	// waits to be processed, where the group does not have that: they begin there, or passed over ends of transactions. Err ends
	// the loop.
	Polled struct {
		Batches    []Batch
		Passed     []Reached
		Generation int32
		Err        error
	}
	// Processed is the answer to Process: Done, Again (to process it again helps, and the transaction is to be aborted), Fatal (the producer is
	// of no use any more), Hopeless (it is the end of the loop), Poison with Marks, Late, or Broken off.
	Processed struct {
		Outcome Outcome
		Reached []Reached // with Done: how far the partitions of the records are
		Records []Count   // with Done: how many of each partition
		Marks   []Mark
		Err     error
	}
	// Committed is the answer to Commit: Done, Again, Abortable, Fatal, Unknown, Hopeless, GroupMoved, NotOwned. Used is the generation
	// that was sent, Generation that of now.
	Committed struct {
		Outcome          Outcome
		Used, Generation int32
		Err              error
	}
	// Aborted is the answer to Abort: Done, Again, Hopeless; any other has the producer replaced. Partly is that other parts of it were
	// committed before, where each partition has a producer of its own.
	Aborted struct {
		Outcome Outcome
		Partly  bool
		Err     error
	}
	// Rewound is the answer to Rewind.
	Rewound struct{}
	// Renewed is the answer to Renew: Done, Hopeless; any other is tried again.
	Renewed struct {
		Outcome Outcome
		Err     error
	}

	// Assigned is a callback: Partitions are the member's from now on.
	Assigned struct {
		Partitions []Partition
		Generation int32
	}
	// Revoked is a callback: Partitions are to be given up by Until. Passed is as with Polled.
	Revoked struct {
		Partitions []Partition
		Passed     []Reached
		Generation int32
		Until      time.Time
	}
	// Gone is a callback: Partitions are another's already, or may be.
	Gone struct {
		Partitions []Partition
		Until      time.Time
	}
	// Quit says that the loop is to end in peace by Until. It comes before the answer to an act, and has no output.
	Quit struct{ Until time.Time }
)

func (Begun) input()     {}
func (Polled) input()    {}
func (Processed) input() {}
func (Committed) input() {}
func (Aborted) input()   {}
func (Rewound) input()   {}
func (Renewed) input()   {}
func (Assigned) input()  {}
func (Revoked) input()   {}
func (Gone) input()      {}
func (Quit) input()      {}

// Batch is what was polled of a partition.
type Batch struct {
	Partition
	Records int
}

// Count is how many records of a partition.
type Count = Batch

// Outcome is how an act has ended.
type Outcome uint8

const (
	// Done is well.
	Done Outcome = iota
	// Again is that the same act may be tried again.
	Again
	// Abortable is that the transaction is to be aborted.
	Abortable
	// Fatal is that the producer is to be replaced, and that the transaction is not committed.
	Fatal
	// Unknown is Fatal, when nobody has said whether the transaction is committed.
	Unknown
	// Hopeless is that nothing will help: the loop ends.
	Hopeless
	// GroupMoved is that the group does not know the generation that was sent, or not any more. The transaction is open still.
	GroupMoved
	// NotOwned is that nothing was sent, since a partition is not owned any more.
	NotOwned
	// Poison is that records cannot be processed.
	Poison
	// Late is that the processing was told to end at Until, and did.
	Late
	// BrokenOff is that the processing was told to end since its partitions are another's, or the loop has to end.
	BrokenOff
)

func (o Outcome) String() string {
	return [...]string{"done", "again", "abortable", "fatal", "unknown", "hopeless", "group moved", "not owned", "poison", "late", "broken off"}[o]
}

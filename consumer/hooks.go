package consumer

import "fmt"

// Hooks are told of what a dashboard or a test wants to know. Each may be nil. They are called by several goroutines, must not wait, and
// must not call the consumer.
type Hooks struct {
	// Event is one thing that a rebalance did.
	Event func(Event)
	// Commit is a commit that was answered: what was sent, and why it was refused.
	Commit func(Offsets, error)
	// Roster is what the members of a generation publish, as their leader sees it when all have joined, and before anything is assigned. It
	// is called on the leader alone, and not in a group where nobody publishes anything.
	Roster func(Roster)
	// Gap are records that were skipped, since the log does not hold them any more.
	Gap func(Gap)
}

// Gap is a hole in what was read of a partition (FR-F9).
type Gap struct {
	TopicPartition
	// From is the offset that was to be read, To the one where reading goes on. To is less than From after a truncation of the log
	// (KIP-320), when records from To on are new ones.
	From, To int64
}

// String says what was skipped.
func (g Gap) String() string {
	return fmt.Sprintf("%s: from %d on to %d", g.TopicPartition, g.From, g.To)
}

func (h Hooks) event(e Event) {
	if h.Event != nil {
		h.Event(e)
	}
}

func (h Hooks) commit(o Offsets, err error) {
	if h.Commit != nil {
		h.Commit(o, err)
	}
}

func (h Hooks) roster(r *Roster) {
	if h.Roster != nil && r != nil {
		h.Roster(*r)
	}
}

func (h Hooks) gap(g Gap) {
	if h.Gap != nil {
		h.Gap(g)
	}
}

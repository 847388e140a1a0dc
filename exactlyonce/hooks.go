package exactlyonce

import (
	"time"

	"github.com/skeinstream/skein/consumer"
	"github.com/skeinstream/skein/internal/work"
)

// Reason is why a transaction was not committed.
type Reason = work.Reason

// Reasons.
const (
	// Lost is that partitions of it are another member's, or may be.
	Lost = work.Lost
	// Moved is that the group has gone on to another generation, and that this member was not told of it in time.
	Moved = work.Moved
	// Refused is that the broker has refused to write or to commit.
	Refused = work.Refused
	// TooLong is that processing took longer than the transaction timeout.
	TooLong = work.TooLong
	// Poisoned is that a record could not be processed.
	Poisoned = work.Poisoned
	// Failed is that Run ends by an error.
	Failed = work.Failed
	// Halted is that Run ends, and could not wait.
	Halted = work.Halted
)

// Transaction is one that has ended.
type Transaction struct {
	// Records were processed in it, and Sent were sent.
	Records, Sent int
	// Offsets are those that it commits.
	Offsets consumer.Offsets
	// Took is how long it took, from the moment it was begun.
	Took time.Duration
}

// Hooks are told of what a dashboard or a test wants to know, in the order of what happens: each call of the function that had returned before a
// hook belongs to its transaction, or to an earlier one. Each may be nil. They must not wait.
type Hooks struct {
	// Committed is a transaction that is committed for good. One without records only moves offsets past the ends of transactions.
	Committed func(Transaction)
	// Aborted is one of which nothing will ever be seen by who reads what is committed.
	Aborted func(Transaction, Reason, error)
	// Unknown is one that is committed or aborted, and nobody has said which. The group's offsets do: processing goes on from there.
	Unknown func(Transaction, Reason, error)
	// Poisoned is a record that cannot be processed; skipped, if it was written to the dead-letter topic, which its transaction may not have
	// been committed for yet.
	Poisoned func(r *consumer.Record, err error, skipped bool)
	// Renewed is another producer in the place of one that was of no use any more, and of none.
	Renewed func()
}

func (h Hooks) committed(t Transaction) {
	if h.Committed != nil {
		h.Committed(t)
	}
}

func (h Hooks) aborted(t Transaction, why Reason, err error) {
	if h.Aborted != nil {
		h.Aborted(t, why, err)
	}
}

func (h Hooks) unknown(t Transaction, why Reason, err error) {
	if h.Unknown != nil {
		h.Unknown(t, why, err)
	}
}

func (h Hooks) poisoned(r *consumer.Record, err error, skipped bool) {
	if h.Poisoned != nil {
		h.Poisoned(r, err, skipped)
	}
}

func (h Hooks) renewed() {
	if h.Renewed != nil {
		h.Renewed()
	}
}

// Reasons are all of them.
func Reasons() []Reason { return work.Reasons() }

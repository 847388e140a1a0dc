package eossim

import (
	"errors"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/simulation"
	"github.com/skeinstream/skein/internal/transaction"
)

// hunt runs seeds with something wrong in them until it is found out, and says how.
func hunt(t *testing.T, with seams, plan func(uint64) *Script, wanted ...string) {
	t.Helper()
	t.Parallel()
	with.on = true
	const most = 600
	for seed := range uint64(most) {
		found := kinds(run(plan(seed), with, false))
		if slices.ContainsFunc(found, func(kind string) bool { return slices.Contains(wanted, kind) }) {
			t.Logf("seed %d: %v", seed, found)
			return
		}
	}
	t.Errorf("nobody has noticed in %d seeds", most)
}

// unfenced is a seam that commits offsets in nobody's name.
func unfenced(_ *member, req any) {
	if r, ok := req.(*kmsg.TxnOffsetCommitRequest); ok {
		r.Generation, r.MemberID, r.InstanceID = -1, "", nil
	}
}

// Offsets that no generation fences are taken of a zombie (R-F9).
func TestUnfencedOffsets(t *testing.T) {
	hunt(t, seams{request: unfenced}, Plan, "zombie", "back", "twice")
}

// Partitions that are lost are committed all the same. The broker refuses that, unless the commit is unfenced.
func TestCommitOfWhatIsLost(t *testing.T) {
	hunt(t, seams{commits: true, request: unfenced}, Plan, "twice", "zombie")
}

// The group's metadata is kept from the first generation (R-F19): nothing is committed ever more.
func TestCachedMetadata(t *testing.T) {
	hunt(t, seams{cached: true}, Plan, "liveness")
}

// A record that is not written does not keep the transaction from its commit (FR-H9).
func TestFailedSendIgnored(t *testing.T) {
	hunt(t, seams{ignoreFailed: true}, Plan, "lost", "told")
}

// What was handed out before an abort is not handed out again.
func TestNoWayBackAfterAborts(t *testing.T) {
	hunt(t, seams{stays: true}, Plan, "lost")
}

// Nobody ends what the dead have open.
func TestNobodyIsFenced(t *testing.T) {
	hunt(t, seams{spares: true}, Deaths, "held")
}

// A static member that publishes nothing any more, with the id of one that did, is taken for dead.
func TestNamesThatAreNotLookedAt(t *testing.T) {
	hunt(t, seams{nameless: true}, Plan, "fenced")
}

// Where a group is, and what there is, is read before it is decided (R-F18, R-D21).
func TestReadUncommitted(t *testing.T) {
	hunt(t, seams{dirty: true}, Plan, "ghost", "ahead", "twice")
}

// guess is a seam that takes an end without an answer for what it was to be.
func guess(err error) func(transaction.Step, *transaction.Answer) {
	return func(s transaction.Step, a *transaction.Answer) {
		if (s.Act == transaction.End || s.Act == transaction.EndByHand) && s.Commit && errors.Is(a.Err, simulation.ErrNoAnswer) {
			a.Err, a.Over = err, false
		}
	}
}

// A commit whose answer was lost is taken for one (R-F1).
func TestGuessedCommits(t *testing.T) {
	hunt(t, seams{answer: guess(nil)}, lossy, "lost", "told")
}

// It is taken for an abort.
func TestGuessedAborts(t *testing.T) {
	hunt(t, seams{answer: guess(errGuess)}, lossy, "twice", "told")
}

// errGuess is how the machine is told.
var errGuess = kerr.TransactionAbortable

// lossy are plans in which many messages are lost.
func lossy(seed uint64) *Script {
	s := Plan(seed)
	s.Lost, s.Tries = 40, 1
	return s
}

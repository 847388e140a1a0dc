package membership

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"
)

// What a refused commit means to the user (R-B6).
var (
	ErrRebalanceInProgress = errors.New("the group rebalances: poll, then commit again what is still owned")
	ErrCommitFailed        = errors.New("the member is out of the group's generation: others may have its partitions, and what it did not commit is read again")
)

// commitRefused takes an error of a commit.
func (m *Machine) commitRefused(in CommitRefused) {
	current := in.Generation >= 0 && in.Generation == m.generation && in.Member == m.member
	switch err := kerr.TypedErrorForCode(in.Code); err {
	case kerr.RebalanceInProgress:
		m.out.Err = ErrRebalanceInProgress
		if current && m.phase == steady { // else a rebalance is under way, and one is enough
			m.prepare("a commit was refused, since the group rebalances")
		}
	case kerr.IllegalGeneration, kerr.UnknownMemberID:
		m.out.Err = ErrCommitFailed
		switch {
		case !current && m.rebalances(), current && m.overtaken(err), m.outgrown(in):
			m.out.Err = ErrRebalanceInProgress
		case current:
			m.expelled(err == kerr.UnknownMemberID)
		}
	case kerr.FencedInstanceID:
		m.out.Err = ErrCommitFailed
		if current {
			m.fail(&JoinError{Group: m.cfg.Group, Instance: m.cfg.InstanceID, Err: err})
		}
	}
}

// outgrown says that a commit was overtaken by a round in which the member kept its place: what it still owns is as good as before. Kafka's
// consumers call that a failure, too, as soon as the round is over, though nobody else has read anything.
func (m *Machine) outgrown(in CommitRefused) bool {
	return in.Member == m.member && m.since <= in.Generation && in.Generation < m.generation
}

// rebalances says that the member is on its way to its next assignment.
func (m *Machine) rebalances() bool {
	switch m.phase {
	case preparing, looking, joining, asking, leading, syncing, giving, taking:
		return true
	}
	return false
}

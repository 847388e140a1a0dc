package transaction

import (
	"fmt"
	"maps"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Partition names one.
type Partition struct {
	Topic     string
	Partition int32
}

// Offset is what is committed for a partition.
type Offset struct {
	At          int64
	LeaderEpoch int32
	Metadata    string
}

// Group are offsets to commit, and in whose name.
type Group struct {
	Name string
	// Unfenced ones have no generation, no member and no instance.
	Unfenced bool
	// Lenient ones have, and are sent to brokers, too, that know nothing of them.
	Lenient    bool
	Generation int32
	Member     string
	Instance   string
	Offsets    map[Partition]Offset
}

func (g Group) check() error {
	switch {
	case g.Name == "":
		return errNoGroup
	case g.Unfenced:
		return nil
	case g.Generation < 0:
		return ErrNoGroupYet
	case g.Member == "":
		return errNoGeneration
	}
	return nil
}

// Offsets takes offsets that the transaction is to commit (R-F3). They are kept until Commit. Those of a group that has sent some before are
// added to them, under the generation that came last.
func (m *Machine) Offsets(g Group) error {
	const op = "sending offsets"
	switch m.state {
	case fatal:
		return m.cause
	case ready:
		return illegal(op, errNotOpen)
	case undecided:
		return illegal(op, errUndecided)
	case aborting:
		return illegal(op, errAborting)
	}
	if m.failure != nil {
		return &Error{op, AbortAndContinue, m.failure}
	}
	if err := g.check(); err != nil {
		return illegal(op, err)
	}
	if len(g.Offsets) > 0 {
		m.keep(g)
	}
	return nil
}

func (m *Machine) keep(g Group) {
	for i, known := range m.groups {
		if known.Name == g.Name && known.Unfenced == g.Unfenced {
			merged := maps.Clone(known.Offsets)
			maps.Copy(merged, g.Offsets)
			g.Offsets = merged
			m.groups[i] = g
			return
		}
	}
	g.Offsets = maps.Clone(g.Offsets)
	m.groups = append(m.groups, g)
}

// sendOffsets sends those of the ith group and what follows, and then ends the transaction.
func (m *Machine) sendOffsets(i int) {
	switch {
	case i == len(m.groups):
		m.end()
	case m.implicit && m.sent > 0:
		m.commitOffsets(i, implicit)
	default:
		m.byHand = m.byHand || m.sent == 0
		m.untilAnswered(Step{Act: AddOffsets, Group: m.groups[i]}, func(a Answer) { m.added(a, i) })
	}
}

func (m *Machine) added(a Answer, i int) {
	switch {
	case a.Err == nil:
		m.commitOffsets(i, explicit)
	case a.Over:
		m.reopens()
		m.waits(a.Err)
	case refusesOffsets(a.Err):
		m.fails(offsetsAdvice(a.Err))
	default:
		m.refused(a.Err)
	}
}

// refusesOffsets says of a refusal that it is the offsets that cannot be committed, and not the producer that cannot go on: who aborts can go
// on without them.
func refusesOffsets(err error) bool {
	switch codeOf(err) {
	case kerr.GroupAuthorizationFailed, kerr.TopicAuthorizationFailed, kerr.OffsetMetadataTooLarge, kerr.InvalidCommitOffsetSize, kerr.InvalidGroupID:
		return true
	}
	return false
}

// offsetsAdvice says what to change before the next transaction.
func offsetsAdvice(err error) error {
	switch codeOf(err) {
	case kerr.GroupAuthorizationFailed:
		return fmt.Errorf("the user may not READ this group: %w", err)
	case kerr.TopicAuthorizationFailed:
		return fmt.Errorf("the user may not READ this topic: %w", err)
	case kerr.OffsetMetadataTooLarge:
		return fmt.Errorf("an offset's metadata are more than the broker's offset.metadata.max.bytes allows: %w", err)
	case kerr.InvalidCommitOffsetSize:
		return fmt.Errorf("the offsets are more than the broker writes at once: send those of fewer partitions, with shorter metadata, or raise max.message.bytes of __consumer_offsets: %w", err)
	}
	return err
}

func (m *Machine) commitOffsets(i int, version int16) {
	s := Step{Act: CommitOffsets, Group: m.groups[i], Version: version}
	var judge func(Answer, int)
	judge = func(a Answer, n int) {
		m.echo = m.echo || a.lost()
		worst := a.Err
		if a.Err == nil {
			worst = worstOf(a.Refused)
		}
		if worst != nil && passes(worst) && !a.Over {
			m.last = worst
			m.again(s, n, judge)
			return
		}
		m.offsetsCommitted(a, worst, i)
	}
	m.do(s, func(a Answer) { judge(a, 0) })
}

// offsetsCommitted sorts what TxnOffsetCommit said (R-F4).
func (m *Machine) offsetsCommitted(a Answer, worst error, i int) {
	tooOld := !m.groups[i].Unfenced && !m.groups[i].Lenient && a.Version < fencedSince
	switch {
	case worst != nil && a.Over && passes(worst):
		m.reopens()
		m.waits(worst)
	case worst == nil && tooOld, codeOf(worst) == kerr.UnsupportedVersion:
		m.dies(m.op, ErrCannotFence)
	case worst == nil:
		m.sendOffsets(i + 1)
	case groupMoved(worst):
		m.reopens()
		m.returns(&Error{m.op, AbortAndContinue, fmt.Errorf("%w (%w)", ErrGroupMoved, worst)})
	case refusesOffsets(worst):
		m.fails(offsetsAdvice(worst))
	default:
		m.refused(worst)
	}
}

// reopens takes records and offsets again, after a Commit that has decided nothing.
func (m *Machine) reopens() { m.closed = false }

func groupMoved(err error) bool {
	switch codeOf(err) {
	case kerr.IllegalGeneration, kerr.UnknownMemberID, kerr.RebalanceInProgress, kerr.FencedInstanceID:
		return true
	}
	return false
}

// worstOf is the error of the partitions that decides: one that does not pass before one that does.
func worstOf(refused []error) error {
	var worst error
	for _, err := range refused {
		if worst == nil || passes(worst) && !passes(err) {
			worst = err
		}
	}
	return worst
}

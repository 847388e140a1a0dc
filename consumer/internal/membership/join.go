package membership

import (
	"fmt"
	"math"
	"time"

	"github.com/skeinstream/skein/assign"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// join begins to ask for a generation.
func (m *Machine) join() {
	if m.looks() {
		return
	}
	m.phase, m.attempted = joining, true
	m.flight.tries = 0
	if m.astray > 1 { // a leader that goes on like that is not to be asked without a pause
		m.flight.tries = m.astray
		m.later()
		return
	}
	m.sendJoin()
}

// joined takes the answer to a JoinGroup.
func (m *Machine) joined(resp *kmsg.JoinGroupResponse) {
	if resp.ErrorCode != 0 {
		m.joinRefused(resp)
		return
	}
	m.forgotten = m.missed(resp)
	m.seen, m.summoned = m.flight.sent, time.Time{}
	if m.forgotten || m.generation < 0 {
		m.since = resp.Generation
	}
	m.round.back = m.cfg.InstanceID != "" && m.generation < 0
	m.member, m.generation = resp.MemberID, resp.Generation
	m.attend()
	if m.forgotten {
		m.prepare("the group has had rounds without the member")
		return
	}
	a := find(m.cfg.Assignors, text(resp.Protocol))
	if a == nil {
		a = find(m.adopted, text(resp.Protocol))
	}
	if a == nil {
		m.fail(&ProtocolError{Group: m.cfg.Group, Offered: m.offered(), Selected: text(resp.Protocol)})
		return
	}
	if m.shortCircuits(a) {
		m.shortCircuit(a)
		return
	}
	old := m.named.ID
	m.assignor = a
	m.named = Generation{ID: resp.Generation, Member: resp.MemberID, Instance: m.cfg.InstanceID}
	m.round.leader, m.round.skips = resp.LeaderID == resp.MemberID, resp.SkipAssignment
	m.event(Event{Kind: Joined, OldGeneration: old, Assignor: a.Name(), Leader: m.round.leader, Cooperative: m.cooperative})
	m.lead(resp.Members)
}

// missed says that the group has had rounds without this member, which may have given away what it owns. A static member that
// misses a round stays in the group, so that the broker says nothing (R-C23); in the name of the new generation it would take
// commits of partitions that are somebody else's. Dynamic members are expelled, and are not known any more.
//
// A group without a leader is one of the new protocol (KIP-848). Its generations skip numbers, and its broker gives nothing away before it is given up;
// but it takes whoever was expelled for a new member of the same name, without a word (R-H8). So a member that may have been, since its session is
// over, or the time that it had to join, has to draw the conclusion itself.
func (m *Machine) missed(resp *kmsg.JoinGroupResponse) bool {
	switch {
	case len(m.owned) == 0:
		return false
	case resp.LeaderID == "":
		return !m.now.Before(m.keptUntil())
	case m.cfg.InstanceID == "":
		return false
	}
	next := m.generation + 1
	if m.generation == math.MaxInt32 {
		next = 1 // the broker begins again
	}
	return resp.Generation != m.generation && resp.Generation != next
}

// shortCircuits says that an assignor was selected which cannot know what this member owns, and may have given it away. The
// rules never let it come to that; foreign leaders and brokers might (R-C17).
func (m *Machine) shortCircuits(a assign.Assignor) bool {
	return !m.cfg.Static && len(m.owned) > 0 && !supports(a, assign.Cooperative)
}

// shortCircuit counts all as lost. The generation that offsets are committed in stays the old one, so that the broker, too,
// refuses what is committed from here on.
func (m *Machine) shortCircuit(a assign.Assignor) {
	m.event(Event{Kind: ShortCircuit, Assignor: a.Name(), Dropped: len(m.owned)})
	m.forgotten, m.since = true, m.generation
	m.descend()
	m.prepare("an EAGER assignor was selected while the member owns partitions")
}

// joinRefused takes an error of a JoinGroup (R-B14).
func (m *Machine) joinRefused(resp *kmsg.JoinGroupResponse) {
	switch err := kerr.TypedErrorForCode(resp.ErrorCode); err {
	case kerr.MemberIDRequired:
		m.baptize(resp.MemberID)
	case kerr.UnknownMemberID:
		if m.member == "" && len(m.owned) == 0 { // which it has not said to be known
			m.later()
			return
		}
		m.expelledWhileJoining()
	case kerr.InconsistentGroupProtocol:
		m.inconsistent()
	default:
		if err.Retriable || err == kerr.RebalanceInProgress || err == kerr.IllegalGeneration {
			m.later()
			return
		}
		m.fail(&JoinError{Group: m.cfg.Group, Instance: m.cfg.InstanceID, Err: err})
	}
}

// baptize takes the name that the broker gives, and joins with it. One that does not know what it has given is not asked without a pause.
func (m *Machine) baptize(member string) {
	again := m.member != ""
	if m.member = member; again {
		m.later()
		return
	}
	m.sendJoin()
}

// expelledWhileJoining: what the member owned is lost before it asks anew, under a new name.
func (m *Machine) expelledWhileJoining() {
	m.reset(true)
	m.prepare("the broker does not know the member")
}

// inconsistent is INCONSISTENT_GROUP_PROTOCOL. With a narrowed list it is the sign that a member which is EAGER alone has come: this one
// gives up all it owns, in peace, since the generation still holds, and offers everything once (R-C12).
func (m *Machine) inconsistent() {
	if m.round.narrowed {
		m.event(Event{Kind: Yielded, Offered: m.offered(), Dropped: len(m.owned)})
		m.descend()
		m.prepare("the narrowed list of assignors was refused")
		return
	}
	m.adopt()
}

func (m *Machine) offered() []string {
	offered, _ := m.offers()
	return namesOf(offered)
}

// JoinError is an error that only the user can end.
type JoinError struct {
	Group, Instance string
	Err             error
}

func (e *JoinError) Unwrap() error { return e.Err }

func (e *JoinError) Error() string {
	return fmt.Sprintf("joining group %q: %s%s", e.Group, e.Err, e.hint())
}

func (e *JoinError) hint() string {
	switch e.Err {
	case kerr.FencedInstanceID:
		return fmt.Sprintf(": another process has taken over group.instance.id %q: give each process one of its own", e.Instance)
	case kerr.UnsupportedVersion:
		if e.Instance != "" {
			return ": the broker knows no static members, as Kafka does since 2.3: leave group.instance.id out"
		}
	case kerr.InvalidSessionTimeout:
		return ": choose a session timeout between the broker's group.min.session.timeout.ms and group.max.session.timeout.ms"
	case kerr.GroupMaxSizeReached:
		return ": the group has as many members as the broker's group.max.size allows"
	}
	return ""
}

package membership

import (
	"fmt"
	"slices"

	"github.com/skeinstream/skein/assign"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// sync asks for the assignment; the leader brings the plan.
func (m *Machine) sync(plan []kmsg.SyncGroupRequestGroupAssignment) {
	req := kmsg.NewPtrSyncGroupRequest()
	req.Group, req.Generation, req.MemberID = m.cfg.Group, m.generation, m.member
	req.InstanceID = nullable(m.cfg.InstanceID)
	req.ProtocolType, req.Protocol = nullable(protocolType), nullable(m.assignor.Name())
	req.GroupAssignment = plan
	m.phase, m.round.sync = syncing, req
	m.flight.tries = 0
	m.sendSync()
}

func (m *Machine) sendSync() { m.send(m.round.sync) }

// synced takes the answer to a SyncGroup.
func (m *Machine) synced(resp *kmsg.SyncGroupResponse) {
	if resp.ErrorCode != 0 {
		m.syncRefused(resp.ErrorCode)
		return
	}
	if name := resp.Protocol; name != nil && *name != m.assignor.Name() {
		m.fail(&ProtocolError{Group: m.cfg.Group, Offered: m.offered(), Selected: *name})
		return
	}
	a, err := assign.DecodeAssignment(resp.MemberAssignment)
	if err != nil {
		m.fail(fmt.Errorf("reading the assignment of group %q: %w", m.cfg.Group, err))
		return
	}
	m.seen = m.flight.sent
	m.assigned(a)
}

// syncRefused takes an error of a SyncGroup (R-B14). Between JoinGroup and SyncGroup a group of Kafka's may be converted to the new protocol,
// in which the name is the first of the member's list, or back, and then it is the one that is selected anew: the name of before is
// refused, while the generation goes on (R-H7, R-H9).
func (m *Machine) syncRefused(code int16) {
	switch err := kerr.TypedErrorForCode(code); err {
	case kerr.RebalanceInProgress:
		m.summons(m.flight.sent)
		m.prepare("the group rebalances again")
	case kerr.IllegalGeneration, kerr.UnknownMemberID:
		m.astray++
		m.reset(err == kerr.UnknownMemberID)
		m.prepare("the group has gone on without the member")
	case kerr.InconsistentGroupProtocol: // whether there is a name in common is for JoinGroup to say
		m.astray++
		m.prepare("the group has another protocol by now")
	default:
		if err.Retriable {
			m.later()
			return
		}
		m.fail(&JoinError{Group: m.cfg.Group, Instance: m.cfg.InstanceID, Err: err})
	}
}

// assigned compares the assignment with what is owned.
func (m *Machine) assigned(a assign.Assignment) {
	next := setOf(a.Partitions)
	if unknown := next.outside(m.topics); len(unknown) > 0 && !m.follow(unknown) {
		m.astray++
		m.prepare(fmt.Sprintf("the assignment has topic %s, to which the member does not subscribe", unknown[0].Topic))
		return
	}
	m.round.next, m.astray = next, 0
	m.history = assign.History{Owned: next.lists(), Generation: m.generation, UserData: m.hear(a.UserData)}
	revoked := m.owned.minus(next)
	if len(revoked) == 0 {
		m.take()
		return
	}
	m.phase, m.round.revoked = giving, len(revoked)
	m.again = "the member gave partitions up"
	m.stop(revoked)
	m.call(Revoked, revoked)
}

// follow takes topics into the subscription which its pattern matches, and of which the leader has heard first (R-B8).
func (m *Machine) follow(unknown set) bool {
	if m.matches == nil {
		return false
	}
	topics := slices.Clone(m.topics)
	for _, p := range unknown {
		if !m.matches(p.Topic) {
			return false
		}
		topics = append(topics, p.Topic)
	}
	m.topics = slices.Compact(slices.Sorted(slices.Values(topics)))
	return true
}

// take makes the assignment the member's.
func (m *Machine) take() {
	added := m.round.next.minus(m.owned)
	m.owned, m.round.added, m.phase = m.round.next, len(added), taking
	m.switches()
	m.out.Start = append(m.out.Start, added...)
	m.call(Assigned, added)
}

// switches follows the assignor that was selected: COOPERATIVE from here on if it supports that, and the member prefers it (R-C11, R-C14).
func (m *Machine) switches() {
	if m.cfg.Static {
		return
	}
	was := m.cooperative
	if supports(m.assignor, assign.Cooperative) && supports(m.cfg.Assignors[0], assign.Cooperative) {
		m.climb()
	} else {
		m.descend()
	}
	if was != m.cooperative {
		m.event(Event{Kind: Switched, Assignor: m.assignor.Name(), Cooperative: m.cooperative})
	}
}

func (m *Machine) climb() {
	m.climbed = min(m.climbed+1, m.cfg.UpgradeRounds)
	m.cooperative = m.climbed == m.cfg.UpgradeRounds
}

// descend goes back to EAGER; the way up begins anew.
func (m *Machine) descend() { m.cooperative, m.climbed = false, 0 }

// complete ends the rebalance, and begins the next if there is a reason.
func (m *Machine) complete() {
	m.phase, m.attempted = steady, false
	m.event(Event{Kind: Completed, Assignor: m.assignor.Name(), Cooperative: m.cooperative, Leader: m.round.leader, Added: m.round.added, Revoked: m.round.revoked})
	m.out.Err, m.round.failed = m.round.failed, nil
	switch {
	case m.forgotten:
		m.prepare("the group has gone on without the member")
	case m.again != "":
		m.prepare(m.again)
	default:
		m.watch()
		m.audit()
	}
}

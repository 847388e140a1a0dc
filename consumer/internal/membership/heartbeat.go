package membership

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// heartbeat is the one under way, or when the next is due.
type heartbeat struct {
	id         uint64
	next       time.Time
	generation int32
	member     string
}

// beats says that the broker has to hear of the member: whenever it has a generation and no other request of it is under way.
// Kafka's consumers are silent during callbacks, and are expelled by slow ones (R-B10).
func (m *Machine) beats() bool {
	switch m.phase {
	case preparing, leading, giving, taking, steady:
		return m.generation >= 0
	}
	return false
}

// beatAt is when the next one is due.
func (m *Machine) beatAt() time.Time {
	if !m.beats() || m.beat.id != 0 {
		return time.Time{}
	}
	return m.beat.next
}

func (m *Machine) heartbeat() {
	if at := m.beatAt(); at.IsZero() || m.now.Before(at) {
		return
	}
	req := kmsg.NewPtrHeartbeatRequest()
	req.Group, req.Generation, req.MemberID, req.InstanceID = m.cfg.Group, m.generation, m.member, nullable(m.cfg.InstanceID)
	m.beat = heartbeat{id: m.flight.next(), generation: m.generation, member: m.member}
	m.out.Requests = append(m.out.Requests, Request{m.beat.id, req})
}

// beaten takes the answer.
func (m *Machine) beaten(in Answered) {
	sent := m.beat
	m.beat = heartbeat{next: m.now.Add(m.cfg.HeartbeatInterval)}
	resp, ok := in.Response.(*kmsg.HeartbeatResponse)
	if !ok || in.Err != nil {
		m.beat.next = m.now.Add(m.cfg.RetryMax)
		return
	}
	if sent.generation != m.generation || sent.member != m.member {
		return // it was about who the member is not any more
	}
	switch err := kerr.TypedErrorForCode(resp.ErrorCode); err {
	case kerr.RebalanceInProgress:
		if m.phase == steady {
			m.prepare("the group rebalances")
		}
	case kerr.IllegalGeneration, kerr.UnknownMemberID:
		m.expelled(err == kerr.UnknownMemberID)
	case kerr.FencedInstanceID, kerr.GroupAuthorizationFailed:
		m.fail(&JoinError{Group: m.cfg.Group, Instance: m.cfg.InstanceID, Err: err})
	}
}

// expelled: the group has gone on without the member. What it owns is lost, as soon as the callback under way has ended. An answer
// to a JoinGroup or SyncGroup that is still out does not count any more: it would make an owner of a member that is none.
func (m *Machine) expelled(member bool) {
	m.reset(member)
	switch m.phase {
	case joining, asking, leading, syncing, steady:
		m.prepare("the group has gone on without the member")
	}
}

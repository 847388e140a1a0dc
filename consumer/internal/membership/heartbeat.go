package membership

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// heartbeat is the one under way, or when the next is due.
type heartbeat struct {
	id         uint64
	at         time.Time
	next       time.Time
	pause      time.Duration // that was between the last one and this
	generation int32
	member     string
}

// attend begins the heartbeats of a generation. A round that takes partitions away is followed by one that gives them to others,
// as soon as who had them has let go, which takes a callback and a commit. Until all members have heard of it, these partitions
// stand still. So the pauses between heartbeats begin short and double: whoever hears of the next round waits no longer than the
// round has taken to come. It costs a member eight requests more a generation, at 3 s (docs/decision/0009-heartbeats-after-a-round.md).
func (m *Machine) attend() { m.rests(m.cfg.FirstHeartbeat) }

// rests until the next heartbeat.
func (m *Machine) rests(pause time.Duration) { m.beat.pause, m.beat.next = pause, m.now.Add(pause) }

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
	m.beat = heartbeat{id: m.flight.next(), at: m.now, generation: m.generation, member: m.member, pause: m.beat.pause}
	m.out.Requests = append(m.out.Requests, Request{m.beat.id, req})
}

// beaten takes the answer.
func (m *Machine) beaten(in Answered) {
	sent := m.beat
	m.beat = heartbeat{}
	m.rests(min(2*sent.pause, m.cfg.HeartbeatInterval))
	resp, ok := in.Response.(*kmsg.HeartbeatResponse)
	if !ok || in.Err != nil {
		m.beat.next = m.now.Add(m.cfg.RetryMax)
		return
	}
	if sent.generation != m.generation || sent.member != m.member {
		return // it was about who the member is not any more
	}
	switch err := kerr.TypedErrorForCode(resp.ErrorCode); err {
	case nil:
		m.seen = sent.at
	case kerr.RebalanceInProgress:
		m.seen = sent.at
		m.summons(sent.at)
		if m.phase == steady {
			m.prepare("the group rebalances")
		}
	case kerr.IllegalGeneration, kerr.UnknownMemberID:
		if !m.overtaken(err) {
			m.expelled(err == kerr.UnknownMemberID)
		}
	case kerr.FencedInstanceID, kerr.GroupAuthorizationFailed:
		m.fail(&JoinError{Group: m.cfg.Group, Instance: m.cfg.InstanceID, Err: err})
	}
}

// summons notes that the member is told to join, by the answer to what was sent at a moment.
func (m *Machine) summons(sent time.Time) {
	if m.summoned.IsZero() {
		m.summoned = sent
	}
}

// keptUntil is how long a group of the new protocol keeps the member for certain: for a session, and once it was told to join, for a rebalance, however
// often it is heard of meanwhile (R-H8).
func (m *Machine) keptUntil() time.Time {
	session := m.seen.Add(m.cfg.SessionTimeout)
	if m.summoned.IsZero() {
		return session
	}
	if rebalance := m.summoned.Add(m.cfg.PollInterval); rebalance.Before(session) {
		return rebalance
	}
	return session
}

// overtaken says that ILLEGAL_GENERATION of the member's generation is no news: the round that it is in has ended, and the answer to
// its JoinGroup is on the way. A dynamic member that a round leaves out is not known any more, which is another error. A static
// one is, and others may have what it owned (R-C23).
func (m *Machine) overtaken(err *kerr.Error) bool {
	return err == kerr.IllegalGeneration && m.phase == joining && m.cfg.InstanceID == ""
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

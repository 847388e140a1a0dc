package membership

import "github.com/twmb/franz-go/pkg/kmsg"

// leave ends the subscription, after the callback that is under way.
func (m *Machine) leave() {
	if m.phase == closed || m.phase == failed && !m.closes {
		return
	}
	m.flight.drop()
	if m.flight.call != nil {
		m.leaves = true
		return
	}
	m.depart()
}

// depart tells the user first: what can be committed still is revoked, the rest is lost (R-B17).
func (m *Machine) depart() {
	callback := Lost
	if m.assignedNow() {
		callback = Revoked
	}
	m.phase = leaving
	if len(m.owned) == 0 {
		m.left()
		return
	}
	m.stop(m.owned)
	m.call(callback, m.owned)
}

// assignedNow says that what is owned is so by the plan in force: the broker takes commits of it.
func (m *Machine) assignedNow() bool {
	switch m.phase {
	case giving, taking, steady:
		return m.generation >= 0
	}
	return false
}

// left tells the broker. The user may have subscribed again while the callback ran.
func (m *Machine) left() {
	if !m.closes || !m.cfg.StayOnClose {
		m.sendLeave("the consumer unsubscribes or closes")
	}
	m.reset(true)
	m.forgotten, m.again, m.attempted, m.led, m.adopted = false, "", false, nil, nil
	m.out.Err, m.round = m.round.failed, round{}
	switch {
	case m.closes:
		m.phase = closed
	case len(m.topics) > 0 || m.matches != nil:
		m.enter()
	default:
		m.phase = idle
	}
}

// sendLeave asks for no answer. Static members do not leave (R-B15).
func (m *Machine) sendLeave(reason string) {
	if m.cfg.InstanceID != "" || m.member == "" {
		return
	}
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group, req.MemberID = m.cfg.Group, m.member
	member := kmsg.NewLeaveGroupRequestMember()
	member.MemberID, member.Reason = m.member, nullable(cut(reason))
	req.Members = append(req.Members, member)
	m.out.Requests = append(m.out.Requests, Request{m.flight.next(), req})
}

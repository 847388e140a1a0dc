package membership

import "github.com/twmb/franz-go/pkg/kmsg"

// leave ends the subscription, after the callback that is under way.
func (m *Machine) leave() {
	if m.phase == closed || m.phase == failed && !m.closes {
		return
	}
	m.strays()
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
	m.goAway("the consumer unsubscribes or closes")
	m.forgotten, m.again, m.attempted, m.led, m.adopted, m.known, m.gone, m.looked = false, "", false, nil, nil, nil, nil, false
	m.out.Err, m.round = m.round.failed, round{}
	switch {
	case m.closes:
		m.phase, m.flight.waits = closed, m.now.Add(longestWait)
	case len(m.topics) > 0 || m.matches != nil:
		m.enter()
	default:
		m.phase = idle
	}
}

// goAway takes the member out of its generation. It keeps its id unless it has told the broker that it leaves (FR-G1): without it, it would be a new
// process to the broker, which fences what of the member is still under way, or another process that has its name by now.
func (m *Machine) goAway(reason string) {
	m.reset(m.sendLeave(reason))
}

// sendLeave asks for no answer, and says whether it was sent. Static members do not leave (R-B15).
func (m *Machine) sendLeave(reason string) bool {
	if !m.tellsOfLeaving() || m.member == "" {
		return false
	}
	m.leaveAs(m.member, reason)
	return true
}

func (m *Machine) tellsOfLeaving() bool {
	return m.cfg.InstanceID == "" && (!m.closes || !m.cfg.StayOnClose)
}

func (m *Machine) leaveAs(id, reason string) {
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group, req.MemberID = m.cfg.Group, id
	member := kmsg.NewLeaveGroupRequestMember()
	member.MemberID, member.Reason = id, nullable(cut(reason))
	req.Members = append(req.Members, member)
	m.out.Requests = append(m.out.Requests, Request{m.flight.next(), req})
}

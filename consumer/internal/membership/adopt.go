package membership

import (
	"fmt"
	"strings"

	"github.com/skeinstream/skein/assign"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ProtocolError says that a group runs assignors which the member does not offer (R-C10).
type ProtocolError struct {
	Group    string
	Offered  []string
	Selected string // what the group runs, "" when it could not be found out
}

func (e *ProtocolError) Error() string {
	offered := strings.Join(e.Offered, ", ")
	if e.Selected == "" {
		return fmt.Sprintf("group %q has no assignor in common with this member, which offers %s: add one that every member of the group offers", e.Group, offered)
	}
	return fmt.Sprintf("group %q runs the assignor %q, this member offers %s: add %q to its assignors, or move the group to one of them first", e.Group, e.Selected, offered, e.Selected)
}

// adopt looks up what the group runs, to offer it, too. Only a group that is Stable tells, so that it may take a while.
func (m *Machine) adopt() {
	if m.cfg.StrictAssignors || m.adopted != nil {
		m.fail(&ProtocolError{Group: m.cfg.Group, Offered: m.offered()})
		return
	}
	m.phase, m.flight.tries = asking, m.round.vain
	if m.round.vain > 0 {
		m.askUntil()
		return
	}
	m.flight.until = m.now.Add(m.cfg.PollInterval)
	m.ask()
}

func (m *Machine) ask() {
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Groups = []string{m.cfg.Group}
	m.send(req)
}

// described takes the answer.
func (m *Machine) described(resp *kmsg.DescribeGroupsResponse) {
	if len(resp.Groups) != 1 || resp.Groups[0].ErrorCode != 0 || resp.Groups[0].Protocol == "" || resp.Groups[0].State != "Stable" {
		m.askAgain(resp)
		return
	}
	name := resp.Groups[0].Protocol
	if find(m.cfg.Assignors, name) != nil { // the group has changed its mind meanwhile
		m.tryAgain()
		return
	}
	a := find(m.cfg.Known, name)
	if a == nil || resp.Groups[0].ProtocolType != protocolType || m.cfg.Static && m.cooperative && !supports(a, assign.Cooperative) {
		m.fail(&ProtocolError{Group: m.cfg.Group, Offered: m.offered(), Selected: name})
		return
	}
	m.event(Event{Kind: Adopted, Assignor: name, Offered: m.offered(), Group: []string{name}})
	m.adopted = []assign.Assignor{a}
	m.join()
}

// askAgain waits until the group is Stable; one that is empty, or gone, takes the member as it is.
func (m *Machine) askAgain(resp *kmsg.DescribeGroupsResponse) {
	if len(resp.Groups) == 1 && (resp.Groups[0].State == "Empty" || resp.Groups[0].State == "Dead") {
		m.tryAgain()
		return
	}
	m.askUntil()
}

// tryAgain joins a group that would take the member as it is, by what is said of it. A group of the new protocol is said to be dead, as who asks in
// the classic one is answered, and its classic members keep the member out for as long as they are there (R-H8): then it asks and joins after
// pauses that grow.
func (m *Machine) tryAgain() {
	m.round.vain++
	m.join()
}

// askUntil asks again as long as others would wait for a member in a rebalance.
func (m *Machine) askUntil() {
	if !m.now.Before(m.flight.until) {
		m.fail(&ProtocolError{Group: m.cfg.Group, Offered: m.offered()})
		return
	}
	m.later()
}

package membership

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// longestWait is how long a member that is closed waits for names that are on their way to it: some round trips.
const longestWait = time.Second

// strays remembers the first JoinGroup if the member leaves before it is answered. The broker names a member then that there is not, and each
// round of the group waits for it until its session ends (R-K3, KIP-394). Kafka's consumers leave it at that.
func (m *Machine) strays() {
	if m.phase == joining && m.flight.id != 0 && m.member == "" && m.tellsOfLeaving() {
		m.flight.strays = append(m.flight.strays, m.flight.id)
	}
}

// strayed takes the answer to such a JoinGroup, and gives the name back; it says whether it was one.
func (m *Machine) strayed(in Answered) bool {
	i := slices.Index(m.flight.strays, in.ID)
	if i < 0 {
		return false
	}
	m.flight.strays = slices.Delete(m.flight.strays, i, i+1)
	resp, ok := in.Response.(*kmsg.JoinGroupResponse)
	if ok && resp.MemberID != "" && (resp.ErrorCode == 0 || resp.ErrorCode == kerr.MemberIDRequired.Code) {
		m.leaveAs(resp.MemberID, "the consumer had gone before it was named")
	}
	return true
}

// stopWaiting ends the wait for names.
func (m *Machine) stopWaiting() {
	if at := m.waitsUntil(); !at.IsZero() && !m.now.Before(at) {
		m.flight.strays = nil
	}
}

func (m *Machine) waitsUntil() time.Time {
	if m.phase != closed || len(m.flight.strays) == 0 {
		return time.Time{}
	}
	return m.flight.waits
}

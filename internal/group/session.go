package group

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/grouptags"
)

// heartbeat is Heartbeat: the member lives on, and hears when it must join again. v3 has instance ids. This is the most
// frequent request of all: it changes one number.
func (m *Machine) heartbeat(r *kmsg.HeartbeatRequest) *kmsg.HeartbeatResponse {
	out := kmsg.NewPtrHeartbeatResponse()
	out.Version = r.Version
	g := m.group(r.Group)
	switch {
	case r.Group == "":
		out.ErrorCode = kerr.InvalidGroupID.Code
	case g == nil:
		out.ErrorCode = kerr.UnknownMemberID.Code
	default:
		out.ErrorCode = g.heartbeat(r)
	}
	return out
}

func (g *Group) heartbeat(r *kmsg.HeartbeatRequest) int16 {
	who, code := g.identity(r.MemberID, r.InstanceID)
	switch {
	case code != 0:
		return code
	case r.Generation != g.generation:
		return kerr.IllegalGeneration.Code
	}
	g.touch(who, g.m.now)
	if g.state == PreparingRebalance {
		return kerr.RebalanceInProgress.Code
	}
	return 0
}

// sessionEnded removes a member that was silent for too long. While a Join or Sync of it waits that is not silence, save for
// a new member, whose time this is (R-K9); the answer begins the session anew.
func (g *Group) sessionEnded(who *member) {
	if who.waits() && !who.fresh {
		return
	}
	g.remove(who)
	g.removed(causeOf(grouptags.Expired, who, nil))
}

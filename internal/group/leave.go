package group

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/grouptags"
)

// leave is LeaveGroup. From v3 it names several members, each with its own answer: by id, by instance id alone (which is how
// an administrator removes a static member), or both. v5 has reasons. Before v3 the answer is that of the only member.
func (m *Machine) leave(r *kmsg.LeaveGroupRequest) *kmsg.LeaveGroupResponse {
	out := kmsg.NewPtrLeaveGroupResponse()
	out.Version = r.Version
	if r.Group == "" {
		out.ErrorCode = kerr.InvalidGroupID.Code
		return out
	}
	leavers := r.Members
	if r.Version < 3 {
		leavers = []kmsg.LeaveGroupRequestMember{{MemberID: r.MemberID}}
	}
	out.Members = m.group(r.Group).leave(leavers)
	if r.Version < 3 {
		out.ErrorCode, out.Members = out.Members[0].ErrorCode, nil
	}
	return out
}

// leave lets members go and starts one rebalance for all of them. Of an unknown group nobody is a member (R-K9).
func (g *Group) leave(leavers []kmsg.LeaveGroupRequestMember) []kmsg.LeaveGroupResponseMember {
	out := make([]kmsg.LeaveGroupResponseMember, len(leavers))
	var first *cause
	dropped := false
	for i := range leavers {
		l := &leavers[i]
		out[i] = kmsg.NewLeaveGroupResponseMember()
		out[i].MemberID, out[i].InstanceID = l.MemberID, l.InstanceID
		if g != nil && g.drop(l.MemberID) {
			dropped = true
			continue
		}
		who, code := g.leaver(l)
		out[i].ErrorCode = code
		if code != 0 {
			continue
		}
		if first == nil {
			why := causeOf(grouptags.Left, who, l.Reason)
			first = &why
		}
		g.remove(who)
	}
	switch {
	case first != nil:
		g.removed(*first)
	case dropped:
		g.completeIfJoined()
	}
	return out
}

// leaver is the member that is meant.
func (g *Group) leaver(l *kmsg.LeaveGroupRequestMember) (*member, int16) {
	if g == nil {
		return nil, kerr.UnknownMemberID.Code
	}
	if l.MemberID != "" {
		return g.identity(l.MemberID, l.InstanceID)
	}
	if l.InstanceID != nil {
		if who := g.members.byInstance[*l.InstanceID]; who != nil {
			return who, 0
		}
	}
	return nil, kerr.UnknownMemberID.Code
}

package group

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/grouptags"
	"github.com/skeinstream/skein/internal/machine"
)

// sync is SyncGroup: members ask for their assignment, the leader brings all of them. v3 has instance ids; v5 names the
// protocol, which both sides must agree on.
func (m *Machine) sync(caller machine.Token, r *kmsg.SyncGroupRequest) {
	g := m.group(r.Group)
	who, code := g.syncer(r)
	switch {
	case code != 0:
		m.reply(caller, syncRefused(r.Version, code))
	case g.state == PreparingRebalance:
		m.reply(caller, syncRefused(r.Version, kerr.RebalanceInProgress.Code))
	case g.state == Stable:
		g.synced(who)
		m.reply(caller, g.assignmentFor(who, r.Version))
	default:
		g.synced(who)
		g.parkSync(who, caller, r.Version)
		if who == g.leader {
			g.assign(r.GroupAssignment)
		}
	}
}

// syncer is the member that syncs, or why it may not. The missing protocol is looked at before all else (R-K1).
func (g *Group) syncer(r *kmsg.SyncGroupRequest) (*member, int16) {
	switch {
	case r.Version >= 5 && (r.ProtocolType == nil || r.Protocol == nil):
		return nil, kerr.InconsistentGroupProtocol.Code
	case r.Group == "":
		return nil, kerr.InvalidGroupID.Code
	case g == nil:
		return nil, kerr.UnknownMemberID.Code
	}
	who, code := g.identity(r.MemberID, r.InstanceID)
	switch {
	case code != 0:
		return nil, code
	case r.Generation != g.generation:
		return nil, kerr.IllegalGeneration.Code
	case r.ProtocolType != nil && *r.ProtocolType != g.protocolType,
		r.Protocol != nil && (g.protocol == nil || *r.Protocol != *g.protocol):
		return nil, kerr.InconsistentGroupProtocol.Code
	}
	return who, 0
}

// assign takes the leader's assignment over, as it came: what it does not name gets nothing, who is no member is left out
// (R-D10). The group is Stable with that; the answers wait until it is durable.
func (g *Group) assign(assignment []kmsg.SyncGroupRequestGroupAssignment) {
	for who := range g.members.all() {
		who.assignment = []byte{}
	}
	for i := range assignment {
		if who := g.members.byID[assignment[i].MemberID]; who != nil {
			who.assignment = assignment[i].MemberAssignment
		}
	}
	g.assignmentStored(g.m.now.Sub(g.stateSince))
	g.assigned, g.owners = true, nil
	g.enter(Stable)
	g.m.rebalances++
	g.m.write(g.record())
	if g.unsynced == 0 {
		g.m.timers.Stop(&g.timer)
	}
	for who := range g.members.all() {
		g.answerSync(who)
	}
}

// synced takes note that a member has asked for its assignment. The wait for the members of a Stable group ends with the last.
func (g *Group) synced(who *member) {
	if !who.unsynced {
		return
	}
	who.unsynced = false
	g.unsynced--
	if g.unsynced == 0 && g.state == Stable {
		g.m.timers.Stop(&g.timer)
	}
}

// dropSyncs ends a generation that never got its assignment.
func (g *Group) dropSyncs(code int16) {
	for who := range g.members.all() {
		who.assignment = []byte{}
		if who.sync.waits {
			g.refuseSync(who, code)
			g.touch(who, g.m.now)
		}
	}
}

// syncsTimedOut removes everybody who has not asked for the assignment, static members too (R-D11, R-K7).
func (g *Group) syncsTimedOut() {
	why := cause{what: grouptags.SyncTimedOut}
	for who := range g.members.all() {
		if who.unsynced {
			why = causeOf(grouptags.SyncTimedOut, who, nil)
			g.remove(who)
		}
	}
	g.removed(why)
}

package group

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/machine"
)

// joinRefused answers a Join with an error. There is no protocol: null from v7 on, before that its encoding is "".
func joinRefused(version int16, memberID string, code int16) *kmsg.JoinGroupResponse {
	r := kmsg.NewPtrJoinGroupResponse()
	r.Version, r.MemberID, r.ErrorCode, r.Generation = version, memberID, code, -1
	return r
}

func syncRefused(version, code int16) *kmsg.SyncGroupResponse {
	r := kmsg.NewPtrSyncGroupResponse()
	r.Version, r.ErrorCode, r.MemberAssignment = version, code, []byte{}
	return r
}

// current tells a member of the generation. The leader alone gets the members, to assign to them.
func (g *Group) current(who *member) *kmsg.JoinGroupResponse {
	r := kmsg.NewPtrJoinGroupResponse()
	r.MemberID, r.Generation = who.id, g.generation
	r.ProtocolType, r.Protocol = g.typeNow(), g.protocol
	if *g.protocol == "" {
		r.Protocol = nil // so Kafka tells it from version 7 on
	}
	r.LeaderID = g.leader.id
	if who == g.leader {
		r.Members = g.memberList()
	}
	return r
}

// typeNow is a copy of the protocol type: answers are read while the group goes on.
func (g *Group) typeNow() *string {
	t := g.protocolType
	return &t
}

func (g *Group) memberList() []kmsg.JoinGroupResponseMember {
	list := make([]kmsg.JoinGroupResponseMember, 0, g.members.len())
	for who := range g.members.all() {
		m := kmsg.NewJoinGroupResponseMember()
		m.MemberID, m.InstanceID, m.ProtocolMetadata = who.id, who.instance, who.metadata(*g.protocol)
		list = append(list, m)
	}
	return list
}

// parkJoin lets the caller of a Join wait for the end of the round. An earlier Join of the member that still waits is told to
// try again (R-K31).
func (g *Group) parkJoin(who *member, caller machine.Token, version int16) {
	g.refuseJoin(who, who.id, kerr.RebalanceInProgress.Code)
	who.join = parked{waits: true, token: caller, version: version}
	g.members.joining++
}

// answerJoin answers the Join of a member that waits.
func (g *Group) answerJoin(who *member, r *kmsg.JoinGroupResponse) {
	was := who.join.take()
	g.members.joining--
	r.Version = was.version
	g.m.reply(was.token, r)
}

func (g *Group) refuseJoin(who *member, memberID string, code int16) {
	if who.join.waits {
		g.answerJoin(who, joinRefused(0, memberID, code))
	}
}

// parkSync lets the caller of a Sync wait for the leader.
func (g *Group) parkSync(who *member, caller machine.Token, version int16) {
	g.refuseSync(who, kerr.RebalanceInProgress.Code)
	who.sync = parked{waits: true, token: caller, version: version}
}

// answerSync gives a member who waits for it the assignment, and a new session.
func (g *Group) answerSync(who *member) {
	if who.sync.waits {
		was := who.sync.take()
		g.m.reply(was.token, g.assignmentFor(who, was.version))
		g.touch(who, g.m.now)
	}
}

func (g *Group) refuseSync(who *member, code int16) {
	if who.sync.waits {
		was := who.sync.take()
		g.m.reply(was.token, syncRefused(was.version, code))
	}
}

func (g *Group) assignmentFor(who *member, version int16) *kmsg.SyncGroupResponse {
	r := kmsg.NewPtrSyncGroupResponse()
	r.Version, r.ProtocolType, r.Protocol, r.MemberAssignment = version, g.typeNow(), g.protocol, who.assignment
	return r
}

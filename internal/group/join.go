package group

import (
	"log/slog"
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/grouptags"
	"github.com/skeinstream/skein/internal/machine"
)

// newMemberTimeout is how long a new member's Join waits at most. Its client cannot heartbeat, and when it has given up and
// joined anew nobody comes for this one (R-D5).
const newMemberTimeout = 5 * time.Minute

// nameMax is how long a name may be in the older encodings of requests and records; idRoom is what an id has behind the name
// of its client.
const (
	nameMax = math.MaxInt16
	idRoom  = 64
)

// oversized says whether a name is too long to be told to members with older clients, or the protocols are too many.
func (in *Join) oversized() bool {
	if len(in.Request.Protocols) > protocolsMax {
		return true
	}
	longest := max(len(in.ClientID)+idRoom, len(text(in.Request.InstanceID))+idRoom, len(in.Request.ProtocolType))
	for i := range in.Request.Protocols {
		longest = max(longest, len(in.Request.Protocols[i].Name))
	}
	return longest > nameMax
}

// joining is a Join that is worked on.
type joining struct {
	*Join
	*kmsg.JoinGroupRequest
	group              *Group
	caller             machine.Token
	offers, withheld   []grouptags.Protocol
	session, rebalance time.Duration
}

// join is JoinGroup. The order of the checks is Kafka's (R-K2): group id, session timeout, a known id in an unknown group,
// the size of the group, protocols, and last who it is.
//
// v0 has no rebalance timeout: the session timeout is used, as for a negative one (FR-B9). v4 makes new dynamic members come
// again with the id they are given (KIP-394). v5 has instance ids (KIP-345). v7 answers with the protocol type. v8 has a
// reason (KIP-800). v9 tells a static leader who came back not to assign (KIP-814).
func (m *Machine) join(caller machine.Token, in *Join) {
	r := in.Request
	session := time.Duration(r.SessionTimeoutMillis) * time.Millisecond
	switch {
	case r.Group == "" || len(r.Group) > nameMax:
		m.reply(caller, joinRefused(r.Version, r.MemberID, kerr.InvalidGroupID.Code))
		return
	case in.oversized():
		m.reply(caller, joinRefused(r.Version, r.MemberID, kerr.InvalidRequest.Code))
		return
	case session < m.settings.MinSessionTimeout || session > m.settings.MaxSessionTimeout:
		m.reply(caller, joinRefused(r.Version, r.MemberID, kerr.InvalidSessionTimeout.Code))
		return
	}
	g := m.group(r.Group)
	if g == nil && r.MemberID != "" {
		m.reply(caller, joinRefused(r.Version, r.MemberID, kerr.UnknownMemberID.Code))
		return
	}
	if g == nil {
		g = m.groupForJoin(r.Group)
	}
	j := &joining{Join: in, JoinGroupRequest: r, group: g, caller: caller, offers: offersOf(r), session: session, rebalance: session}
	j.withheld = m.withheldOf(r, j.offers)
	if r.Version > 0 && r.RebalanceTimeoutMillis >= 0 {
		j.rebalance = time.Duration(r.RebalanceTimeoutMillis) * time.Millisecond
	}
	g.join(j)
}

// groupForJoin makes a group, which is remembered even when its first Join comes to nothing (R-K2, R-K10).
func (m *Machine) groupForJoin(name string) *Group {
	g := newGroup(m, name)
	m.groups[name] = g
	g.enter(Empty)
	m.write(g.record())
	return g
}

func (g *Group) join(j *joining) {
	switch {
	case !g.hasRoom(j.MemberID):
		g.crowdOut(j.MemberID)
		j.refuse("", kerr.GroupMaxSizeReached.Code)
	case !g.remembers(j):
		g.drop(j.MemberID)
		g.completeIfJoined()
		j.refuse(j.MemberID, kerr.GroupMaxSizeReached.Code)
	case !g.admits(j.ProtocolType, j.offers):
		g.noteInconsistent(j)
		j.refuse(j.MemberID, kerr.InconsistentGroupProtocol.Code)
	case j.MemberID == "":
		g.joinNew(j)
	case g.pending.has(j.MemberID) && j.InstanceID == nil:
		g.drop(j.MemberID)
		g.admit(j, j.MemberID)
	default:
		g.joinKnown(j)
	}
}

func (j *joining) refuse(memberID string, code int16) {
	j.group.m.reply(j.caller, joinRefused(j.Version, memberID, code))
}

// hasRoom says whether group.max.size lets a Join in. While members join those count who have: of a group that is too large
// the last to come are left out (R-D3, FR-B14).
func (g *Group) hasRoom(memberID string) bool {
	who := g.members.byID[memberID]
	switch g.state {
	case PreparingRebalance:
		return who != nil && who.join.waits || g.members.joining < g.m.settings.MaxSize
	case CompletingRebalance, Stable:
		return who != nil || g.members.len() < g.m.settings.MaxSize
	}
	return true
}

// crowdOut forgets whoever finds no room, so that nobody waits for it (R-K2).
func (g *Group) crowdOut(memberID string) {
	g.drop(memberID)
	if who := g.members.byID[memberID]; who != nil {
		g.remove(who)
	}
	g.completeIfJoined()
}

// joinNew is a Join without an id.
func (g *Group) joinNew(j *joining) {
	if j.InstanceID != nil {
		if who := g.members.byInstance[*j.InstanceID]; who != nil {
			g.replace(j, who, *j.InstanceID+"-"+j.NewID)
			return
		}
		g.admit(j, *j.InstanceID+"-"+j.NewID)
		return
	}
	id := j.ClientID + "-" + j.NewID
	if j.Version < 4 {
		g.admit(j, id)
		return
	}
	g.expect(id, j.session)
	j.refuse(id, kerr.MemberIDRequired.Code)
}

// admit makes whoever joins a member. It has joined the round that begins with this, or is under way.
func (g *Group) admit(j *joining, id string) {
	who := &member{
		id: id, instance: j.InstanceID, clientID: j.ClientID, host: j.Host,
		session: j.session, rebalance: j.rebalance, offers: j.offers, withheld: j.withheld, fresh: true, assignment: []byte{},
	}
	who.timer.Fire = func() { g.sessionEnded(who) }
	if g.members.len() == 0 {
		g.protocolType = j.ProtocolType
	}
	if g.leader == nil {
		g.leader = who
	}
	g.members.add(who)
	g.parkJoin(who, j.caller, j.Version)
	g.m.timers.Set(&who.timer, g.m.now.Add(newMemberTimeout))
	g.round.newcomers = true
	g.rebalance(causeOf(grouptags.Joined, who, j.Reason))
}

// joinKnown is a Join with a member's id. In the middle of a round, and in a Stable group unless the leader comes, one that
// says nothing new is a repetition: it gets the generation again and changes nothing (R-D4, R-K4, FR-B8).
func (g *Group) joinKnown(j *joining) {
	who, code := g.identity(j.MemberID, j.InstanceID)
	if code != 0 {
		j.refuse(j.MemberID, code)
		return
	}
	same := sameProtocols(who.offers, j.offers) && sameProtocols(who.withheld, j.withheld)
	switch {
	case same && (g.state == CompletingRebalance || g.state == Stable && who != g.leader):
		r := g.current(who)
		r.Version = j.Version
		g.m.reply(j.caller, r)
	case same && g.state == Stable:
		g.rejoin(j, who, grouptags.LeaderRejoined)
	default:
		g.rejoin(j, who, grouptags.MetadataChanged)
	}
}

// rejoin takes over what a member says and lets it wait in the round.
func (g *Group) rejoin(j *joining, who *member, what grouptags.Cause) {
	g.update(j, who)
	g.parkJoin(who, j.caller, j.Version)
	g.rebalance(causeOf(what, who, j.Reason))
}

// update takes over what a Join says about a member; the timeouts too (FR-G4).
func (g *Group) update(j *joining, who *member) {
	g.members.relist(who, j.offers, j.withheld)
	who.session, who.rebalance = j.session, j.rebalance
}

// noteInconsistent tells both sides of a refusal that somebody will have to explain.
func (g *Group) noteInconsistent(j *joining) {
	offered := make([]string, len(j.offers))
	for i := range j.offers {
		offered[i] = j.offers[i].Name
	}
	g.m.note(slog.LevelWarn, "join refused: no protocol in common with the group", slog.String("group", g.name),
		slog.String("client", j.ClientID), slog.String("member", j.MemberID), slog.String("type", j.ProtocolType), slog.Any("offered", few(offered)),
		slog.String("group_type", g.protocolType), slog.Any("group_has", few(g.members.accepting.common(g.members.len()))))
}

// few is what of a list is shown: a client that repeats a large Join must not fill the disk with log lines.
func few(names []string) []string {
	short := make([]string, 0, min(len(names), namesShown+1))
	for _, name := range names {
		if len(short) == namesShown {
			return append(short, "…")
		}
		short = append(short, shortened(name))
	}
	return short
}

// namesShown is how many names of protocols a log line has.
const namesShown = 10

package group

import (
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/skeinstream/skein/internal/grouptags"
)

// replace is the Join of a static member that came back without its id, from a process that started again: it takes the place
// of the old id, whose owner is fenced everywhere from now on (R-D6, FR-G5: the newest wins).
//
// In a Stable group there is no rebalance as long as the next selection would be the same, whatever else has changed
// (R-K5); the new id is put in the log, or a restart of the broker would bring the old one back (FR-G3).
func (g *Group) replace(j *joining, old *member, id string) {
	leaderWas := g.leader.id
	who := g.succeed(old, id)
	g.m.timers.Set(&who.timer, g.m.now.Add(old.session))
	g.update(j, who)
	name, ok := g.selection()
	if g.state == Stable && ok && name == *g.protocol {
		g.m.write(g.record())
		g.welcomeBack(j, who, leaderWas)
		return
	}
	g.parkJoin(who, j.caller, j.Version)
	g.rebalance(causeOf(grouptags.StaticReplaced, who, j.Reason))
}

// succeed puts a member with another id in the place of a static one. What waits in the old one's name is fenced.
func (g *Group) succeed(old *member, id string) *member {
	g.refuseJoin(old, old.id, kerr.FencedInstanceID.Code)
	g.refuseSync(old, kerr.FencedInstanceID.Code)
	g.m.timers.Stop(&old.timer)
	who := &member{
		id: id, instance: old.instance, clientID: old.clientID, host: old.host, session: old.session, rebalance: old.rebalance,
		offers: old.offers, withheld: old.withheld, assignment: old.assignment, unsynced: old.unsynced,
	}
	who.timer.Fire = func() { g.sessionEnded(who) }
	g.members.replace(old, who)
	if g.leader == old {
		g.leader = who
	}
	g.owners = nil
	return who
}

// welcomeBack gives a static member the generation that it was in. A leader that knows how (v9) gets the members and is told
// not to assign; to older ones the leader is said to be who it was, so that they do not think it is them (R-B16, T30).
func (g *Group) welcomeBack(j *joining, who *member, leaderWas string) {
	r := g.current(who)
	r.Version = j.Version
	if r.Version >= 9 {
		r.SkipAssignment = who == g.leader
	} else {
		r.LeaderID, r.Members = leaderWas, nil
	}
	g.m.reply(j.caller, r)
}

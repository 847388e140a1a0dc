package group

import (
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// retryMin is how soon a round that could not end is tried again: a rebalance timeout of 0 must not make it spin.
const retryMin = time.Second

// rebalance has the members join again, or sees whether the round that waits for them has just got its last.
func (g *Group) rebalance(why cause) {
	if g.state == PreparingRebalance {
		g.expel()
		g.completeIfJoined()
		return
	}
	if g.state == CompletingRebalance {
		g.dropSyncs(kerr.RebalanceInProgress.Code)
	}
	g.round = round{cause: why, started: g.m.now, first: g.state == Empty}
	g.enter(PreparingRebalance)
	g.m.timers.Stop(&g.timer)
	if g.round.first {
		g.delayFirst(g.m.settings.InitialRebalanceDelay)
		return
	}
	g.waitForJoins(0)
}

// delayFirst lets more members come before the first generation (KIP-134).
func (g *Group) delayFirst(delay time.Duration) {
	if delay <= 0 {
		g.complete()
		return
	}
	g.round.newcomers = false
	g.m.timers.Set(&g.timer, g.m.now.Add(delay))
}

// waitForJoins completes the round, at once if everybody has joined, else after the rebalance timeout, which is taken as at
// least the given time.
func (g *Group) waitForJoins(least time.Duration) {
	g.m.timers.Set(&g.timer, g.m.now.Add(max(g.rebalanceTimeout(), least)))
	g.completeIfJoined()
}

// completeIfJoined ends the wait for joins when there is nobody left to wait for. Ids that were handed out count: who has
// one is about to join (R-K3). The first round of a group takes its delay even so (R-K6).
func (g *Group) completeIfJoined() {
	if g.state == PreparingRebalance && !g.round.first && g.members.joining == g.members.len() && g.pending.len() == 0 {
		g.complete()
	}
}

// joinsTimedOut goes on with those who have joined. The first round waits again while members come (R-K6).
func (g *Group) joinsTimedOut() {
	if g.round.first && g.round.newcomers {
		if left := g.rebalanceTimeout() - g.m.now.Sub(g.round.started); left > 0 {
			g.delayFirst(min(g.m.settings.InitialRebalanceDelay, left))
			return
		}
	}
	g.complete()
}

// complete begins the next generation with the members who have joined and the static ones who have not (R-D8, R-D9).
func (g *Group) complete() {
	g.m.timers.Stop(&g.timer)
	g.round.first = false
	g.removeAbsent()
	if g.members.len() == 0 {
		g.becomeEmpty()
		return
	}
	if !g.electLeader() {
		g.waitForJoins(retryMin)
		return
	}
	name, ok := g.selection()
	if !ok {
		g.dissolve()
		return
	}
	g.begin(name)
}

// removeAbsent removes dynamic members who have not joined.
func (g *Group) removeAbsent() {
	for who := range g.members.all() {
		if !who.join.waits && !who.static() {
			g.remove(who)
		}
	}
}

// electLeader makes sure that the leader has joined; it reports false when nobody has, which static members can bring about.
func (g *Group) electLeader() bool {
	if g.leader != nil && g.leader.join.waits {
		return true
	}
	for who := range g.members.all() {
		if who.join.waits {
			g.leader = who
			return true
		}
	}
	return false
}

// becomeEmpty ends the round without members; that too is a generation (R-K10).
func (g *Group) becomeEmpty() {
	g.nextGeneration()
	g.protocol, g.leader, g.assigned, g.owners = nil, nil, false, nil
	g.unsynced = 0
	g.enter(Empty)
	g.readSubscribed()
	g.m.write(g.record())
	g.generationBegun()
}

// nextGeneration counts on. After the last number comes the first again: clients take a negative one for none.
func (g *Group) nextGeneration() {
	if g.generation == math.MaxInt32 {
		g.generation = 0
	}
	g.generation++
}

// begin is the generation with a protocol: everybody who has joined hears of it, and has the rebalance timeout to ask for
// the assignment (R-K7).
func (g *Group) begin(protocol string) {
	g.nextGeneration()
	g.protocol, g.assigned, g.owners = &protocol, false, nil
	g.enter(CompletingRebalance)
	g.readSubscribed()
	g.unsynced = g.members.len()
	for who := range g.members.all() {
		who.unsynced = true
		who.fresh = false
		if who.join.waits {
			g.answerJoin(who, g.current(who))
		}
		g.touch(who, g.m.now)
	}
	g.m.timers.Set(&g.timer, g.m.now.Add(g.rebalanceTimeout()))
	g.generationBegun()
}

// remove takes a member out. Whoever waits in its name is told that nobody knows it any more (R-K9, R-K31).
func (g *Group) remove(who *member) {
	g.refuseJoin(who, "", kerr.UnknownMemberID.Code)
	g.refuseSync(who, kerr.UnknownMemberID.Code)
	g.m.timers.Stop(&who.timer)
	g.members.remove(who)
	if g.leader == who {
		g.leader = g.members.first
	}
}

// removed goes on after members were removed.
func (g *Group) removed(why cause) {
	switch g.state {
	case Stable, CompletingRebalance, PreparingRebalance:
		g.rebalance(why)
	}
}

// expel answers those who have joined this round with nothing that everybody knows (R-C15). That can only be when somebody
// holds something back.
func (g *Group) expel() {
	if g.state != PreparingRebalance || g.members.withholding == 0 {
		return
	}
	shared := g.members.accepting.common(g.members.len())
	if slices.Equal(shared, g.round.shared) {
		return
	}
	g.round.shared = shared
	for who := range g.members.all() {
		if who.join.waits && !g.members.accepting.shared(who.offers, g.members.len()) {
			g.turnAway(who)
		}
	}
}

// dissolve is for a round whose members offer nothing in common, though everybody knows something that all others know. The
// name that most offer of those is to be it; who has it, but held it back, must join again.
func (g *Group) dissolve() {
	votes := names{}
	for _, name := range g.members.accepting.common(g.members.len()) {
		votes[name] = g.members.offering[name]
	}
	name, _ := votes.most()
	g.m.note(slog.LevelWarn, "group members offer no protocol in common", slog.String("group", g.name), slog.String("waiting_for", name))
	for who := range g.members.all() {
		if who.join.waits && !slices.ContainsFunc(who.offers, named(name)) {
			g.turnAway(who)
		}
	}
	g.waitForJoins(retryMin)
}

// turnAway answers a parked Join: the member is to come again with other protocols, and stays one until then.
func (g *Group) turnAway(who *member) {
	g.refuseJoin(who, who.id, kerr.InconsistentGroupProtocol.Code)
	who.fresh = false
	g.touch(who, g.m.now)
}

package group

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/skeinstream/skein/internal/deadline"
	"github.com/skeinstream/skein/internal/grouptags"
)

// State is where a group is in its round.
type State int8

// The states of R-D1. A group that is deleted is Dead: it has no machine any more.
const (
	Empty State = iota
	PreparingRebalance
	CompletingRebalance
	Stable
	Dead
)

// String is Kafka's name for the state.
func (s State) String() string {
	return [...]string{"Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead"}[s]
}

// groupType is what ListGroups calls groups of this protocol.
const groupType = "classic"

// Group is one group: members in a round, offsets, or both.
type Group struct {
	m    *Machine
	name string

	// Durable: changes in Apply alone.
	stored  []byte // the last record's value, nil without one
	offsets offsets

	// The round under way, and what it made of the generation before. Lost with the machine.
	state        State
	stateSince   time.Time // zero: not known
	generation   int32
	protocolType string  // "": none yet
	protocol     *string // what the generation has selected
	members      roster
	leader       *member // nil without members
	pending      pendingIDs
	timer        deadline.Timer // of the round: for the joins, then for the syncs
	round        round
	unsynced     int  // members who have not asked for the assignment of the generation
	assigned     bool // the leader has assigned in the generation
	history      []grouptags.Generation

	subscribed subscription                // of the generation
	owners     map[string]map[int32]string // by topic and partition; nil: not asked for yet
}

// round is the rebalance under way.
type round struct {
	cause     cause
	started   time.Time
	first     bool     // from Empty: it waits for group.initial.rebalance.delay.ms
	newcomers bool     // since that wait began
	shared    []string // what all members knew when expel last looked
}

func newGroup(m *Machine, name string) *Group {
	g := &Group{m: m, name: name, members: newRoster()}
	g.timer.Fire = g.timedOut
	return g
}

// enter changes the state.
func (g *Group) enter(s State) {
	g.state, g.stateSince = s, g.m.now
}

// identity finds the member that a request comes from, or says why there is none (R-K4). An instance id decides whatever
// member id came with it; a static member may leave its instance id out.
func (g *Group) identity(memberID string, instance *string) (*member, int16) {
	if instance == nil {
		if who := g.members.byID[memberID]; who != nil {
			return who, 0
		}
		return nil, kerr.UnknownMemberID.Code
	}
	who := g.members.byInstance[*instance]
	switch {
	case who == nil:
		return nil, kerr.UnknownMemberID.Code
	case who.id != memberID:
		return nil, kerr.FencedInstanceID.Code
	}
	return who, 0
}

// touch begins the session of a member anew. One that was never told its id cannot heartbeat: while its first Join waits it
// has a time of its own (R-D5).
func (g *Group) touch(who *member, now time.Time) {
	if !who.fresh {
		g.m.timers.Set(&who.timer, now.Add(who.session))
	}
}

// rebalanceTimeout is the longest of all members.
func (g *Group) rebalanceTimeout() time.Duration {
	var longest time.Duration
	for who := range g.members.all() {
		longest = max(longest, who.rebalance)
	}
	return longest
}

// timedOut ends the wait of the state.
func (g *Group) timedOut() {
	switch g.state {
	case PreparingRebalance:
		g.joinsTimedOut()
	case CompletingRebalance, Stable:
		g.syncsTimedOut()
	}
}

// discard takes the group out of the machine.
func (g *Group) discard() {
	g.m.timers.Stop(&g.timer)
	g.dropAll()
	g.enter(Dead)
	delete(g.m.groups, g.name)
}

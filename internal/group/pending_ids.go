package group

import (
	"slices"
	"time"

	"github.com/skeinstream/skein/internal/deadline"
)

// pendingIDs are the member ids of a group that were handed out with MEMBER_ID_REQUIRED and have not joined (KIP-394). A client
// that does not know this error, and asks again and again for an id, must not fill the memory: when there are too many, the
// oldest is forgotten. Whoever joins with it after all is told so, and gets another.
type pendingIDs struct {
	timers map[string]*deadline.Timer
	order  []string // in which they were handed out; some are pending no more
}

// pendingMax is how many ids of a group are pending at a time: several times the members of the largest groups.
const pendingMax = 1 << 15

func (p *pendingIDs) len() int { return len(p.timers) }

func (p *pendingIDs) has(id string) bool { return p.timers[id] != nil }

func (p *pendingIDs) add(id string, t *deadline.Timer) {
	if p.timers == nil {
		p.timers = map[string]*deadline.Timer{}
	}
	p.timers[id] = t
	p.order = append(p.order, id)
	if len(p.order) > 2*pendingMax {
		p.order = slices.DeleteFunc(p.order, func(id string) bool { return !p.has(id) })
	}
}

// take takes out an id; nil: it is not pending.
func (p *pendingIDs) take(id string) *deadline.Timer {
	t := p.timers[id]
	delete(p.timers, id)
	if len(p.timers) == 0 {
		*p = pendingIDs{}
	}
	return t
}

// oldest is the pending id that was handed out first. There must be one.
func (p *pendingIDs) oldest() string {
	for !p.has(p.order[0]) {
		p.order = p.order[1:]
	}
	return p.order[0]
}

// expect keeps an id that was handed out until it joins, leaves, or its session ends (R-K3).
func (g *Group) expect(id string, session time.Duration) {
	t := &deadline.Timer{Fire: func() { g.pendingEnded(id) }}
	g.pending.add(id, t)
	g.m.timers.Set(t, g.m.now.Add(session))
	if g.pending.len() > pendingMax {
		g.drop(g.pending.oldest())
	}
}

// drop forgets an id that was handed out; it reports whether there was one.
func (g *Group) drop(id string) bool {
	t := g.pending.take(id)
	if t != nil {
		g.m.timers.Stop(t)
	}
	return t != nil
}

func (g *Group) dropAll() {
	for g.pending.len() > 0 {
		g.drop(g.pending.oldest())
	}
}

// pendingEnded forgets an id whose owner never came; the round may have waited for nobody else (FR-B12).
func (g *Group) pendingEnded(id string) {
	g.drop(id)
	g.completeIfJoined()
}

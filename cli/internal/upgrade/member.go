package upgrade

import "slices"

// names are all that are known.
func (g Group) names() Names {
	if g.all != nil {
		return g.all
	}
	return known().with(g.Names)
}

// seats are the members as they are before a restart, those that are alike together.
func (g Group) seats() (out []seat) {
	for _, m := range g.Members {
		s := g.seat(m)
		i := slices.IndexFunc(out, s.alike)
		if i < 0 {
			i = len(out)
			out = append(out, s)
		}
		out[i].ids = append(out[i].ids, m.ID)
		out[i].count++
	}
	return out
}

func (s seat) alike(o seat) bool {
	return slices.Equal(s.list, o.list) && s.sure == o.sure && s.old == o.old && s.skein == o.skein && s.coop == o.coop &&
		s.holds == o.holds && s.naive == o.naive && s.fixed == o.fixed
}

func (g Group) seat(m Member) seat {
	n := g.names()
	follows := m.Follows || len(m.Withholds) > 0
	return seat{
		list: append(slices.Clone(m.Offers), m.Withholds...), sure: m.Listed, old: m.old(n), skein: follows, coop: g.coop(m),
		holds: follows && g.coop(m), naive: m.naive(n), fixed: m.Static,
	}
}

// old: code from before Kafka 2.4 writes subscriptions of version 0, and has no cooperative assignor.
func (m Member) old(n Names) bool { return m.Version == 0 && n.class(m.Offers) == eagerOnly }

// coop: only a COOPERATIVE member has something to claim, or to hold back, or offers nothing else. One that follows the selection has
// been so since the last round ended, whatever it offered in it (R-C11).
func (g Group) coop(m Member) bool {
	n := g.names()
	return m.Claims > 0 || len(m.Withholds) > 0 || m.Listed && n.class(m.Offers) == coopOnly || g.climbed(m)
}

// climbed: a member that runs COOPERATIVE since the last round, and has not joined as such yet. The broker still has its whole list.
func (g Group) climbed(m Member) bool {
	n := g.names()
	return m.Follows && m.Listed && len(m.Withholds) == 0 && n.class(m.Offers) == both && n[g.Assignor] && n[m.Offers[0]]
}

// naive: it owns partitions and offers an EAGER assignor all the same. Kafka's clients have nothing to claim under EAGER, and
// ours hold such assignors back: it follows the selection without a guard (R-C6, M17 to M20).
func (m Member) naive(n Names) bool {
	return m.Listed && !m.Follows && m.Claims > 0 && len(m.Withholds) == 0 && n.class(m.Offers) != coopOnly
}

// newcomer is a member that has just been restarted: it owns nothing.
func (t Target) newcomer(n Names) seat {
	skein := t.Client == Skein
	return seat{count: 1, list: t.List, sure: true, skein: skein, coop: !skein && n.class(t.List) == coopOnly}
}

// after is what members are like once a round has selected a name and the next one has begun (R-B1, R-C11, R-C12). A selection
// that none of them offered while they held something back has had them give up all they own.
func (s seat) after(n Names, name string) seat {
	if s.skein {
		s.coop = n[name] && len(s.list) > 0 && n[s.list[0]]
		s.holds = s.coop
	}
	return s
}

// protocol is what all run together.
func protocol(seats []seat) string {
	coop, eager := false, false
	for _, s := range seats {
		coop, eager = coop || s.coop, eager || !s.coop
	}
	switch {
	case coop && eager:
		return Mixed
	case coop:
		return Cooperative
	}
	return Eager
}

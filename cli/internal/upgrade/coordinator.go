package upgrade

import (
	"slices"
)

// seat is some members that are alike, while a restart is played through.
type seat struct {
	ids   []string // of members that were there before; those that have been restarted have none yet
	count int
	list  []string // everything that they know
	sure  bool     // and nothing else
	old   bool     // their code has no cooperative assignor
	skein bool     // their protocol follows the selection
	coop  bool     // they run COOPERATIVE
	holds bool     // they hold EAGER assignors back, owning something (R-C12)
	naive bool     // they ought to
	fixed bool     // they are static: their list counts until they have come back with another (R-C2)
}

// offered is what may be selected of a seat's list.
func (s seat) offered(n Names) []string {
	if s.holds {
		return n.can(s.list)
	}
	return s.list
}

// accepts is what the coordinator lets newcomers in by (R-C2, R-C15).
func (s seat) accepts(n Names, b Broker) []string {
	if b.Union {
		return s.list
	}
	return s.offered(n)
}

// mayHave: whose list nobody tells may have more than what is seen of it, save what its code has not, or would not offer.
func (s seat) mayHave(n Names, name string) bool {
	if s.sure {
		return false
	}
	return n[name] && !s.old || !n[name] && !s.coop
}

// selected is R-C1: of the names that all offer, the one that most members have first; of several, the smallest, as our broker
// has it (Kafka leaves that open, R-K17). "" when there is none.
func selected(n Names, seats []seat) string {
	votes := map[string]int{}
	for _, s := range seats {
		for _, name := range s.offered(n) {
			if !slices.ContainsFunc(seats, func(o seat) bool { return !slices.Contains(o.offered(n), name) }) {
				votes[name] += s.count
				break
			}
		}
	}
	best := ""
	for name, count := range votes {
		if best == "" || count > votes[best] || count == votes[best] && name < best {
			best = name
		}
	}
	return best
}

// admission says whether a newcomer with a list gets into a group, and otherwise who keeps it out: those who lack the name of its
// list that fewest lack.
func admission(n Names, b Broker, seats []seat, list []string) (a Answer, by []string) {
	a = No
	for i, name := range list {
		lacking, unsure := lack(n, b, seats, name)
		switch {
		case len(lacking) == 0 && !unsure:
			return Yes, nil
		case len(lacking) == 0:
			a = Maybe
		}
		if i == 0 || len(lacking) < len(by) {
			by = lacking
		}
	}
	if a == Maybe {
		return Maybe, nil
	}
	return No, by
}

// lack lists who surely lacks a name, and whether others may.
func lack(n Names, b Broker, seats []seat, name string) (ids []string, unsure bool) {
	for _, s := range seats {
		switch {
		case slices.Contains(s.accepts(n, b), name):
		case s.mayHave(n, name):
			unsure = true
		default:
			ids = append(ids, s.ids...)
		}
	}
	return ids, unsure
}

package upgrade

import (
	"fmt"
	"strings"
)

// State is what a group runs, and why.
type State struct {
	Assignor string `json:"assignor"`
	// Protocol is Eager, Cooperative or Mixed, or Untold.
	Protocol string   `json:"protocol"`
	Why      []string `json:"why"`
	// HeldBack says who keeps the group from running COOPERATIVE; Told is false where the broker does not tell lists, so that there may
	// be others.
	HeldBack []Holder `json:"held_back_by"`
	Told     bool     `json:"lists_told"`
}

// Holder is a member that keeps a group from running COOPERATIVE.
type Holder struct {
	Member string `json:"member_id"`
	Why    string `json:"why"`
}

// Look says what a group runs.
func (g Group) Look() State {
	g.all = g.names()
	s := State{Assignor: g.Assignor, HeldBack: []Holder{}, Told: true, Why: []string{}}
	if g.Consumer {
		s.Protocol = Cooperative
		s.Why = append(s.Why, "the group runs the new protocol (KIP-848): the coordinator assigns, and members give up nothing but what moves")
		return s
	}
	n := g.names()
	for _, m := range g.Members {
		s.Told = s.Told && m.Listed
		if why := g.holdsBack(m, n); why != "" {
			s.HeldBack = append(s.HeldBack, Holder{m.ID, why})
		}
	}
	s.Protocol = g.protocol(n)
	s.Why = append(s.Why, g.whyProtocol(s, n)...)
	return s
}

// protocol is what the members run, as far as their lists and claims tell.
func (g Group) protocol(n Names) string {
	cooperative, known := n.cooperative(g.Assignor)
	if !known || len(g.Members) == 0 {
		return Untold
	}
	if !cooperative {
		return Eager
	}
	coop, eager := 0, 0
	for _, m := range g.Members {
		switch {
		case g.coop(m):
			coop++
		case m.Listed:
			eager++
		}
	}
	switch {
	case coop > 0 && eager > 0:
		return Mixed
	case coop > 0:
		return Cooperative
	case eager > 0:
		return Eager
	}
	return Untold
}

// holdsBack says why a member keeps the group EAGER, or "".
func (g Group) holdsBack(m Member, n Names) string {
	if len(n.unknown(m.Offers, m.Withholds)) > 0 || g.coop(m) {
		return ""
	}
	list := strings.Join(m.Offers, ", ")
	switch c := n.class(m.Offers); {
	case m.Listed && c == eagerOnly:
		return "it offers [" + list + "], and nothing COOPERATIVE"
	case m.old(n):
		return "its subscription has version 0: code from before Kafka 2.4, which has nothing COOPERATIVE"
	case m.Listed && c == both && !n[m.Offers[0]]:
		return "it offers [" + list + "], an EAGER assignor first"
	case m.Listed && c == both && m.Follows:
		return "" // it follows what the others have selected
	case m.Listed && c == both:
		return "it offers [" + list + "]: a client whose protocol is fixed stays EAGER while an EAGER assignor is in its list"
	}
	return ""
}

func (g Group) whyProtocol(s State, n Names) (lines []string) {
	cooperative, known := n.cooperative(g.Assignor)
	switch {
	case len(g.Members) == 0:
		return []string{"the group has no members, and so it runs nothing"}
	case !known:
		return []string{fmt.Sprintf("nobody knows whether the assignor %q supports COOPERATIVE; --cooperative or --eager NAME says so", g.Assignor)}
	case !cooperative:
		lines = append(lines, fmt.Sprintf("the assignor %s knows EAGER alone: all members give up all partitions at each rebalance", g.Assignor))
	case s.Protocol == Cooperative:
		lines = append(lines, fmt.Sprintf("%s: members keep what need not move", howMany(g.count(), len(g.Members))))
	case s.Protocol == Mixed:
		lines = append(lines, fmt.Sprintf("%s; the others give up everything at each rebalance", howMany(g.count(), len(g.Members))))
	case s.Protocol == Untold:
		lines = append(lines, fmt.Sprintf("%s supports both, and no member has claimed any partition yet: this broker does not tell whether they are to keep them at the next rebalance", g.Assignor))
	default:
		lines = append(lines, fmt.Sprintf("%s is selected, and every member lists an EAGER assignor besides", g.Assignor))
	}
	if !s.Told {
		lines = append(lines, "this broker tells of each member's list the selected name alone, so that others may hold the group back as well")
	}
	return lines
}

func howMany(coop, all int) string {
	if coop == all {
		return "all members run COOPERATIVE"
	}
	return fmt.Sprintf("%d of %d members are seen to run COOPERATIVE", coop, all)
}

// count counts the members that are seen to run COOPERATIVE.
func (g Group) count() (coop int) {
	for _, m := range g.Members {
		if g.coop(m) {
			coop++
		}
	}
	return coop
}

package upgrade

import "fmt"

// Path is a way for a whole fleet, in rolling restarts.
type Path struct {
	To    string   `json:"to"`
	Steps []string `json:"steps"`
	Rules []string `json:"rules"`
}

// Paths are the ways up and down that apply on the group's broker (R-C7, R-C8, R-C15, R-C20, R-C21).
func (g Group) Paths() []Path {
	if g.Consumer {
		return nil
	}
	old := g.eagerName()
	mixed, narrow, turned := fmt.Sprintf("[cooperative-sticky, %s]", old), "[cooperative-sticky]", fmt.Sprintf("[%s, cooperative-sticky]", old)
	down := Path{"down from Skein's consumer", []string{"the old code with [" + old + "]: this broker lets it in, and the group falls back by itself"}, []string{"C15"}}
	if !g.Broker.Union {
		down.Steps = []string{"Skein's consumer with " + turned, "the old code with [" + old + "]"}
		down.Rules = []string{"C14", "C21"}
	}
	return []Path{
		{"up with Skein's consumer", []string{"Skein's consumer with " + mixed + ": it turns COOPERATIVE when the last old member has gone"}, []string{"C11", "C12"}},
		{"up with a stock client", []string{"every member with " + mixed, "every member with " + narrow}, []string{"C7", "C8"}},
		down,
		{"down with a stock client", []string{"every member with " + mixed, "the old code with [" + old + "]"}, []string{"C20"}},
	}
}

// eagerName is the EAGER assignor that the group has, or range.
func (g Group) eagerName() string {
	n := g.names()
	lists := [][]string{{g.Assignor}}
	for _, m := range g.Members {
		lists = append(lists, m.Offers, m.Withholds)
	}
	for _, list := range lists {
		for _, name := range list {
			if is, known := n.cooperative(name); known && !is {
				return name
			}
		}
	}
	return "range"
}

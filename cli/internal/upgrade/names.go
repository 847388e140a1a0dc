package upgrade

import "slices"

// Names says of assignors whether they support COOPERATIVE.
type Names map[string]bool

// known are the assignors of Kafka, of package assign, and of clients that have their own.
func known() Names {
	return Names{
		"cooperative-sticky": true, "range": false, "roundrobin": false, "sticky": false,
		"fair": false, "fair-optimal": false, "weighted": false,
		"RoundRobinAssigner": false, // kafkajs, @platformatic/kafka
	}
}

// adopts says whether Skein's consumer, refused with its own list, offers an assignor because the group runs it (R-C10).
func (c Client) adopts(name string) bool {
	return c == Skein && slices.Contains([]string{"cooperative-sticky", "range", "roundrobin", "sticky"}, name)
}

// cooperative says whether an assignor supports COOPERATIVE, and whether that is known at all.
func (n Names) cooperative(name string) (is, known bool) {
	is, known = n[name]
	return is, known
}

// with adds what the caller knows.
func (n Names) with(more Names) Names {
	for name, is := range more {
		n[name] = is
	}
	return n
}

// unknown lists the names of lists whose protocol nobody knows.
func (n Names) unknown(lists ...[]string) (out []string) {
	for _, list := range lists {
		for _, name := range list {
			if _, known := n[name]; !known && !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}

// can keeps the names that support COOPERATIVE.
func (n Names) can(list []string) (out []string) {
	for _, name := range list {
		if n[name] {
			out = append(out, name)
		}
	}
	return out
}

// class is what a list lets its member run.
type class uint8

const (
	eagerOnly class = iota // EAGER, for ever
	both                   // either
	coopOnly               // COOPERATIVE, for ever
)

func (n Names) class(list []string) class {
	switch len(n.can(list)) {
	case 0:
		return eagerOnly
	case len(list):
		return coopOnly
	}
	return both
}

package group

import (
	"bytes"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/grouptags"
)

// A protocol is a name, an assignor's for consumers, with what the member says under it. The group selects one that every
// member offers (R-C1):
//
//	candidates  the names that are in the offers of all members
//	votes       each member votes for the first candidate in its own order
//	selected    the candidate with most votes; of several, the smallest name in byte order
//
// Kafka lets the order of a hash map decide between equals (R-K17). Ours depends on nothing but the members' lists: not on
// who leads, nor on who came first, so a change of leader never changes the protocol.
//
// Union admission (R-C15). A cooperative member that owns partitions must not let a protocol be selected that would have to
// give them away at once, so it offers only cooperative ones; without more, a member that knows none of these could never
// come in. So such a member also says, in a tagged field of JoinGroup, what it holds back. Who comes must offer a name that
// all members know, offered or held back; those who offer none of the names that all then know are answered
// INCONSISTENT_GROUP_PROTOCOL. They are still members: they give up their partitions and join again with all they have.

// offersOf are the protocols of a Join, each name once.
func offersOf(r *kmsg.JoinGroupRequest) []grouptags.Protocol {
	offers := make([]grouptags.Protocol, 0, len(r.Protocols))
	for i := range r.Protocols {
		p := grouptags.Protocol{Name: r.Protocols[i].Name, Metadata: r.Protocols[i].Metadata}
		offers = append(offers, p)
	}
	return kept(unique(nil, offers))
}

// kept copies metadata out of a request, whose other fields may be many times as large.
func kept(list []grouptags.Protocol) []grouptags.Protocol {
	for i := range list {
		list[i].Metadata = bytes.Clone(list[i].Metadata)
	}
	return list
}

// withheldOf are the protocols that a Join holds back. A field that cannot be read, or has too many, is somebody else's.
func (m *Machine) withheldOf(r *kmsg.JoinGroupRequest, offers []grouptags.Protocol) []grouptags.Protocol {
	if !m.settings.UnionAdmission || r.Version < 6 {
		return nil
	}
	var withheld []grouptags.Protocol
	r.UnknownTags.Each(func(key uint32, b []byte) {
		if key == grouptags.JoinWithheld {
			withheld, _ = grouptags.ReadProtocols(b)
		}
	})
	if len(withheld) > protocolsMax {
		return nil
	}
	return kept(unique(offers, withheld))
}

// unique returns the protocols of list whose names are not in others, nor earlier in the list.
func unique(others, list []grouptags.Protocol) []grouptags.Protocol {
	seen := make(map[string]bool, len(others)+len(list))
	for _, p := range others {
		seen[p.Name] = true
	}
	return slices.DeleteFunc(list, func(p grouptags.Protocol) bool {
		was := seen[p.Name]
		seen[p.Name] = true
		return was
	})
}

// sameProtocols says whether two lists are alike, order and metadata included.
func sameProtocols(a, b []grouptags.Protocol) bool {
	return slices.EqualFunc(a, b, func(a, b grouptags.Protocol) bool {
		return a.Name == b.Name && bytes.Equal(a.Metadata, b.Metadata)
	})
}

// admits says whether a Join may come in as far as its protocols go. The list that a member has from before counts, its own
// too: it cannot replace its whole list at once (R-C2).
func (g *Group) admits(protocolType string, offers []grouptags.Protocol) bool {
	if g.state == Empty {
		return protocolType != "" && len(offers) > 0
	}
	return protocolType == g.protocolType && g.members.accepting.shared(offers, g.members.len())
}

// selection is the protocol for the members as they are. Names that are held back do not count, save those of static
// members who have not come to this round: what they said is old, they keep their place (R-D8), and the leader plans for
// them with what they held back if need be. It reports false when there is none.
func (g *Group) selection() (string, bool) {
	offers := func(who *member) [][]grouptags.Protocol { return [][]grouptags.Protocol{who.offers} }
	if name, ok := g.vote(g.members.offering, offers); ok || g.members.withholding == 0 {
		return name, ok
	}
	counts := names{}
	lists := func(who *member) [][]grouptags.Protocol {
		if who.join.waits {
			return offers(who)
		}
		return [][]grouptags.Protocol{who.offers, who.withheld}
	}
	for who := range g.members.all() {
		for _, list := range lists(who) {
			for _, p := range list {
				counts.add(p.Name, 1)
			}
		}
	}
	return g.vote(counts, lists)
}

// vote counts one vote a member, for the first name in its lists that all members have by counts.
func (g *Group) vote(counts names, lists func(*member) [][]grouptags.Protocol) (string, bool) {
	votes := names{}
	for who := range g.members.all() {
		if name, ok := first(lists(who), counts, g.members.len()); ok {
			votes[name]++
		}
	}
	return votes.most()
}

func first(lists [][]grouptags.Protocol, counts names, members int) (string, bool) {
	for _, list := range lists {
		for _, p := range list {
			if counts[p.Name] == members {
				return p.Name, true
			}
		}
	}
	return "", false
}

// most is the name with the highest count, of several the smallest.
func (n names) most() (string, bool) {
	best, found := "", false
	for name, count := range n {
		if !found || count > n[best] || count == n[best] && name < best {
			best, found = name, true
		}
	}
	return best, found
}

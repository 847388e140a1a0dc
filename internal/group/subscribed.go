package group

import "github.com/skeinstream/skein/assign"

// subscribedTopics is what the generation's members subscribe to; known is false where that cannot be told: every topic may
// be one of them. A round that waits for members changes nothing yet.
func (g *Group) subscribedTopics() (topics map[string]bool, known bool) {
	return g.subscribed.topics, g.subscribed.known
}

// readSubscribed reads it from what the members said under the protocol that the generation has selected. A generation without
// members is known to subscribe to nothing; before the first there is nothing to know (R-K14).
func (g *Group) readSubscribed() {
	g.subscribed = subscription{}
	if g.protocolType != consumerProtocol {
		return
	}
	g.subscribed = readSubscription(func(yield func([]byte) bool) {
		for who := range g.members.all() {
			if !yield(who.metadata(*g.protocol)) {
				return
			}
		}
	})
}

// assignedTo is the member to whom the generation's assignment gives a partition. Nobody has any between the joins and the
// leader's assignment, and what was given to a member who has gone is free.
func (g *Group) assignedTo(topic string, partition int32) (memberID string, ok bool) {
	if !g.assigned || g.protocolType != consumerProtocol {
		return "", false
	}
	if g.owners == nil {
		g.readOwners()
	}
	memberID, ok = g.owners[topic][partition]
	return memberID, ok && g.members.byID[memberID] != nil
}

func (g *Group) readOwners() {
	g.owners = map[string]map[int32]string{}
	for who := range g.members.all() {
		a, err := assign.DecodeAssignment(who.assignment)
		if err != nil {
			continue // it gives nothing that we could read
		}
		for _, t := range a.Partitions {
			if g.owners[t.Topic] == nil {
				g.owners[t.Topic] = map[int32]string{}
			}
			for _, p := range t.Partitions {
				g.owners[t.Topic][p] = who.id
			}
		}
	}
}

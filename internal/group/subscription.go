package group

import (
	"iter"

	"github.com/skeinstream/skein/assign"
)

// consumerProtocol is the protocol type of groups whose members' metadata is a subscription.
const consumerProtocol = "consumer"

// subscription is what the members of a generation subscribe to together. While it is not known every topic may be one of
// them, so offsets are kept (R-K13). The zero value is unknown: no generation yet.
type subscription struct {
	topics map[string]bool
	known  bool
}

// readSubscription reads the metadata of a generation's members. It is unknown when one of them cannot be read.
func readSubscription(members iter.Seq[[]byte]) subscription {
	s := subscription{topics: map[string]bool{}, known: true}
	var d assign.SubscriptionDecoder
	var last []string
	for b := range members {
		topics, ok := topicsAtFront(&d, b)
		if !ok {
			return subscription{}
		}
		if !sameList(topics, last) {
			s.add(topics)
		}
		last = topics
	}
	return s
}

func (s *subscription) add(topics []string) {
	for _, t := range topics {
		s.topics[t] = true
	}
}

// sameList says whether a and b are one list: the decoder shares those of equal members.
func sameList(a, b []string) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// topicsAtFront reads the topics of a subscription of any version. What newer versions have behind them says nothing about
// topics, so it need not be well-formed (R-D9).
func topicsAtFront(d *assign.SubscriptionDecoder, b []byte) ([]string, bool) {
	if len(b) < 2 {
		return nil, false
	}
	oldest := append([]byte{0, 0}, b[2:]...)
	s, err := d.Decode(oldest)
	return s.Topics, err == nil
}

// subscribedTo says whether the group may be subscribed to a topic.
func (g *Group) subscribedTo(topic string) bool {
	if g.state == Empty {
		return false
	}
	topics, known := g.subscribedTopics()
	return !known || topics[topic]
}

package consumer

import (
	"slices"
	"time"
)

// tidyAge is how long franz-go is left with topics of which nothing is owned any more: they may come back with the next rebalance.
const tidyAge = 10 * time.Second

// tidy has franz-go forget topics of which nothing is owned any more, in a while. It asks for all that it has ever fetched, and for one that is gone
// several times a second (FR-F5).
func (d *driver) tidy() {
	if d.tidies {
		return
	}
	d.tidies = true
	d.sending.Go(func() {
		if sleep(d.life, tidyAge) != nil {
			return
		}
		d.post(func() { d.tidies = false })
		d.c.purge()
	})
}

// purge takes no tap: the client library may wait for the network meanwhile. What begins at that moment is begun again.
func (c *Consumer) purge() {
	idle := c.table.without(c.kafka.GetConsumeTopics())
	if len(idle) == 0 {
		return
	}
	c.kafka.PurgeTopicsFromClient(idle...)
	c.withTap(func() {
		fetched := c.kafka.GetConsumeTopics()
		idle = slices.DeleteFunc(idle, func(topic string) bool { return slices.Contains(fetched, topic) })
		list := c.table.placedOf(idle)
		c.dropHeld(keys(list))
		places := map[*partition]placement{}
		for _, p := range list {
			places[p] = placement{c.table.at(p), false}
			c.table.displace(p)
		}
		c.fetchFrom(places)
	})
}

// without are those of topics of which nothing is owned.
func (t *table) without(topics []string) (idle []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	owned := map[string]bool{}
	for tp := range t.partitions {
		owned[tp.Topic] = true
	}
	for _, topic := range topics {
		if !owned[topic] {
			idle = append(idle, topic)
		}
	}
	return idle
}

// placedOf are the partitions of topics that are fetched.
func (t *table) placedOf(topics []string) (list []*partition) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for tp, p := range t.partitions {
		if slices.Contains(topics, tp.Topic) && p.placed && !p.stopped {
			list = append(list, p)
		}
	}
	return list
}

package consumer

import "slices"

// Pause has Poll hand out nothing of partitions until Resume. Heartbeats and callbacks go on, for as long as there are polls. A partition that
// is kept in a rebalance stays paused; one that is given up and comes back does not (R-B5). Partitions that are not owned are passed over.
func (c *Consumer) Pause(list ...TopicPartition) {
	c.table.pause(list, true, c.kafka.PauseFetchPartitions)
}

// Resume ends Pause. Records that were there already come with the next Poll.
func (c *Consumer) Resume(list ...TopicPartition) {
	c.table.pause(list, false, func(topics map[string][]int32) map[string][]int32 {
		c.kafka.ResumeFetchPartitions(topics)
		return nil
	})
	c.desk.ring() // a Poll that waits may have some of them held
}

// Paused is what is paused, in order.
func (c *Consumer) Paused() []TopicPartition { return c.table.paused() }

// pause changes the flags of what is owned, and tells the client library, which keeps flags of its own. Both change under mu, so that they are
// never at odds.
func (t *table) pause(list []TopicPartition, paused bool, tell func(map[string][]int32) map[string][]int32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var changed []TopicPartition
	for _, tp := range list {
		if p := t.partitions[tp]; p != nil && !p.stopped && p.paused != paused {
			p.paused = paused
			changed = append(changed, tp)
		}
	}
	if len(changed) > 0 {
		tell(byTopic(changed))
	}
}

func (t *table) paused() []TopicPartition {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []TopicPartition
	for tp, p := range t.partitions {
		if p.paused && !p.stopped {
			list = append(list, tp)
		}
	}
	slices.SortFunc(list, TopicPartition.Compare)
	return list
}

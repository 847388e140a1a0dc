package consumer

// knowTopics takes note of how many partitions topics have. Those that come into a subscription which has begun are new altogether.
func (t *table) knowTopics(counts map[string]int32, first bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	known := map[string]int32{}
	for topic, n := range counts {
		before, ok := t.known[topic]
		switch {
		case ok:
			n = before
		case !first:
			n = 0
		}
		known[topic] = n
	}
	t.known = known
}

// isNew says that a partition has appeared since its topic was subscribed to.
func (t *table) isNew(tp TopicPartition) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	n, ok := t.known[tp.Topic]
	return ok && tp.Partition >= n
}

// displaceTopic is displace for all partitions of a topic, of which nothing is known any more.
func (t *table) displaceTopic(topic string) (list []*partition) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.partitions {
		if p.Topic != topic {
			continue
		}
		p.origin = nowhere
		if !p.stopped && p.position != nowhere {
			p.placed, p.position, p.done, p.committed = false, nowhere, nowhere, nowhere
			list = append(list, p)
		}
	}
	if t.known != nil {
		t.known[topic] = 0
	}
	return list
}

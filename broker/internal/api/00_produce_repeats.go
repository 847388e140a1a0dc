package api

// repeatsSmall is up to how many partitions are compared pair by pair.
const repeatsSmall = 16

// produceKey names a partition of a request.
type produceKey struct {
	produceTopicKey
	index int32
}

type produceTopicKey struct {
	name string
	id   [16]byte
}

func (t *produceTopic) key() produceTopicKey { return produceTopicKey{string(t.name), t.id} }

func (t *produceTopic) same(u *produceTopic) bool {
	return t.id == u.id && string(t.name) == string(u.name)
}

// dropRepeated makes a topic or partition that is named twice count once, a partition by its last mention, as in Kafka.
// No client does that; the usual request only pays for being looked at.
func (q *produceRequest) dropRepeated() {
	if len(q.partitions) < 2 || !q.repeats() {
		return
	}
	last := map[produceKey]int{}
	for i := range q.topics {
		t := &q.topics[i]
		for j := t.first; j < t.end; j++ {
			last[produceKey{t.key(), q.partitions[j].index}] = j
		}
	}
	q.keep(last)
}

// keep gathers the partitions of each topic that stand in last.
func (q *produceRequest) keep(last map[produceKey]int) {
	topics, partitions := q.topics, q.partitions
	q.topics, q.partitions = nil, nil
	kept := map[produceTopicKey][]producePartition{}
	for i := range topics {
		t := &topics[i]
		if _, again := kept[t.key()]; !again {
			q.topics = append(q.topics, *t)
		}
		of := kept[t.key()]
		for j := t.first; j < t.end; j++ {
			if last[produceKey{t.key(), partitions[j].index}] == j {
				of = append(of, partitions[j])
			}
		}
		kept[t.key()] = of
	}
	for i := range q.topics {
		t := &q.topics[i]
		t.first = len(q.partitions)
		q.partitions = append(q.partitions, kept[t.key()]...)
		t.end = len(q.partitions)
	}
}

// repeats reports whether a topic or a partition of one is named twice.
func (q *produceRequest) repeats() bool {
	if len(q.partitions) > repeatsSmall || len(q.topics) > repeatsSmall {
		return q.repeatsAmongMany()
	}
	for i := range q.topics {
		t := &q.topics[i]
		for j := range q.topics[:i] {
			if t.same(&q.topics[j]) {
				return true
			}
		}
		for j := t.first; j < t.end; j++ {
			for k := t.first; k < j; k++ {
				if q.partitions[j].index == q.partitions[k].index {
					return true
				}
			}
		}
	}
	return false
}

func (q *produceRequest) repeatsAmongMany() bool {
	topics, partitions := map[produceTopicKey]bool{}, map[produceKey]bool{}
	for i := range q.topics {
		t := &q.topics[i]
		topics[t.key()] = true
		for j := t.first; j < t.end; j++ {
			partitions[produceKey{t.key(), q.partitions[j].index}] = true
		}
	}
	return len(topics) < len(q.topics) || len(partitions) < len(q.partitions)
}

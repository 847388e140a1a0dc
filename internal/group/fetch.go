package group

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// fetch is OffsetFetch of one group. What is not there (the group, the topic, the offset) reads as offset -1 without an
// error (R-D21). Who asks is not looked at (R-K15). Who wants what is stable is to come again for partitions that an open
// transaction has an offset of: what is committed there may soon be old.
func (m *Machine) fetch(f Fetch) *kmsg.OffsetFetchResponseGroup {
	out := kmsg.NewOffsetFetchResponseGroup()
	out.Group = f.Group
	var stored *offsets
	if g := m.group(f.Group); g != nil {
		stored = &g.offsets
	}
	if f.All || f.Topics == nil {
		out.Topics = fetchAll(stored, f.RequireStable)
		return &out
	}
	out.Topics = make([]kmsg.OffsetFetchResponseGroupTopic, len(f.Topics))
	for i := range f.Topics {
		out.Topics[i] = fetchTopic(stored, &f.Topics[i], f.RequireStable)
	}
	return &out
}

// fetchAll leaves out what only open transactions have an offset of (R-K15).
func fetchAll(stored *offsets, stable bool) []kmsg.OffsetFetchResponseGroupTopic {
	if stored == nil {
		return nil
	}
	topics := make([]kmsg.OffsetFetchResponseGroupTopic, 0, len(stored.topics))
	none := ""
	for _, t := range stored.topics {
		if len(t.list) == 0 {
			continue
		}
		to := kmsg.OffsetFetchResponseGroupTopic{Topic: t.topic.name, TopicID: t.knownID()}
		to.Partitions = make([]kmsg.OffsetFetchResponseGroupTopicPartition, len(t.list))
		for i := range t.list {
			to.Partitions[i] = t.answer(t.list[i].partition, &t.list[i], stable, &none)
		}
		topics = append(topics, to)
	}
	return topics
}

func fetchTopic(stored *offsets, asked *kmsg.OffsetFetchRequestGroupTopic, stable bool) kmsg.OffsetFetchResponseGroupTopic {
	out := kmsg.OffsetFetchResponseGroupTopic{Topic: asked.Topic, TopicID: asked.TopicID}
	out.Partitions = make([]kmsg.OffsetFetchResponseGroupTopicPartition, len(asked.Partitions))
	var t *topicOffsets
	if stored != nil {
		t = stored.topic(asked.Topic)
	}
	none := ""
	for i, p := range asked.Partitions {
		c := t.get(p)
		if c.ofAnother(asked.TopicID) {
			c = nil
		}
		out.Partitions[i] = t.answer(p, c, stable, &none)
	}
	return out
}

// ofAnother says whether c was committed for another topic of the same name.
func (c *committed) ofAnother(id topicID) bool {
	return c != nil && c.id != nil && id != topicID{} && *c.id != id
}

// answer is what a fetch says about c, nil being nothing. The answer shares memory with c only where that never changes.
func (t *topicOffsets) answer(partition int32, c *committed, stable bool, none *string) kmsg.OffsetFetchResponseGroupTopicPartition {
	out := kmsg.OffsetFetchResponseGroupTopicPartition{Partition: partition, Offset: -1, LeaderEpoch: noLeaderEpoch, Metadata: none}
	if stable && t.unstable(partition) {
		out.ErrorCode = kerr.UnstableOffsetCommit.Code
		return out
	}
	if c == nil {
		return out
	}
	out.Offset, out.LeaderEpoch = c.offset, c.leaderEpoch
	if c.more != nil {
		out.Metadata = &c.more.metadata
	}
	return out
}

// knownID is the id of the topic as far as commits have told it.
func (t *topicOffsets) knownID() topicID {
	for i := range t.list {
		if id := t.list[i].id; id != nil {
			return *id
		}
	}
	return topicID{}
}

package group

import (
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/machine"
)

// deleteOffsets is OffsetDelete (R-D20). A group of consumers keeps the offsets of topics that it is subscribed to, and may
// lose others while it runs; a group of any other type must be Empty.
func (m *Machine) deleteOffsets(r *kmsg.OffsetDeleteRequest) (*kmsg.OffsetDeleteResponse, []machine.Record) {
	out := kmsg.NewPtrOffsetDeleteResponse()
	out.Version = r.Version
	g := m.group(r.Group)
	switch {
	case r.Group == "":
		out.ErrorCode = kerr.InvalidGroupID.Code
		return out, nil
	case g == nil:
		out.ErrorCode = kerr.GroupIDNotFound.Code
		return out, nil
	case g.state != Empty && g.protocolType != consumerProtocol:
		out.ErrorCode = kerr.NonEmptyGroup.Code
		return out, nil
	}
	var records []machine.Record
	for i := range r.Topics {
		t := &r.Topics[i]
		var code int16
		if g.subscribedTo(t.Topic) {
			code = kerr.GroupSubscribedToTopic.Code
		} else {
			records = g.offsets.deleted(g.name, t, records)
		}
		out.Topics = append(out.Topics, deleteAnswer(t, code))
	}
	m.totals.deleted += int64(len(records))
	return out, records
}

// deleted appends a tombstone for each partition of t that has an offset, be it in an open transaction (R-K14).
func (o *offsets) deleted(group string, t *kmsg.OffsetDeleteRequestTopic, out []machine.Record) []machine.Record {
	stored := o.topic(t.Topic)
	for _, p := range t.Partitions {
		if stored.get(p.Partition) != nil || stored.unstable(p.Partition) {
			out = append(out, offsetTombstone(group, t.Topic, p.Partition))
		}
	}
	return out
}

func deleteAnswer(t *kmsg.OffsetDeleteRequestTopic, code int16) kmsg.OffsetDeleteResponseTopic {
	out := kmsg.OffsetDeleteResponseTopic{Topic: t.Topic, Partitions: make([]kmsg.OffsetDeleteResponseTopicPartition, len(t.Partitions))}
	for i, p := range t.Partitions {
		out.Partitions[i].Partition, out.Partitions[i].ErrorCode = p.Partition, code
	}
	return out
}

// deleteTopics drops the offsets of deleted topics in every group, also in those that are subscribed to them.
func (m *Machine) deleteTopics(names []string) []machine.Record {
	var records []machine.Record
	seen := make(map[string]bool, len(names))
	for _, name := range names {
		topic := m.offsets.topics[name]
		if topic == nil || seen[name] {
			continue
		}
		seen[name] = true
		in := slices.Clone(topic.in)
		slices.SortFunc(in, func(a, b *topicOffsets) int { return strings.Compare(a.group, b.group) })
		for _, t := range in {
			records = t.tombstones(t.group, records)
		}
	}
	m.totals.deleted += int64(len(records))
	return records
}

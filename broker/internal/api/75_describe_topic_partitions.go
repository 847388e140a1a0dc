package api

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/catalog"
	"github.com/skeinstream/skein/broker/internal/server"
)

// DescribeTopicPartitions (75, KIP-966)
//
// v0: Metadata in pages: topics by name, at most so many partitions, and a cursor to where the next page begins
//
// Topics come in the order of their names, whatever the order of the request. The arrays of replicas are empty, never
// null.
func describeTopicPartitionsEntry() entry {
	return entry{key: 75, min: 0, max: 0, flexible: 0, serve: answers(kmsg.NewPtrDescribeTopicPartitionsRequest,
		func(h *Handler, _ *server.Request, req *kmsg.DescribeTopicPartitionsRequest) kmsg.Response {
			return h.describeTopicPartitions(req)
		})}
}

func (h *Handler) describeTopicPartitions(req *kmsg.DescribeTopicPartitionsRequest) kmsg.Response {
	s := h.Catalog.Snapshot()
	names := pagedNames(s, req)
	if f := checkCursor(req, names); f.code != 0 {
		return pageRefused(req, f)
	}
	p := page{h: h, room: max(1, min(int(req.ResponsePartitionLimit), h.Broker().PartitionsPerAnswer))}
	for _, name := range names {
		if c := req.Cursor; c == nil || name >= c.Topic {
			p.add(s, name, firstPartition(c, name))
		}
	}
	resp := kmsg.NewPtrDescribeTopicPartitionsResponse()
	resp.Topics, resp.NextCursor = p.topics, p.next
	return resp
}

// pagedNames returns the topics that the request is about, sorted, each once.
func pagedNames(s *catalog.Snapshot, req *kmsg.DescribeTopicPartitionsRequest) []string {
	var names []string
	for _, t := range req.Topics {
		names = append(names, t.Topic)
	}
	if len(req.Topics) == 0 {
		for _, t := range s.Topics() {
			names = append(names, t.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// checkCursor refuses a cursor that points nowhere. Without topics in the request its topic may be gone meanwhile.
func checkCursor(req *kmsg.DescribeTopicPartitionsRequest, names []string) refusal {
	c := req.Cursor
	switch {
	case c == nil:
		return refusal{}
	case c.Partition < 0:
		return refuse(kerr.InvalidRequest, "the cursor's partition is %d", c.Partition)
	case len(req.Topics) > 0 && !slices.Contains(names, c.Topic):
		return refuse(kerr.InvalidRequest, "the cursor's topic %s is not asked for", c.Topic)
	default:
		return refusal{}
	}
}

func pageRefused(req *kmsg.DescribeTopicPartitionsRequest, f refusal) kmsg.Response {
	resp := kmsg.NewPtrDescribeTopicPartitionsResponse()
	for _, asked := range req.Topics {
		t := kmsg.NewDescribeTopicPartitionsResponseTopic()
		t.Topic, t.ErrorCode = pointer(asked.Topic), f.code
		resp.Topics = append(resp.Topics, t)
	}
	return resp
}

// firstPartition is where the page begins within a topic.
func firstPartition(c *kmsg.DescribeTopicPartitionsRequestCursor, name string) int32 {
	if c == nil || c.Topic != name {
		return 0
	}
	return c.Partition
}

// page gathers topics until it is full; next then says what did not fit.
type page struct {
	h      *Handler
	room   int // partitions that still fit
	topics []kmsg.DescribeTopicPartitionsResponseTopic
	next   *kmsg.DescribeTopicPartitionsResponseNextCursor
}

func (p *page) add(s *catalog.Snapshot, name string, first int32) {
	if p.next != nil {
		return
	}
	if p.room == 0 {
		p.next = nextCursor(name, 0)
		return
	}
	answer := kmsg.NewDescribeTopicPartitionsResponseTopic()
	answer.Topic, answer.IsInternal, answer.AuthorizedOperations = &name, internalTopic(name), topicOperations
	t := s.Topic(name)
	if t == nil {
		answer.ErrorCode = missingTopic(name).ErrorCode
		p.topics = append(p.topics, answer)
		return
	}
	answer.TopicID = t.ID
	end := min(int64(first)+int64(p.room), int64(t.Partitions))
	for i := int64(first); i < end; i++ {
		answer.Partitions = append(answer.Partitions, pagedPartition(p.h.metadataPartition(t, int32(i))))
		p.room--
	}
	p.topics = append(p.topics, answer)
	if end < int64(t.Partitions) && first < t.Partitions {
		p.next = nextCursor(name, int32(end))
	}
}

func nextCursor(topic string, partition int32) *kmsg.DescribeTopicPartitionsResponseNextCursor {
	c := kmsg.NewDescribeTopicPartitionsResponseNextCursor()
	c.Topic, c.Partition = topic, partition
	return &c
}

func pagedPartition(m kmsg.MetadataResponseTopicPartition) kmsg.DescribeTopicPartitionsResponseTopicPartition {
	p := kmsg.NewDescribeTopicPartitionsResponseTopicPartition()
	p.ErrorCode, p.Partition, p.LeaderID, p.LeaderEpoch = m.ErrorCode, m.Partition, m.Leader, m.LeaderEpoch
	p.Replicas, p.ISR, p.OfflineReplicas = m.Replicas, m.ISR, m.OfflineReplicas
	p.EligibleLeaderReplicas, p.LastKnownELR = []int32{}, []int32{}
	return p
}

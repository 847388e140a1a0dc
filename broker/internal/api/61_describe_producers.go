package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/producers"
	"github.com/skeinstream/skein/broker/internal/server"
)

// DescribeProducers (key 61): the producers that partitions remember, idempotent ones too (KIP-664).
//
// Version notes: there is version 0, and it is flexible.
//
// A partition may remember a great many producers, so one that a topic's list names again is not described again.

func describeProducersEntry() entry {
	return entry{key: 61, min: 0, max: 0, flexible: 0, serve: answers(kmsg.NewPtrDescribeProducersRequest, (*Handler).describeProducers)}
}

// unknownPartition is what Kafka says of a topic that it does not have; of a partition it says nothing.
const unknownPartition = "This server does not host this topic-partition."

func (h *Handler) describeProducers(_ *server.Request, req *kmsg.DescribeProducersRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.DescribeProducersResponse)
	seen := map[namedPartition]bool{}
	for _, t := range req.Topics {
		rt := kmsg.NewDescribeProducersResponseTopic()
		rt.Topic = t.Topic
		for _, index := range t.Partitions {
			if key := (namedPartition{t.Topic, index}); !seen[key] {
				seen[key] = true
				rt.Partitions = append(rt.Partitions, h.producersOf(t.Topic, index))
			}
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}

func (h *Handler) producersOf(topic string, index int32) kmsg.DescribeProducersResponseTopicPartition {
	rp := kmsg.NewDescribeProducersResponseTopicPartition()
	rp.Partition = index
	if bad := checkTopicName(topic); bad.code != 0 {
		rp.ErrorCode, rp.ErrorMessage = bad.code, &bad.message
		return rp
	}
	p, code := h.partition(topic, index)
	if code != 0 {
		rp.ErrorCode = code
		if h.Table.Topic(topic) == nil {
			rp.ErrorMessage = kmsg.StringPtr(unknownPartition)
		}
		return rp
	}
	entries, code := p.Producers()
	rp.ErrorCode = code
	for i := range entries {
		rp.ActiveProducers = append(rp.ActiveProducers, activeProducer(&entries[i]))
	}
	return rp
}

func activeProducer(e *producers.Entry) kmsg.DescribeProducersResponseTopicPartitionActiveProducer {
	a := kmsg.NewDescribeProducersResponseTopicPartitionActiveProducer()
	a.ProducerID, a.ProducerEpoch = e.ProducerID, int32(e.Epoch)
	a.LastSequence, a.LastTimestamp = e.LastSequence(), e.LastTimestamp
	a.CoordinatorEpoch, a.CurrentTxnStartOffset = e.CoordinatorEpoch, e.TxnFirstOffset
	return a
}

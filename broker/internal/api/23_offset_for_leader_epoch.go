package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/server"
)

// OffsetForLeaderEpoch (key 23): where a leader epoch ended, so that a consumer finds out that its records are of another
// history (KIP-320).
//
// Version notes:
//   - 2 is the first that Kafka 4 serves: current_leader_epoch in the request, leader_epoch and throttle_time in the response
//   - 3 adds replica_id, which changes nothing here
//   - 4 is flexible
//
// An epoch that is not known is answered with -1 and -1; the current one with the end of the log (T11).

func offsetForLeaderEpochEntry() entry {
	return entry{key: 23, min: 2, max: 4, flexible: 4, serve: answers(kmsg.NewPtrOffsetForLeaderEpochRequest, (*Handler).offsetForLeaderEpoch)}
}

func (h *Handler) offsetForLeaderEpoch(_ *server.Request, req *kmsg.OffsetForLeaderEpochRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.OffsetForLeaderEpochResponse)
	for _, t := range req.Topics {
		rt := kmsg.NewOffsetForLeaderEpochResponseTopic()
		rt.Topic = t.Topic
		for _, p := range t.Partitions {
			rt.Partitions = append(rt.Partitions, h.endOfEpoch(t.Topic, p))
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}

func (h *Handler) endOfEpoch(topic string, q kmsg.OffsetForLeaderEpochRequestTopicPartition) kmsg.OffsetForLeaderEpochResponseTopicPartition {
	rp := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
	rp.Partition = q.Partition
	p, code := h.partition(topic, q.Partition)
	if rp.ErrorCode = code; code == 0 {
		rp.LeaderEpoch, rp.EndOffset, rp.ErrorCode = p.EndOffsetForEpoch(q.CurrentLeaderEpoch, q.LeaderEpoch)
	}
	return rp
}

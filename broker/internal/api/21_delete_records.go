package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/server"
)

// DeleteRecords (key 21): moves the start of logs up.
//
// Version notes: 1 is like 0, 2 is flexible.
//
// Offset -1 is the high watermark; one below the start succeeds and changes nothing; a topic that is only compacted refuses
// with POLICY_VIOLATION. The new start is on the disk before the answer goes out: Kafka writes it within a minute, and may
// show deleted records again after a crash. The files go with the next round of retention. A partition that is named
// more than once is answered once, by its last mention.

func deleteRecordsEntry() entry {
	return entry{key: 21, min: 0, max: 2, flexible: 2, serve: (*Handler).deleteRecords}
}

func (h *Handler) deleteRecords(_ context.Context, r *server.Request) {
	req := kmsg.NewPtrDeleteRecordsRequest()
	if decode(r, req) {
		h.data.slow.answer(r, func() { reply(r, h.deleteAll(req)) })
	}
}

func (h *Handler) deleteAll(req *kmsg.DeleteRecordsRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.DeleteRecordsResponse)
	for _, t := range lastDeletions(req) {
		rt := kmsg.NewDeleteRecordsResponseTopic()
		rt.Topic = t.Topic
		for _, p := range t.Partitions {
			rp := kmsg.NewDeleteRecordsResponseTopicPartition()
			rp.Partition = p.Partition
			rp.LowWatermark, rp.ErrorCode = h.deleteIn(t.Topic, p)
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	if err := h.Table.SaveStarts(); err != nil {
		h.Logger.Error("the start of a log cannot be recorded", "error", err)
		failDeletions(resp)
	}
	return resp
}

// lastDeletions gathers each topic once, and of each partition the last mention.
func lastDeletions(req *kmsg.DeleteRecordsRequest) (topics []kmsg.DeleteRecordsRequestTopic) {
	at, seen := map[string]int{}, map[namedPartition]int{}
	for _, t := range req.Topics {
		i, known := at[t.Topic]
		if !known {
			i = len(topics)
			at[t.Topic] = i
			topics = append(topics, kmsg.DeleteRecordsRequestTopic{Topic: t.Topic})
		}
		to := &topics[i].Partitions
		for _, p := range t.Partitions {
			key := namedPartition{t.Topic, p.Partition}
			if j, again := seen[key]; again {
				(*to)[j] = p
				continue
			}
			seen[key] = len(*to)
			*to = append(*to, p)
		}
	}
	return topics
}

func (h *Handler) deleteIn(topic string, q kmsg.DeleteRecordsRequestTopicPartition) (low int64, code int16) {
	p, code := h.partition(topic, q.Partition)
	if code != 0 {
		return -1, code
	}
	if p.Topic().Internal {
		return -1, kerr.InvalidTopicException.Code
	}
	return p.DeleteRecords(q.Offset)
}

// failDeletions takes back what was promised: the start may be the old one after a restart.
func failDeletions(resp *kmsg.DeleteRecordsResponse) {
	for i := range resp.Topics {
		for j := range resp.Topics[i].Partitions {
			if p := &resp.Topics[i].Partitions[j]; p.ErrorCode == 0 {
				p.ErrorCode, p.LowWatermark = kerr.KafkaStorageError.Code, -1
			}
		}
	}
}

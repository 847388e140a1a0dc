package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/server"
	"github.com/skeinstream/skein/internal/group"
)

// OffsetDelete (47): forgets committed offsets of a group (KIP-496).
//
// Version notes: there is version 0, and it is not flexible.
//
// Partitions that there are not are refused here; the group decides about the others, and is asked also when there are none:
// it may be unknown. An error for the whole group is told alone.
func offsetDeleteEntry() entry {
	return entry{key: 47, min: 0, max: 0, flexible: 1, serve: (*Handler).offsetDelete}
}

func (h *Handler) offsetDelete(_ context.Context, r *server.Request) {
	req := kmsg.NewPtrOffsetDeleteRequest()
	if !decode(r, req) {
		return
	}
	resp, decided := h.refuseMissing(req)
	h.Groups.Do(req.Group, group.DeleteOffsets{Request: req}, func(got any, err error) {
		defer r.Contain()
		if code := coordinatorCode(err); code != 0 {
			reply(r, offsetDeleteRefused(code))
			return
		}
		reply(r, mergeDeleted(resp, decided, got.(*kmsg.OffsetDeleteResponse)))
	})
}

func offsetDeleteRefused(code int16) *kmsg.OffsetDeleteResponse {
	resp := kmsg.NewPtrOffsetDeleteResponse()
	resp.ErrorCode = code
	return resp
}

// refuseMissing answers for partitions that are not there and leaves only the rest in the request.
func (h *Handler) refuseMissing(req *kmsg.OffsetDeleteRequest) (resp *kmsg.OffsetDeleteResponse, decided slots) {
	s := h.Catalog.Snapshot()
	resp = kmsg.NewPtrOffsetDeleteResponse()
	resp.Topics = make([]kmsg.OffsetDeleteResponseTopic, len(req.Topics))
	kept := req.Topics[:0]
	for i, t := range req.Topics {
		topic, to, there := s.Topic(t.Topic), &resp.Topics[i], t.Partitions[:0]
		to.Topic = t.Topic
		to.Partitions = make([]kmsg.OffsetDeleteResponseTopicPartition, len(t.Partitions))
		for j, p := range t.Partitions {
			to.Partitions[j].Partition, to.Partitions[j].ErrorCode = p.Partition, kerr.UnknownTopicOrPartition.Code
			if hasPartition(topic, p.Partition) {
				decided.add(&to.Partitions[j].ErrorCode)
				there = append(there, p)
			}
		}
		if t.Partitions = there; len(there) > 0 {
			kept = append(kept, t)
		}
	}
	req.Topics = kept
	return resp, decided
}

// mergeDeleted is the whole answer.
func mergeDeleted(resp *kmsg.OffsetDeleteResponse, decided slots, got *kmsg.OffsetDeleteResponse) kmsg.Response {
	if got.ErrorCode != 0 {
		return got
	}
	for _, t := range got.Topics {
		for _, p := range t.Partitions {
			decided.fill(p.ErrorCode)
		}
	}
	return resp
}

package api

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/catalog"
	"github.com/skeinstream/skein/broker/internal/server"
	"github.com/skeinstream/skein/internal/group"
)

// OffsetCommit (8): a group notes how far it has come.
//
// v2: the first that Kafka 4 serves; a retention time for this commit
// v3: throttle time
// v4: throttled by muting the connection after the response (KIP-219)
// v5: no retention time any more (KIP-211)
// v6: the leader epoch of each offset (KIP-320)
// v7: static members (KIP-345)
// v8: flexible
// v9: STALE_MEMBER_EPOCH, GROUP_ID_NOT_FOUND and UNKNOWN_MEMBER_ID of the new protocol (KIP-848)
// v10: topics are named by id
//
// Partitions that there are not are refused here, with UNKNOWN_TOPIC_OR_PARTITION, or UNKNOWN_TOPIC_ID for their topic; the
// group decides about the others, and is not asked when there are none. A topic without partitions is not answered.
func offsetCommitEntry() entry {
	return entry{key: 8, min: 2, max: 10, flexible: 8, serve: (*Handler).offsetCommit}
}

// commitTopicID is the first version of OffsetCommit that names topics by id.
const commitTopicID = 10

func (h *Handler) offsetCommit(_ context.Context, r *server.Request) {
	req := kmsg.NewPtrOffsetCommitRequest()
	if !decode(r, req) {
		return
	}
	req.Topics = slices.DeleteFunc(req.Topics, func(t kmsg.OffsetCommitRequestTopic) bool { return len(t.Partitions) == 0 })
	if h.resolveCommit(req) {
		h.inGroup(r, req.Group, group.Commit{Request: req}, func(code int16) kmsg.Response { return commitRefused(req, code) })
		return
	}
	c := h.newCommit(req)
	if len(req.Topics) == 0 {
		reply(r, c.resp)
		return
	}
	h.Groups.Do(req.Group, group.Commit{Request: req}, func(got any, err error) {
		defer r.Contain()
		resp, _ := got.(*kmsg.OffsetCommitResponse)
		if code := coordinatorCode(err); code != 0 {
			resp = commitRefused(req, code)
		}
		reply(r, c.merged(resp))
	})
}

// resolveCommit gives each topic both name and id, and reports whether all partitions exist, and any is named.
func (h *Handler) resolveCommit(req *kmsg.OffsetCommitRequest) (all bool) {
	all = len(req.Topics) > 0
	s := h.Catalog.Snapshot()
	for i := range req.Topics {
		t := &req.Topics[i]
		topic := commitTopic(s, req.Version, t)
		if topic == nil {
			all = false
			continue
		}
		t.Topic, t.TopicID = topic.Name, topic.ID
		for j := range t.Partitions {
			all = all && hasPartition(topic, t.Partitions[j].Partition)
		}
	}
	return all
}

func commitTopic(s *catalog.Snapshot, version int16, t *kmsg.OffsetCommitRequestTopic) *catalog.Topic {
	if version >= commitTopicID {
		return s.TopicByID(t.TopicID)
	}
	return s.Topic(t.Topic)
}

func hasPartition(t *catalog.Topic, index int32) bool {
	return t != nil && index >= 0 && index < t.Partitions
}

// commitRefused answers every partition with code.
func commitRefused(req *kmsg.OffsetCommitRequest, code int16) *kmsg.OffsetCommitResponse {
	resp := kmsg.NewPtrOffsetCommitResponse()
	resp.Topics = make([]kmsg.OffsetCommitResponseTopic, len(req.Topics))
	for i, t := range req.Topics {
		to := &resp.Topics[i]
		to.Topic, to.TopicID = t.Topic, t.TopicID
		to.Partitions = make([]kmsg.OffsetCommitResponseTopicPartition, len(t.Partitions))
		for j, p := range t.Partitions {
			to.Partitions[j].Partition, to.Partitions[j].ErrorCode = p.Partition, code
		}
	}
	return resp
}

// commit is a request of which some partitions are not there: the answer to all of it, and the places in it that the group
// decides.
type commit struct {
	resp    *kmsg.OffsetCommitResponse
	decided slots
}

// newCommit answers what can be answered here and leaves only the rest in the request.
func (h *Handler) newCommit(req *kmsg.OffsetCommitRequest) *commit {
	s := h.Catalog.Snapshot()
	c := &commit{resp: commitRefused(req, kerr.UnknownTopicOrPartition.Code)}
	kept := req.Topics[:0]
	for i, t := range req.Topics {
		topic := commitTopic(s, req.Version, &t)
		there := t.Partitions[:0]
		for j, p := range t.Partitions {
			place := &c.resp.Topics[i].Partitions[j].ErrorCode
			switch {
			case hasPartition(topic, p.Partition):
				c.decided.add(place)
				there = append(there, p)
			case topic == nil && req.Version >= commitTopicID:
				*place = kerr.UnknownTopicID.Code
			}
		}
		if t.Partitions = there; len(there) > 0 {
			kept = append(kept, t)
		}
	}
	req.Topics = kept
	return c
}

// merged is the whole answer.
func (c *commit) merged(decided *kmsg.OffsetCommitResponse) kmsg.Response {
	for _, t := range decided.Topics {
		for _, p := range t.Partitions {
			c.decided.fill(p.ErrorCode)
		}
	}
	return c.resp
}

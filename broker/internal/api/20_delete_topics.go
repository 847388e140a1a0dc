package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/catalog"
)

// DeleteTopics (20)
//
// v1: throttle time
// v2: throttled by muting the connection after the response (KIP-219)
// v3: TOPIC_DELETION_DISABLED exists; before, it is INVALID_REQUEST
// v4: flexible
// v5: error messages (KIP-599)
// v6: topics may be named by id (KIP-516)
//
// A topic is gone from the catalog when the answer is sent; its files follow. All topics of a request that can be
// deleted go in one step.
func deleteTopicsEntry() entry {
	return entry{key: 20, min: 1, max: 6, flexible: 4, serve: changes(kmsg.NewPtrDeleteTopicsRequest,
		func(h *Handler, ctx context.Context, req *kmsg.DeleteTopicsRequest) kmsg.Response {
			resp := kmsg.NewPtrDeleteTopicsResponse()
			resp.Topics = h.deleteTopics(ctx, req)
			return resp
		})}
}

func (h *Handler) deleteTopics(ctx context.Context, req *kmsg.DeleteTopicsRequest) (results []kmsg.DeleteTopicsResponseTopic) {
	asked := askedDeletions(req)
	if !h.Broker().DeleteTopics {
		return refuseDeletions(asked, deletionDisabled(req.Version))
	}
	err := h.change(ctx, false, func(s *catalog.Snapshot) (records []catalog.Record) {
		d := deletion{snapshot: s, asked: asked, byName: map[string]int{}, byID: map[catalog.ID]int{}}
		results, records = d.all()
		return records
	})
	if err != nil {
		return refuseDeletions(asked, notStored(err))
	}
	return results
}

// askedDeletions gives requests of every version the shape of the newest.
func askedDeletions(req *kmsg.DeleteTopicsRequest) []kmsg.DeleteTopicsRequestTopic {
	if req.Version >= 6 {
		return req.Topics
	}
	asked := make([]kmsg.DeleteTopicsRequestTopic, len(req.TopicNames))
	for i := range req.TopicNames {
		asked[i].Topic = &req.TopicNames[i]
	}
	return asked
}

func deletionDisabled(version int16) refusal {
	if version < 3 {
		return refuse(kerr.InvalidRequest, "Topic deletion is disabled.")
	}
	return refuse(kerr.TopicDeletionDisabled, "Topic deletion is disabled.")
}

func refuseDeletions(asked []kmsg.DeleteTopicsRequestTopic, f refusal) []kmsg.DeleteTopicsResponseTopic {
	var results []kmsg.DeleteTopicsResponseTopic
	for _, a := range asked {
		results = append(results, deletionResult(a.Topic, a.TopicID, f))
	}
	return results
}

func deletionResult(name *string, id catalog.ID, f refusal) kmsg.DeleteTopicsResponseTopic {
	answer := kmsg.NewDeleteTopicsResponseTopic()
	answer.Topic, answer.TopicID, answer.ErrorCode, answer.ErrorMessage = name, id, f.code, f.text()
	return answer
}

// deletion works through one request on one snapshot. A topic that is named twice, in whatever way, is not deleted and
// answered for once.
type deletion struct {
	snapshot *catalog.Snapshot
	asked    []kmsg.DeleteTopicsRequestTopic
	byName   map[string]int // how often a name is asked for
	byID     map[catalog.ID]int
}

func (d *deletion) all() (results []kmsg.DeleteTopicsResponseTopic, records []catalog.Record) {
	for _, a := range d.asked {
		if a.Topic != nil {
			d.byName[*a.Topic]++
		} else {
			d.byID[a.TopicID]++
		}
	}
	for _, a := range d.asked {
		answer, answered := d.one(a)
		if answered {
			continue
		}
		results = append(results, answer)
		if answer.ErrorCode == 0 {
			records = append(records, catalog.Record{TopicDeleted: &catalog.TopicDeleted{ID: answer.TopicID}})
		}
	}
	return results, records
}

// one answers for one topic of the request; answered says that an earlier one has done so.
func (d *deletion) one(a kmsg.DeleteTopicsRequestTopic) (answer kmsg.DeleteTopicsResponseTopic, answered bool) {
	byID := a.TopicID != [16]byte{}
	switch {
	case a.Topic != nil && byID:
		return deletionResult(a.Topic, a.TopicID, refuse(kerr.InvalidRequest, "You may not specify both topic name and topic id.")), false
	case a.Topic != nil:
		return d.named(*a.Topic)
	case byID:
		return d.identified(a.TopicID)
	default:
		return deletionResult(nil, a.TopicID, refuse(kerr.InvalidRequest, "Neither topic name nor id were specified.")), false
	}
}

func (d *deletion) named(name string) (kmsg.DeleteTopicsResponseTopic, bool) {
	times := d.byName[name]
	d.byName[name] = 0
	t := d.snapshot.Topic(name)
	switch {
	case times == 0:
		return kmsg.DeleteTopicsResponseTopic{}, true
	case times > 1:
		return deletionResult(&name, catalog.ID{}, refuse(kerr.InvalidRequest, "Duplicate topic name.")), false
	case t == nil:
		return deletionResult(&name, catalog.ID{}, refuse(kerr.UnknownTopicOrPartition, "%s", kerr.UnknownTopicOrPartition.Description)), false
	case d.byID[t.ID] > 0:
		d.byID[t.ID] = 0
		return deletionResult(&name, t.ID, refuse(kerr.InvalidRequest, "The provided topic name maps to an ID that was already supplied.")), false
	default:
		return deletionResult(&name, t.ID, refusal{}), false
	}
}

func (d *deletion) identified(id catalog.ID) (kmsg.DeleteTopicsResponseTopic, bool) {
	times := d.byID[id]
	d.byID[id] = 0
	t := d.snapshot.TopicByID(id)
	switch {
	case times == 0:
		return kmsg.DeleteTopicsResponseTopic{}, true
	case times > 1:
		return deletionResult(nil, id, refuse(kerr.InvalidRequest, "Duplicate topic id.")), false
	case t == nil:
		return deletionResult(nil, id, refuse(kerr.UnknownTopicID, "%s", kerr.UnknownTopicID.Description)), false
	case d.byName[t.Name] > 0:
		d.byName[t.Name] = 0
		return deletionResult(&t.Name, id, refuse(kerr.InvalidRequest, "The provided topic name maps to an ID that was already supplied.")), false
	default:
		return deletionResult(&t.Name, id, refusal{}), false
	}
}

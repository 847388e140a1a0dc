package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/catalog"
)

// CreatePartitions (37)
//
// v1: throttled by muting the connection after the response (KIP-219)
// v2: flexible
// v3: may be refused by a quota on changes (KIP-599), which this broker has not
//
// Count is how many partitions the topic is to have, not how many are added. The answer names each topic. All topics of
// a request that can grow do so in one step.
func createPartitionsEntry() entry {
	return entry{key: 37, min: 0, max: 3, flexible: 2, serve: changes(kmsg.NewPtrCreatePartitionsRequest,
		func(h *Handler, ctx context.Context, req *kmsg.CreatePartitionsRequest) kmsg.Response {
			resp := kmsg.NewPtrCreatePartitionsResponse()
			resp.Topics = h.createPartitions(ctx, req)
			return resp
		})}
}

func (h *Handler) createPartitions(ctx context.Context, req *kmsg.CreatePartitionsRequest) (results []kmsg.CreatePartitionsResponseTopic) {
	err := h.change(ctx, req.ValidateOnly, func(s *catalog.Snapshot) (records []catalog.Record) {
		results, records = growAll(s, h.NodeID, req.Topics)
		return records
	})
	if err != nil {
		return refuseGrowth(req.Topics, notStored(err))
	}
	return results
}

// growAll answers for each name once, in the order of the request.
func growAll(s *catalog.Snapshot, nodeID int32, asked []kmsg.CreatePartitionsRequestTopic) (results []kmsg.CreatePartitionsResponseTopic, records []catalog.Record) {
	if addedPartitions(s, asked) > partitionsPerRequest {
		return refuseGrowth(asked, refuse(kerr.PolicyViolation, "Excessively large number of additional partitions per request.")), nil
	}
	times := map[string]int{}
	for _, a := range asked {
		times[a.Topic]++
	}
	for _, a := range asked {
		n := times[a.Topic]
		times[a.Topic] = 0
		if n == 0 {
			continue // answered already
		}
		t := s.Topic(a.Topic)
		f := checkGrowth(t, nodeID, a)
		if n > 1 {
			f = refuse(kerr.InvalidRequest, "Duplicate topic name.")
		}
		if f.code == 0 {
			records = append(records, catalog.Record{PartitionsSet: &catalog.PartitionsSet{ID: t.ID, Partitions: a.Count}})
		}
		results = append(results, growthResult(a.Topic, f))
	}
	return results, records
}

func addedPartitions(s *catalog.Snapshot, asked []kmsg.CreatePartitionsRequestTopic) (total int64) {
	for _, a := range asked {
		if t := s.Topic(a.Topic); t != nil {
			total += max(int64(a.Count)-int64(t.Partitions), 0)
		}
	}
	return total
}

func checkGrowth(t *catalog.Topic, nodeID int32, a kmsg.CreatePartitionsRequestTopic) refusal {
	switch {
	case t == nil:
		return refuse(kerr.UnknownTopicOrPartition, "")
	case t.Internal: // FR-C21
		return refuse(kerr.InvalidPartitions, "The number of partitions of %s says where each key is, so that it cannot change.", t.Name)
	case a.Count == t.Partitions:
		return refuse(kerr.InvalidPartitions, "Topic already has %d partition(s).", t.Partitions)
	case a.Count < t.Partitions:
		return refuse(kerr.InvalidPartitions, "The topic %s currently has %d partition(s); %d would not be an increase.", t.Name, t.Partitions, a.Count)
	case a.Assignment != nil && len(a.Assignment) != int(a.Count-t.Partitions):
		return refuse(kerr.InvalidReplicaAssignment, "Attempted to add %d additional partition(s), but only %d assignment(s) were specified.",
			a.Count-t.Partitions, len(a.Assignment))
	}
	for _, assigned := range a.Assignment {
		if f := checkReplicas(nodeID, assigned.Replicas); f.code != 0 {
			return f
		}
	}
	return refusal{}
}

func growthResult(name string, f refusal) kmsg.CreatePartitionsResponseTopic {
	answer := kmsg.NewCreatePartitionsResponseTopic()
	answer.Topic, answer.ErrorCode, answer.ErrorMessage = name, f.code, f.text()
	return answer
}

func refuseGrowth(asked []kmsg.CreatePartitionsRequestTopic, f refusal) []kmsg.CreatePartitionsResponseTopic {
	var results []kmsg.CreatePartitionsResponseTopic
	for _, a := range asked {
		results = append(results, growthResult(a.Topic, f))
	}
	return results
}

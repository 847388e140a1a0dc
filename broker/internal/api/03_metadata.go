package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/catalog"
	"github.com/skeinstream/skein/broker/internal/server"
)

// Metadata (3)
//
// v0: an empty list of topics asks for all
// v1: null asks for all, an empty list for none; rack, controller id, internal flag
// v2: cluster id
// v3: throttle time
// v4: the client says whether a missing topic may be created; before, it may
// v5: offline replicas
// v6: throttled by muting the connection after the response (KIP-219)
// v7: leader epoch (KIP-320)
// v8: authorized operations, when asked for (KIP-430)
// v9: flexible
// v10: topic ids; asking by id is defined but refused until v12 (KIP-516)
// v11: the cluster's authorized operations moved to DescribeCluster (KIP-700)
// v12: topics may be asked for by id, and then no name in the request counts
// v13: an error for the whole request (KIP-1102)
//
// A missing topic is created when the request and auto.create.topics.enable both allow it, and then the answer waits
// for it and has it; Kafka answers UNKNOWN_TOPIC_OR_PARTITION and creates it meanwhile.
func metadataEntry() entry {
	return entry{key: 3, min: 0, max: 13, flexible: 9, serve: (*Handler).serveMetadata}
}

func (h *Handler) serveMetadata(ctx context.Context, r *server.Request) {
	req := kmsg.NewPtrMetadataRequest()
	if !decode(r, req) {
		return
	}
	wanted := h.topicsToCreate(h.Catalog.Snapshot(), req)
	if len(wanted) == 0 {
		reply(r, h.metadata(r.Conn.Listener(), req))
		return
	}
	ctx = context.WithoutCancel(ctx)
	h.control.answer(r, func() {
		h.autoCreate(ctx, wanted)
		reply(r, h.metadata(r.Conn.Listener(), req))
	})
}

// metadata answers from the newest snapshot.
func (h *Handler) metadata(listener server.ListenerInfo, req *kmsg.MetadataRequest) kmsg.Response {
	if f := checkMetadata(req); f.code != 0 {
		return metadataRefused(req, f)
	}
	s := h.Catalog.Snapshot()
	resp := kmsg.NewPtrMetadataResponse()
	resp.Brokers = []kmsg.MetadataResponseBroker{h.broker(listener)}
	resp.ClusterID = pointer(s.ClusterID().String())
	resp.ControllerID = h.NodeID
	resp.Topics = h.metadataTopics(s, req)
	if req.IncludeClusterAuthorizedOperations && req.Version >= 8 && req.Version <= 10 {
		resp.AuthorizedOperations = clusterOperations
	}
	return resp
}

// broker is this broker as clients of a listener see it.
func (h *Handler) broker(listener server.ListenerInfo) kmsg.MetadataResponseBroker {
	b := kmsg.MetadataResponseBroker{NodeID: h.NodeID, Host: listener.Host, Port: listener.Port}
	if rack := h.Broker().Rack; rack != "" {
		b.Rack = &rack
	}
	return b
}

// checkMetadata refuses a request that contradicts itself.
func checkMetadata(req *kmsg.MetadataRequest) refusal {
	for _, t := range req.Topics {
		byID := t.TopicID != [16]byte{}
		switch {
		case req.Version >= 10 && req.Version < 12 && (byID || t.Topic == nil):
			return refuse(kerr.InvalidRequest, "topics cannot be asked for by id in version %d", req.Version)
		case t.Topic == nil && !byID:
			return refuse(kerr.InvalidRequest, "a topic has neither name nor id")
		}
	}
	return refusal{}
}

// metadataRefused refuses every topic of a request, and names no broker, as Kafka does.
func metadataRefused(req *kmsg.MetadataRequest, f refusal) kmsg.Response {
	resp := kmsg.NewPtrMetadataResponse()
	resp.ErrorCode = f.code
	resp.Brokers = []kmsg.MetadataResponseBroker{}
	for _, asked := range req.Topics {
		t := kmsg.NewMetadataResponseTopic()
		t.ErrorCode, t.Topic, t.TopicID = f.code, asked.Topic, asked.TopicID
		if t.Topic == nil {
			t.Topic = pointer("")
		}
		resp.Topics = append(resp.Topics, t)
	}
	return resp
}

func (h *Handler) metadataTopics(s *catalog.Snapshot, req *kmsg.MetadataRequest) []kmsg.MetadataResponseTopic {
	topics := []kmsg.MetadataResponseTopic{}
	if req.Topics == nil || req.Version == 0 && len(req.Topics) == 0 {
		for _, t := range s.Topics() {
			topics = append(topics, h.metadataTopic(t))
		}
	} else if asksByID(req) {
		topics = h.metadataByID(s, req.Topics)
	} else {
		topics = h.metadataByName(s, req.Topics)
	}
	if req.IncludeTopicAuthorizedOperations && req.Version >= 8 {
		for i := range topics {
			if topics[i].ErrorCode != kerr.UnknownTopicID.Code {
				topics[i].AuthorizedOperations = topicOperations
			}
		}
	}
	return topics
}

func asksByID(req *kmsg.MetadataRequest) bool {
	for _, t := range req.Topics {
		if t.TopicID != [16]byte{} {
			return true
		}
	}
	return false
}

// metadataByID answers what is asked for by id; a topic that was deleted and created again is not the one asked for
// (T13).
func (h *Handler) metadataByID(s *catalog.Snapshot, asked []kmsg.MetadataRequestTopic) []kmsg.MetadataResponseTopic {
	topics := []kmsg.MetadataResponseTopic{}
	seen := map[catalog.ID]bool{{}: true}
	for _, a := range asked {
		if seen[a.TopicID] {
			continue
		}
		seen[a.TopicID] = true
		if t := s.TopicByID(a.TopicID); t != nil {
			topics = append(topics, h.metadataTopic(t))
			continue
		}
		unknown := kmsg.NewMetadataResponseTopic()
		unknown.ErrorCode, unknown.TopicID = kerr.UnknownTopicID.Code, a.TopicID
		topics = append(topics, unknown)
	}
	return topics
}

func (h *Handler) metadataByName(s *catalog.Snapshot, asked []kmsg.MetadataRequestTopic) []kmsg.MetadataResponseTopic {
	topics := []kmsg.MetadataResponseTopic{}
	seen := map[string]bool{}
	for _, a := range asked {
		if seen[*a.Topic] {
			continue
		}
		seen[*a.Topic] = true
		if t := s.Topic(*a.Topic); t != nil {
			topics = append(topics, h.metadataTopic(t))
			continue
		}
		topics = append(topics, missingTopic(*a.Topic))
	}
	return topics
}

// missingTopic answers for a topic that is not there, or that no topic can be called.
func missingTopic(name string) kmsg.MetadataResponseTopic {
	t := kmsg.NewMetadataResponseTopic()
	t.Topic, t.IsInternal = &name, internalTopic(name)
	t.ErrorCode = checkTopicName(name).code
	if t.ErrorCode == 0 {
		t.ErrorCode = kerr.UnknownTopicOrPartition.Code
	}
	return t
}

func (h *Handler) metadataTopic(t *catalog.Topic) kmsg.MetadataResponseTopic {
	answer := kmsg.NewMetadataResponseTopic()
	answer.Topic, answer.TopicID, answer.IsInternal = &t.Name, t.ID, internalTopic(t.Name)
	answer.Partitions = make([]kmsg.MetadataResponseTopicPartition, t.Partitions)
	for i := range answer.Partitions {
		answer.Partitions[i] = h.metadataPartition(t, int32(i))
	}
	return answer
}

// metadataPartition shows one replica, this broker, which leads under the epoch of this start; an offline partition has
// no leader until the next.
func (h *Handler) metadataPartition(t *catalog.Topic, i int32) kmsg.MetadataResponseTopicPartition {
	p := kmsg.NewMetadataResponseTopicPartition()
	p.Partition, p.LeaderEpoch = i, h.leaderEpoch()
	p.Replicas = []int32{h.NodeID}
	if h.offline(t.ID, i) {
		p.ErrorCode, p.Leader, p.OfflineReplicas = kerr.LeaderNotAvailable.Code, -1, p.Replicas
		return p
	}
	p.Leader, p.ISR = h.NodeID, p.Replicas
	return p
}

package api

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/catalog"
)

// topicsToCreate returns the names in a Metadata request that are missing and may be created: the client and the broker
// both allow it (T9), and the name is one that a topic can have. Topics of coordinators are left to them.
func (h *Handler) topicsToCreate(s *catalog.Snapshot, req *kmsg.MetadataRequest) []string {
	allowed := req.AllowAutoTopicCreation || req.Version < 4
	if !allowed || !h.Broker().AutoCreateTopics || asksByID(req) || checkMetadata(req).code != 0 {
		return nil
	}
	var names []string
	for _, t := range req.Topics {
		missing := s.Topic(*t.Topic) == nil && !internalTopic(*t.Topic)
		if missing && checkTopicName(*t.Topic).code == 0 && !slices.Contains(names, *t.Topic) {
			names = append(names, *t.Topic)
		}
	}
	return names
}

// autoCreate creates topics with the broker's defaults. What cannot be created stays missing, whatever the reason: that
// is the answer in Kafka too.
func (h *Handler) autoCreate(ctx context.Context, names []string) {
	req := kmsg.NewPtrCreateTopicsRequest()
	for _, name := range names {
		t := kmsg.NewCreateTopicsRequestTopic()
		t.Topic, t.NumPartitions, t.ReplicationFactor = name, -1, -1
		req.Topics = append(req.Topics, t)
	}
	h.createTopics(ctx, req)
}

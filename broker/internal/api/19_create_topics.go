package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/catalog"
	"github.com/skeinstream/skein/internal/settings"
)

// CreateTopics (19)
//
// v2: first version that Kafka 4 serves: validate only, error messages, throttle time
// v3: throttled by muting the connection after the response (KIP-219)
// v4: partitions and replication factor may be -1, for the broker's defaults (KIP-464)
// v5: flexible; the answer tells partitions, replication factor and settings of the new topic (KIP-525)
// v6: may be refused by a quota on changes (KIP-599), which this broker has not
// v7: the answer tells the topic id
//
// The settings in the answer are an array from v5 on, empty when the topic was refused: null would say that the client
// may not see them. All topics of a request that can be created become durable in one step.
func createTopicsEntry() entry {
	return entry{key: 19, min: 2, max: 7, flexible: 5, serve: changes(kmsg.NewPtrCreateTopicsRequest,
		func(h *Handler, ctx context.Context, req *kmsg.CreateTopicsRequest) kmsg.Response {
			resp := kmsg.NewPtrCreateTopicsResponse()
			resp.Topics = h.createTopics(ctx, req)
			return resp
		})}
}

// partitionsPerRequest is how many partitions one request may create, as in Kafka.
const partitionsPerRequest = 10_000

// creation works through one request on one snapshot.
type creation struct {
	snapshot *catalog.Snapshot
	layers   settings.Layers
	broker   *settings.Broker
	version  int16
	nodeID   int32
	nowMs    int64
	newID    func() (catalog.ID, error)
	names    collisions
	records  []catalog.Record
}

func (h *Handler) createTopics(ctx context.Context, req *kmsg.CreateTopicsRequest) (results []kmsg.CreateTopicsResponseTopic) {
	err := h.change(ctx, req.ValidateOnly, func(s *catalog.Snapshot) []catalog.Record {
		c := h.newCreation(s, req.Version)
		results = c.all(req)
		return c.records
	})
	if err != nil {
		return refuseCreations(req, notStored(err))
	}
	return results
}

func (h *Handler) newCreation(s *catalog.Snapshot, version int16) *creation {
	return &creation{
		snapshot: s, layers: h.layers(s), broker: h.Broker(), version: version, nodeID: h.NodeID, nowMs: h.Now().UnixMilli(),
		newID: h.Catalog.NewTopicID, names: collisions{snapshot: s},
	}
}

// all answers for each name once, in the order of the request.
func (c *creation) all(req *kmsg.CreateTopicsRequest) []kmsg.CreateTopicsResponseTopic {
	if c.partitions(req) > partitionsPerRequest {
		return refuseCreations(req, refuse(kerr.PolicyViolation, "Excessively large number of partitions per request."))
	}
	results := []kmsg.CreateTopicsResponseTopic{}
	times := map[string]int{}
	for _, t := range req.Topics {
		times[t.Topic]++
	}
	for _, t := range req.Topics {
		switch times[t.Topic] {
		case 0:
			continue // answered already
		case 1:
			results = append(results, c.one(t))
		default:
			results = append(results, refusedCreation(t.Topic, refuse(kerr.InvalidRequest, "Duplicate topic name.")))
		}
		times[t.Topic] = 0
	}
	return results
}

// partitions counts what the request asks for.
func (c *creation) partitions(req *kmsg.CreateTopicsRequest) (total int64) {
	for _, t := range req.Topics {
		total += max(int64(len(t.ReplicaAssignment)), int64(t.NumPartitions), 0)
	}
	return total
}

func (c *creation) one(t kmsg.CreateTopicsRequestTopic) kmsg.CreateTopicsResponseTopic {
	configs, f := c.check(t)
	if f.code != 0 {
		return refusedCreation(t.Topic, f)
	}
	partitions, f := c.place(t)
	if f.code != 0 {
		return refusedCreation(t.Topic, f)
	}
	id, err := c.newID()
	if err != nil {
		return refusedCreation(t.Topic, notStored(err))
	}
	topic := &catalog.Topic{ID: id, Name: t.Topic, Partitions: partitions, Configs: configs, Internal: internalTopic(t.Topic), CreatedMs: c.nowMs}
	c.records = append(c.records, catalog.Record{TopicCreated: topic})
	return c.created(topic)
}

// check looks at everything but the partitions and returns the topic's settings.
func (c *creation) check(t kmsg.CreateTopicsRequestTopic) (map[string]string, refusal) {
	if t.Topic == "__cluster_metadata" {
		return nil, refuse(kerr.InvalidRequest, "Creation of internal topic %s is prohibited.", t.Topic)
	}
	if c.snapshot.Topic(t.Topic) != nil {
		return nil, refuse(kerr.TopicAlreadyExists, "Topic '%s' already exists.", t.Topic)
	}
	if f := checkTopicName(t.Topic); f.code != 0 {
		return nil, f
	}
	if other := c.names.with(t.Topic); other != "" {
		return nil, refuse(kerr.InvalidTopicException, "Topic '%s' collides with existing topic: %s", t.Topic, other)
	}
	configs := map[string]string{}
	for _, k := range t.Configs {
		if k.Value == nil {
			return nil, refuse(kerr.InvalidConfig, "Null value not supported for topic configs: %s", k.Name)
		}
		configs[k.Name] = *k.Value
	}
	return configs, badConfig(settings.CheckTopic(c.layers, configs))
}

// created tells the client what it got. Values that it gave come back as they were written.
func (c *creation) created(t *catalog.Topic) kmsg.CreateTopicsResponseTopic {
	answer := kmsg.NewCreateTopicsResponseTopic()
	answer.Topic, answer.TopicID = t.Name, t.ID
	answer.NumPartitions, answer.ReplicationFactor = t.Partitions, 1
	if c.version < 5 {
		return answer
	}
	for _, e := range settings.DescribeTopic(c.layers, t.Configs) {
		k := kmsg.NewCreateTopicsResponseTopicConfig()
		k.Name, k.Source, k.IsSensitive = e.Def.Name, int8(e.Source), e.Def.Sensitive
		if given, ok := t.Configs[e.Def.Name]; ok {
			e.Value = given
		}
		if !e.Null {
			k.Value = pointer(e.Value)
		}
		answer.Configs = append(answer.Configs, k)
	}
	return answer
}

func refusedCreation(name string, f refusal) kmsg.CreateTopicsResponseTopic {
	answer := kmsg.NewCreateTopicsResponseTopic()
	answer.Topic, answer.ErrorCode, answer.ErrorMessage = name, f.code, f.text()
	answer.NumPartitions, answer.ReplicationFactor = -1, -1
	answer.Configs = []kmsg.CreateTopicsResponseTopicConfig{}
	return answer
}

func refuseCreations(req *kmsg.CreateTopicsRequest, f refusal) []kmsg.CreateTopicsResponseTopic {
	results := []kmsg.CreateTopicsResponseTopic{}
	seen := map[string]bool{}
	for _, t := range req.Topics {
		if !seen[t.Topic] {
			results = append(results, refusedCreation(t.Topic, f))
		}
		seen[t.Topic] = true
	}
	return results
}

package differential

import (
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const adminTimeoutMillis = 20_000

// reencoded ends the names of topics whose batches the broker encodes anew:
// two compressors make different sizes.
const reencoded = "-reencoded"

// topicKinds are the sorts of topics that a case has.
func topicKinds() []string {
	return []string{"plain", "plain", "compact", "compact,delete", "append time", "gzip", "lz4", "snappy", "zstd", "uncompressed", "small", "strict time"}
}

func kindConfigs(kind string) map[string]string {
	switch kind {
	case "compact":
		return map[string]string{"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "1"}
	case "compact,delete":
		return map[string]string{"cleanup.policy": "compact,delete", "min.cleanable.dirty.ratio": "1"}
	case "append time":
		return map[string]string{"message.timestamp.type": "LogAppendTime"}
	case "gzip", "lz4", "snappy", "zstd", "uncompressed":
		return map[string]string{"compression.type": kind}
	case "small":
		return map[string]string{"max.message.bytes": "300"}
	case "strict time":
		return map[string]string{"message.timestamp.after.max.ms": "60000", "message.timestamp.before.max.ms": "86400000"}
	}
	return nil
}

func (w *world) addTopic(name, kind string, partitions int32) {
	w.topics = append(w.topics, &topic{name: name, kind: kind, partitions: partitions, ends: make(map[int32]int64)})
}

// createOne makes one good topic.
func (w *world) createOne(kind string) step {
	spec := topicSpec{name: w.newName(), partitions: int32(1 + w.r.IntN(3)), replicas: 1, configs: kindConfigs(kind)}
	if spec.configs["compression.type"] != "" {
		spec.name += reencoded
	}
	w.addTopic(spec.name, kind, spec.partitions)
	return w.createStep([]topicSpec{spec}, false)
}

type topicSpec struct {
	name       string
	partitions int32
	replicas   int16
	assignment map[int32][]int32
	configs    map[string]string
	nullConfig string
}

func (w *world) createTopics() step {
	if w.chance(3) {
		return w.createOne(pick(w, topicKinds()))
	}
	var specs []topicSpec
	for range 1 + w.r.IntN(2) {
		specs = append(specs, w.oddTopic())
	}
	if w.chance(6) {
		specs = append(specs, specs[0])
	}
	return w.createStep(specs, w.chance(3))
}

// oddTopic is a topic to create that is mostly wrong in some way.
func (w *world) oddTopic() topicSpec {
	spec := topicSpec{name: w.newName(), partitions: 1, replicas: 1}
	switch w.r.IntN(12) {
	case 0:
		spec.name = pick(w, []string{"", ".", "..", "a b", "sl/ash", "ünicode", strings.Repeat("x", 250), strings.Repeat("y", 249)})
	case 1:
		spec.name = w.someTopic().name
	case 2:
		spec.name = strings.ReplaceAll(w.newName(), "-", ".") + "_x.y"
	case 3:
		spec.partitions = pick(w, []int32{0, -2, -1, 7})
	case 4:
		spec.replicas = pick(w, []int16{0, -2, -1, 2, 3})
	case 5:
		spec.assignment = pick(w, []map[int32][]int32{
			{0: {1}, 1: {1}}, {0: {2}}, {1: {1}}, {0: {1, 1}}, {0: {}}, {0: {1}, 2: {1}}, {0: {1}, 1: {1, 2}},
		})
		if w.chance(2) {
			spec.partitions, spec.replicas = -1, -1
		}
	case 6:
		spec.nullConfig = pick(w, []string{"retention.ms", "cleanup.policy"})
	default:
		name, value := w.someTopicConfig()
		spec.configs = map[string]string{name: value}
	}
	return spec
}

func (w *world) createStep(specs []topicSpec, validateOnly bool) step {
	version := w.version(kmsg.CreateTopics)
	var texts []string
	for _, spec := range specs {
		texts = append(texts, fmt.Sprintf("%+v", spec))
	}
	return step{
		text: say("CreateTopics", version, "validateOnly=%v %s", validateOnly, strings.Join(texts, " ")),
		request: func(*side) kmsg.Request {
			request := kmsg.NewPtrCreateTopicsRequest()
			request.Version, request.TimeoutMillis, request.ValidateOnly = version, adminTimeoutMillis, validateOnly
			for _, spec := range specs {
				request.Topics = append(request.Topics, spec.build())
			}
			return request
		},
		after: func(s *side, response kmsg.Response) error { return s.settle(created(response, validateOnly)...) },
	}
}

// created are the topics that the answer says exist now.
func created(response kmsg.Response, validateOnly bool) []string {
	var names []string
	for _, t := range response.(*kmsg.CreateTopicsResponse).Topics {
		if t.ErrorCode == 0 && !validateOnly {
			names = append(names, t.Topic)
		}
	}
	return names
}

func (t topicSpec) build() kmsg.CreateTopicsRequestTopic {
	out := kmsg.NewCreateTopicsRequestTopic()
	out.Topic, out.NumPartitions, out.ReplicationFactor = t.name, t.partitions, t.replicas
	for partition := range int32(4) {
		if replicas, ok := t.assignment[partition]; ok {
			a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
			a.Partition, a.Replicas = partition, replicas
			out.ReplicaAssignment = append(out.ReplicaAssignment, a)
		}
	}
	for _, name := range sortedKeys(t.configs) {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = name, kmsg.StringPtr(t.configs[name])
		out.Configs = append(out.Configs, c)
	}
	if t.nullConfig != "" {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name = t.nullConfig
		out.Configs = append(out.Configs, c)
	}
	return out
}

func (w *world) deleteTopics() step {
	version := w.version(kmsg.DeleteTopics)
	t := w.someTopic()
	how := pick(w, []string{"name", "name", "id", "id", "both", "twice", "unknown id"})
	if version < 6 && how != "twice" {
		how = "name"
	}
	if how != "both" && how != "unknown id" && how != "twice" {
		t.gone = true
	}
	return step{
		text: say("DeleteTopics", version, "%s by %s", t.name, how),
		request: func(s *side) kmsg.Request {
			request := kmsg.NewPtrDeleteTopicsRequest()
			request.Version, request.TimeoutMillis = version, adminTimeoutMillis
			request.TopicNames = []string{t.name}
			one := kmsg.NewDeleteTopicsRequestTopic()
			if how == "name" || how == "both" || how == "twice" {
				one.Topic = kmsg.StringPtr(t.name)
			}
			if how == "id" || how == "both" {
				one.TopicID = s.id(t.name)
			}
			if how == "unknown id" {
				one.TopicID = s.id("nothing")
			}
			request.Topics = append(request.Topics, one)
			if how == "twice" {
				request.TopicNames, request.Topics = append(request.TopicNames, t.name), append(request.Topics, one)
			}
			return request
		},
		after: func(s *side, response kmsg.Response) error { return s.settleDeleted(t.name, response) },
	}
}

// settleDeleted waits until a topic that was deleted is gone from the metadata.
func (s *side) settleDeleted(name string, response kmsg.Response) error {
	for _, t := range response.(*kmsg.DeleteTopicsResponse).Topics {
		if t.ErrorCode != 0 {
			return nil
		}
	}
	for range 1000 {
		response, err := s.ask(metadataOf(name))
		if err != nil {
			return err
		}
		if topics := response.(*kmsg.MetadataResponse).Topics; len(topics) == 1 && topics[0].ErrorCode != 0 {
			pause(10 * time.Millisecond) // the log goes a moment after
			return nil
		}
		pause(5 * time.Millisecond)
	}
	return fmt.Errorf("%s did not go away", name)
}

func (w *world) createPartitions() step {
	version := w.version(kmsg.CreatePartitions)
	t := w.someTopic()
	count := t.partitions + pick(w, []int32{-1, 0, 1, 1, 1, 2})
	assignment := pick(w, [][][]int32{nil, nil, nil, {{1}}, {{2}}, {{1}, {1}}, {{1, 1}}})
	validateOnly := w.chance(4)
	if count > t.partitions && !validateOnly && assignment == nil {
		t.partitions = count
	}
	return step{
		text: say("CreatePartitions", version, "%s to %d assignment %v validateOnly=%v", t.name, count, assignment, validateOnly),
		request: func(*side) kmsg.Request {
			request := kmsg.NewPtrCreatePartitionsRequest()
			request.Version, request.TimeoutMillis, request.ValidateOnly = version, adminTimeoutMillis, validateOnly
			one := kmsg.NewCreatePartitionsRequestTopic()
			one.Topic, one.Count = t.name, count
			for _, replicas := range assignment {
				a := kmsg.NewCreatePartitionsRequestTopicAssignment()
				a.Replicas = replicas
				one.Assignment = append(one.Assignment, a)
			}
			request.Topics = append(request.Topics, one)
			return request
		},
		after: func(s *side, response kmsg.Response) error {
			if r := response.(*kmsg.CreatePartitionsResponse); len(r.Topics) == 1 && r.Topics[0].ErrorCode == 0 && !validateOnly {
				return s.settlePartitions(t.name, count)
			}
			return nil
		},
	}
}

// settlePartitions waits until a topic has so many partitions.
func (s *side) settlePartitions(name string, count int32) error {
	for range 500 {
		response, err := s.ask(metadataOf(name))
		if err != nil {
			return err
		}
		if topics := response.(*kmsg.MetadataResponse).Topics; len(topics) == 1 && int32(len(topics[0].Partitions)) >= count {
			return s.settle(name)
		}
		pause(5 * time.Millisecond)
	}
	return fmt.Errorf("%s did not come to have %d partitions", name, count)
}

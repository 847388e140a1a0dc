package differential

import (
	"fmt"
	"sort"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func (w *world) metadata() step {
	version := w.version(kmsg.Metadata)
	var names []string
	for range 1 + w.r.IntN(2) {
		names = append(names, w.someTopic().name)
	}
	auto := w.chance(2)
	how := pick(w, []string{"names", "names", "names", "none", "odd name", "new name", "id", "id and name", "unknown id"})
	switch {
	case how == "odd name":
		names = []string{pick(w, []string{".", "a b", "x/y", ""})}
	case how == "new name":
		names = []string{w.newName()}
		if auto || version < 4 {
			w.addTopic(names[0], "plain", 1)
		}
	case how == "id", how == "id and name", how == "unknown id":
		if version < 10 {
			how = "names"
		}
	}
	operations := w.chance(3)
	byName := how == "names" || how == "new name" || how == "none" && version == 0
	return step{
		text: say("Metadata", version, "%s %q auto=%v operations=%v", how, names, auto, operations),
		request: func(s *side) kmsg.Request {
			request := kmsg.NewPtrMetadataRequest()
			request.Version, request.AllowAutoTopicCreation = version, auto
			request.IncludeTopicAuthorizedOperations, request.IncludeClusterAuthorizedOperations = operations, operations
			request.Topics = []kmsg.MetadataRequestTopic{}
			if how == "none" && version > 0 {
				return request
			}
			for _, name := range names {
				request.Topics = append(request.Topics, metadataTopic(s, how, name))
			}
			return request
		},
		after: func(s *side, _ kmsg.Response) error { return s.settleAuto(names, byName && (auto || version < 4)) },
	}
}

func metadataTopic(s *side, how, name string) kmsg.MetadataRequestTopic {
	t := kmsg.NewMetadataRequestTopic()
	t.Topic = kmsg.StringPtr(name)
	switch how {
	case "id":
		t.TopicID, t.Topic = s.id(name), nil
	case "id and name":
		t.TopicID = s.id(name)
	case "unknown id":
		t.TopicID, t.Topic = s.id("nothing"), nil
	}
	return t
}

// settleAuto waits for topics that the request may have created.
func (s *side) settleAuto(names []string, auto bool) error {
	if !auto {
		return nil
	}
	for range 400 {
		response, err := s.ask(metadataOf(names...))
		if err != nil {
			return err
		}
		waiting := false
		for _, t := range response.(*kmsg.MetadataResponse).Topics {
			waiting = waiting || t.ErrorCode == 3 || t.ErrorCode == 5
		}
		if !waiting {
			break
		}
		pause(5 * time.Millisecond)
	}
	var served []string
	for _, name := range names {
		if _, ok := s.ids[name]; ok && s.topics[s.ids[name]] == name {
			served = append(served, name)
		}
	}
	return s.settle(served...)
}

func (w *world) describeTopicPartitions() step {
	version := w.version(kmsg.DescribeTopicPartitions)
	a, b := w.someTopic(), w.someTopic()
	limit := pick(w, []int32{2000, 2000, 1, 2, 0, -1})
	cursor := w.chance(4)
	cursorPartition := w.r.Int32N(3)
	return step{
		text: say("DescribeTopicPartitions", version, "%s %s limit %d cursor %v %d", a.name, b.name, limit, cursor, cursorPartition),
		request: func(*side) kmsg.Request {
			request := kmsg.NewPtrDescribeTopicPartitionsRequest()
			request.Version, request.ResponsePartitionLimit = version, limit
			for _, t := range []*topic{a, b} {
				one := kmsg.NewDescribeTopicPartitionsRequestTopic()
				one.Topic = t.name
				request.Topics = append(request.Topics, one)
			}
			if cursor {
				c := kmsg.NewDescribeTopicPartitionsRequestCursor()
				c.Topic, c.Partition = b.name, cursorPartition
				request.Cursor = &c
			}
			return request
		},
	}
}

func (w *world) describeCluster() step {
	version := w.version(kmsg.DescribeCluster)
	endpoint := pick(w, []int8{1, 1, 1, 2, 0, 3})
	operations, fenced := w.chance(2), w.chance(2)
	return step{
		text: say("DescribeCluster", version, "endpoint %d operations=%v fenced=%v", endpoint, operations, fenced),
		request: func(*side) kmsg.Request {
			request := kmsg.NewPtrDescribeClusterRequest()
			request.Version, request.EndpointType = version, endpoint
			request.IncludeClusterAuthorizedOperations, request.IncludeFencedBrokers = operations, fenced
			return request
		},
	}
}

func (w *world) describeLogDirs() step {
	version := w.version(kmsg.DescribeLogDirs)
	t := w.someTopic()
	partition := w.somePartition(t)
	return step{
		text: say("DescribeLogDirs", version, "%s/%d", t.name, partition),
		request: func(*side) kmsg.Request {
			request := kmsg.NewPtrDescribeLogDirsRequest()
			request.Version = version
			one := kmsg.NewDescribeLogDirsRequestTopic()
			one.Topic, one.Partitions = t.name, []int32{partition}
			request.Topics = append(request.Topics, one)
			return request
		},
	}
}

func (w *world) describeProducers() step {
	t := w.someTopic()
	return w.describeProducersOf(t, []int32{w.somePartition(t)})
}

func (w *world) describeAllProducers(t *topic) step {
	var all []int32
	for p := range t.partitions {
		all = append(all, p)
	}
	return w.describeProducersOf(t, all)
}

func (w *world) describeProducersOf(t *topic, partitions []int32) step {
	version := w.version(kmsg.DescribeProducers)
	return step{
		text: say("DescribeProducers", version, "%s %v", t.name, partitions),
		request: func(*side) kmsg.Request {
			request := kmsg.NewPtrDescribeProducersRequest()
			request.Version = version
			one := kmsg.NewDescribeProducersRequestTopic()
			one.Topic, one.Partitions = t.name, partitions
			request.Topics = append(request.Topics, one)
			return request
		},
	}
}

// initProducerID makes a new idempotent producer, or asks with an old id.
func (w *world) initProducerID() step {
	version := w.version(kmsg.InitProducerID)
	name := fmt.Sprint("p", len(w.producers)+1)
	old := ""
	if version >= 3 && len(w.producers) > 0 && w.chance(3) {
		old = pick(w, w.producers)
	} else {
		w.producers = append(w.producers, name)
	}
	timeout := pick(w, []int32{60000, 60000, 0, -1})
	return step{
		text: say("InitProducerID", version, "%s old=%q timeout %d", name, old, timeout),
		request: func(s *side) kmsg.Request {
			request := kmsg.NewPtrInitProducerIDRequest()
			request.Version, request.TransactionTimeoutMillis = version, timeout
			request.ProducerID, request.ProducerEpoch = -1, -1
			if old != "" {
				p := s.producer(old)
				request.ProducerID, request.ProducerEpoch = p.id, p.epoch
			}
			return request
		},
		after: func(s *side, response kmsg.Response) error {
			if r := response.(*kmsg.InitProducerIDResponse); r.ErrorCode == 0 {
				s.producers[name] = producer{r.ProducerID, r.ProducerEpoch}
			}
			return nil
		},
	}
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

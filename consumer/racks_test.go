package consumer

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// KIP-881: the leader plans with the racks of the replicas, in the order of the partitions' numbers; a replica whose broker has none, or is
// away, counts for none.
func TestRacksOfPartitions(t *testing.T) {
	resp := kmsg.NewPtrMetadataResponse()
	for node, rack := range []string{"a", "b", ""} {
		b := kmsg.NewMetadataResponseBroker()
		b.NodeID = int32(node)
		if rack != "" {
			b.Rack = &rack
		}
		resp.Brokers = append(resp.Brokers, b)
	}
	topic := kmsg.NewMetadataResponseTopic()
	topic.Topic = kmsg.StringPtr("t")
	for p, replicas := range [][]int32{{2}, {1, 0}, {0, 2, 9}} {
		part := kmsg.NewMetadataResponseTopicPartition()
		part.Partition, part.Replicas = int32(p), replicas
		topic.Partitions = slices.Insert(topic.Partitions, 0, part) // brokers answer in no order
	}
	resp.Topics = append(resp.Topics, topic)
	found, err := read(resp)
	if err != nil || len(found) != 1 || found[0].Partitions != 3 {
		t.Fatalf("%+v, %v", found, err)
	}
	if want := [][]string{nil, {"b", "a"}, {"a"}}; !slices.EqualFunc(found[0].Racks, want, slices.Equal[[]string]) {
		t.Errorf("racks %v, want %v", found[0].Racks, want)
	}
	resp.Brokers = nil
	if found, err = read(resp); err != nil || found[0].Racks != nil {
		t.Errorf("a cluster without racks: %v, %v", found, err)
	}
}

// A topic that may not be described is no topic to plan with, and none to fail for.
func TestTopicsThatMayNotBeRead(t *testing.T) {
	resp := kmsg.NewPtrMetadataResponse()
	for name, err := range map[string]*kerr.Error{"no": kerr.TopicAuthorizationFailed, "yes": nil, "gone": kerr.UnknownTopicOrPartition} {
		topic := kmsg.NewMetadataResponseTopic()
		topic.Topic = &name
		if err != nil {
			topic.ErrorCode = err.Code
		}
		resp.Topics = append(resp.Topics, topic)
	}
	found, err := read(resp)
	if err != nil || len(found) != 2 {
		t.Fatalf("%+v, %v", found, err)
	}
	if planned := assigned(found); len(planned) != 1 || planned[0].Name != "yes" {
		t.Errorf("it plans with %v", planned)
	}
}

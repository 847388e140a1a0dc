package consumer

import (
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/consumer/internal/membership"
)

// What brokers answer that no broker should.

// A commit of which the broker does not speak is none, and one that was not asked for changes nothing.
func TestACommitThatIsNotAnswered(t *testing.T) {
	resp := kmsg.NewPtrOffsetCommitResponse()
	topic := kmsg.NewOffsetCommitResponseTopic()
	topic.Topic = "t"
	for _, p := range []int32{0, 7, -1} {
		part := kmsg.NewOffsetCommitResponseTopicPartition()
		part.Partition = p
		topic.Partitions = append(topic.Partitions, part)
	}
	resp.Topics = append(resp.Topics, topic)
	accepted, refused := readCommit(resp, Offsets{{Topic: "t"}: {At: 3}, {Topic: "t", Partition: 1}: {At: 4}})
	if len(accepted) != 1 || accepted[TopicPartition{Topic: "t", Partition: 0}].At != 3 {
		t.Errorf("accepted: %v", accepted)
	}
	var c Consumer
	again, err := c.judge(membership.Generation{}, refused)
	failed, ok := errors.AsType[*CommitError](err)
	if again || !ok || len(failed.Refused) != 1 || failed.Refused[TopicPartition{Topic: "t", Partition: 1}] == nil {
		t.Errorf("refused: %v", err)
	}
}

// Metadata with partitions that cannot be, and with topics that come twice.
func TestMetadataThatCannotBe(t *testing.T) {
	resp := kmsg.NewPtrMetadataResponse()
	rack := "a"
	broker := kmsg.NewMetadataResponseBroker()
	broker.NodeID, broker.Rack = 1, &rack
	resp.Brokers = append(resp.Brokers, broker)
	topic := kmsg.NewMetadataResponseTopic()
	topic.Topic = kmsg.StringPtr("t")
	for _, p := range []int32{-1, 0, 1 << 30} {
		part := kmsg.NewMetadataResponseTopicPartition()
		part.Partition, part.Replicas = p, []int32{1, -5}
		topic.Partitions = append(topic.Partitions, part)
	}
	resp.Topics = append(resp.Topics, topic, topic, kmsg.NewMetadataResponseTopic())
	found, err := read(resp)
	if err != nil || len(found) != 1 || len(found[0].Racks[0]) != 1 {
		t.Errorf("found %+v, %v", found, err)
	}
}

// No log begins or ends below 0; of times it says that there is no such record.
func TestOffsetsThatCannotBe(t *testing.T) {
	resp := kmsg.NewPtrListOffsetsResponse()
	topic := kmsg.NewListOffsetsResponseTopic()
	topic.Topic = "t"
	part := kmsg.NewListOffsetsResponseTopicPartition()
	part.Offset = -1
	topic.Partitions = append(topic.Partitions, part)
	resp.Topics = append(resp.Topics, topic)
	for ts, want := range map[int64]int{-1: 0, -2: 0, 1000: 1} {
		found := map[TopicPartition]place{}
		if err := readListed(resp, ts, found); err != nil || len(found) != want {
			t.Errorf("for %d it found %v, %v", ts, found, err)
		}
	}
	part.ErrorCode = kerr.NotLeaderForPartition.Code
	resp.Topics[0].Partitions[0] = part
	if found := map[TopicPartition]place{}; readListed(resp, -1, found) != nil || len(found) > 0 {
		t.Errorf("an error that passes is %v", found)
	}
}

package api

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Requests that name something more than once. Kafka 4.4 was asked, too.

func TestDeleteRecordsTakesTheLastMention(t *testing.T) {
	inBroker(t, nil, func(b *testBroker) {
		b.create(topic("t", 2, 1))
		b.wrote("t", 0, records("a", "b"), records("c"))
		mention := func(name string, partition int32, offset int64) kmsg.DeleteRecordsRequestTopic {
			return kmsg.DeleteRecordsRequestTopic{Topic: name, Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Partition: partition, Offset: offset}}}
		}
		req := &kmsg.DeleteRecordsRequest{Topics: []kmsg.DeleteRecordsRequestTopic{
			mention("t", 0, 99), mention("nope", 0, 0), mention("t", 1, 0), mention("t", 0, 2), mention("nope", 0, 0),
		}}
		topics := ask[*kmsg.DeleteRecordsResponse](b, 2, req).Topics
		if len(topics) != 2 || len(topics[0].Partitions) != 2 || len(topics[1].Partitions) != 1 {
			t.Fatalf("%+v, want each topic and partition once", topics)
		}
		if p := topics[0].Partitions[0]; p.Partition != 0 || p.ErrorCode != 0 || p.LowWatermark != 2 {
			t.Errorf("%+v, want it deleted up to 2", p)
		}
		if p := topics[1].Partitions[0]; p.ErrorCode != kerr.UnknownTopicOrPartition.Code {
			t.Errorf("%+v", p)
		}
	})
}

func TestDescribeLogDirsNamesEachPartitionOnce(t *testing.T) {
	inBroker(t, nil, func(b *testBroker) {
		b.create(topic("t", 2, 1))
		req := &kmsg.DescribeLogDirsRequest{Topics: []kmsg.DescribeLogDirsRequestTopic{
			{Topic: "t", Partitions: []int32{1, 1}}, {Topic: "t", Partitions: []int32{1, 0}},
		}}
		var got []int32
		for _, topic := range ask[*kmsg.DescribeLogDirsResponse](b, 4, req).Dirs[0].Topics {
			for _, p := range topic.Partitions {
				got = append(got, p.Partition)
			}
		}
		if !slices.Equal(got, []int32{1, 0}) {
			t.Errorf("partitions %v, want 1 and 0", got)
		}
	})
}

func TestDescribeProducersNamesEachPartitionOnce(t *testing.T) {
	inBroker(t, nil, func(b *testBroker) {
		b.create(topic("t", 2, 1))
		req := &kmsg.DescribeProducersRequest{Topics: []kmsg.DescribeProducersRequestTopic{
			{Topic: "t", Partitions: []int32{1, 1, 0, 9, 9}}, {Topic: "t", Partitions: []int32{1}},
		}}
		var got []int32
		for _, topic := range ask[*kmsg.DescribeProducersResponse](b, 0, req).Topics {
			for _, p := range topic.Partitions {
				got = append(got, p.Partition)
			}
		}
		if !slices.Equal(got, []int32{1, 0, 9}) {
			t.Errorf("partitions %v, want 1, 0 and 9", got)
		}
	})
}

func TestDescribeConfigsTellsAllOfAResourceOnce(t *testing.T) {
	b := start(t, nil)
	b.create(topic("t", 1, 1))
	all := kmsg.DescribeConfigsRequestResource{ResourceType: ofTopic, ResourceName: "t"}
	some := kmsg.DescribeConfigsRequestResource{ResourceType: ofTopic, ResourceName: "t", ConfigNames: []string{"retention.ms"}}
	req := &kmsg.DescribeConfigsRequest{Resources: []kmsg.DescribeConfigsRequestResource{some, all, all, some, all}}
	var got []int
	for _, r := range ask[*kmsg.DescribeConfigsResponse](b, 4, req).Resources {
		got = append(got, len(r.Configs))
	}
	if len(got) != 3 || got[0] != 1 || got[1] < 20 || got[2] != 1 {
		t.Errorf("%v settings, want one, all of them, one", got)
	}
}

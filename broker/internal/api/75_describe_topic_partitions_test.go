package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func paging(limit int32, topics ...string) *kmsg.DescribeTopicPartitionsRequest {
	req := kmsg.NewPtrDescribeTopicPartitionsRequest()
	req.ResponsePartitionLimit = limit
	for _, name := range topics {
		t := kmsg.NewDescribeTopicPartitionsRequestTopic()
		t.Topic = name
		req.Topics = append(req.Topics, t)
	}
	return req
}

func from(req *kmsg.DescribeTopicPartitionsRequest, topic string, partition int32) *kmsg.DescribeTopicPartitionsRequest {
	c := kmsg.NewDescribeTopicPartitionsRequestCursor()
	c.Topic, c.Partition = topic, partition
	req.Cursor = &c
	return req
}

// paged writes an answer as "a:0,1 b!3 >c:2": topics with partitions or error, and the cursor.
func paged(resp *kmsg.DescribeTopicPartitionsResponse) string {
	var words []string
	for _, t := range resp.Topics {
		if t.ErrorCode != 0 {
			words = append(words, fmt.Sprintf("%s!%d", *t.Topic, t.ErrorCode))
			continue
		}
		var parts []string
		for _, p := range t.Partitions {
			parts = append(parts, fmt.Sprint(p.Partition))
		}
		words = append(words, *t.Topic+":"+strings.Join(parts, ","))
	}
	if c := resp.NextCursor; c != nil {
		words = append(words, fmt.Sprintf(">%s:%d", c.Topic, c.Partition))
	}
	return strings.Join(words, " ")
}

// Kafka 4.4's pages, probed one by one.
func TestDescribeTopicPartitionsInPages(t *testing.T) {
	b := start(t, nil)
	b.create(topic("p3", 5, 1), topic("p5", 5, 1))
	for _, c := range []struct {
		req  *kmsg.DescribeTopicPartitionsRequest
		want string
	}{
		{paging(2000, "p5", "p3"), "p3:0,1,2,3,4 p5:0,1,2,3,4"},
		{paging(2000), "p3:0,1,2,3,4 p5:0,1,2,3,4"},
		{paging(50, "p3", "p3"), "p3:0,1,2,3,4"},
		{paging(3, "p5", "p3", "zz"), "p3:0,1,2 >p3:3"},
		{from(paging(3, "p5", "p3", "zz"), "p3", 3), "p3:3,4 p5:0 >p5:1"},
		{from(paging(3, "p5", "p3"), "p3", 5), "p3: p5:0,1,2 >p5:3"},
		{from(paging(3, "p5", "p3"), "p3", 9), "p3: p5:0,1,2 >p5:3"},
		{paging(5, "p5", "p3"), "p3:0,1,2,3,4 >p5:0"},
		{paging(5, "p3"), "p3:0,1,2,3,4"},
		{paging(5, "p3", "zz"), "p3:0,1,2,3,4 >zz:0"},
		{paging(0, "p5", "p3"), "p3:0 >p3:1"},
		{paging(-5, "p5", "p3"), "p3:0 >p3:1"},
		{from(paging(1), "p4", 0), "p5:0 >p5:1"},
		{paging(1, "a1", "a2", "p3"), "a1!3 a2!3 p3:0 >p3:1"},
		{paging(9, "bad name"), "bad name!17"},
		{from(paging(3, "p5", "p3"), "p4", 0), "p5!42 p3!42"},
		{from(paging(3, "p5", "p3"), "p3", -1), "p5!42 p3!42"},
	} {
		if got := paged(ask[*kmsg.DescribeTopicPartitionsResponse](b, 0, c.req)); got != c.want {
			t.Errorf("limit %d, cursor %v: %s, want %s", c.req.ResponsePartitionLimit, c.req.Cursor, got, c.want)
		}
	}
}

func TestDescribeTopicPartitionsHasALimitOfItsOwn(t *testing.T) {
	b := start(t, map[string]string{"max.request.partition.size.limit": "2"})
	b.create(topic("a", 3, 1))
	if got := paged(ask[*kmsg.DescribeTopicPartitionsResponse](b, 0, paging(100, "a"))); got != "a:0,1 >a:2" {
		t.Error(got)
	}
}

// P7.7: arrays of replicas are empty, never null.
func TestDescribeTopicPartitionsReplicasAreNeverNull(t *testing.T) {
	b := start(t, nil)
	b.create(topic("a", 1, 1))
	got := ask[*kmsg.DescribeTopicPartitionsResponse](b, 0, paging(1, "a", "x"))
	a := got.Topics[0]
	if p := a.Partitions[0]; p.EligibleLeaderReplicas == nil || p.LastKnownELR == nil || p.LeaderID != 1 || p.LeaderEpoch != 0 {
		t.Errorf("%+v", p)
	}
	if a.TopicID != b.Catalog.Snapshot().Topic("a").ID || a.AuthorizedOperations != 3576 {
		t.Errorf("%+v", a)
	}
	if got := ask[*kmsg.DescribeTopicPartitionsResponse](b, 0, paging(1, "__consumer_offsets")).Topics[0]; !got.IsInternal || got.ErrorCode != kerr.UnknownTopicOrPartition.Code {
		t.Errorf("%+v", got)
	}
}

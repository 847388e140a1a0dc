package api

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// growTo asks for a topic to have count partitions, the new ones on these brokers when any are named.
func growTo(name string, count int32, replicas ...[]int32) kmsg.CreatePartitionsRequestTopic {
	t := kmsg.NewCreatePartitionsRequestTopic()
	t.Topic, t.Count = name, count
	for _, r := range replicas {
		a := kmsg.NewCreatePartitionsRequestTopicAssignment()
		a.Replicas = r
		t.Assignment = append(t.Assignment, a)
	}
	return t
}

func growing(topics ...kmsg.CreatePartitionsRequestTopic) *kmsg.CreatePartitionsRequest {
	req := kmsg.NewPtrCreatePartitionsRequest()
	req.Topics = topics
	return req
}

// T37: the answer names each topic.
func TestCreatePartitionsGrowsATopic(t *testing.T) {
	b := start(t, nil)
	b.create(topic("a", 1, 1))
	for v := int16(0); v <= 3; v++ {
		count := 2 * int32(v+1)
		r := ask[*kmsg.CreatePartitionsResponse](b, v, growing(growTo("a", count, [][]int32{{1}, {1}}[:count-b.Catalog.Snapshot().Topic("a").Partitions]...)))
		if len(r.Topics) != 1 || r.Topics[0].Topic != "a" || r.Topics[0].ErrorCode != 0 || r.Topics[0].ErrorMessage != nil {
			t.Errorf("v%d: %+v", v, r.Topics)
		}
		if got := b.Catalog.Snapshot().Topic("a").Partitions; got != count {
			t.Errorf("v%d: %d partitions", v, got)
		}
	}
}

// Kafka 4.4's answers, probed one by one.
func TestCreatePartitionsRefusals(t *testing.T) {
	b := start(t, nil)
	b.create(topic("a", 3, 1), topic("__consumer_offsets", 3, 1))
	empty := growTo("a", 5)
	empty.Assignment = []kmsg.CreatePartitionsRequestTopicAssignment{}
	for _, c := range []struct {
		topic kmsg.CreatePartitionsRequestTopic
		want  *kerr.Error
		said  string
	}{
		{growTo("x", 5), kerr.UnknownTopicOrPartition, "<null>"},
		{growTo("bad name", 5), kerr.UnknownTopicOrPartition, "<null>"},
		{growTo("a", 3), kerr.InvalidPartitions, "already has 3"},
		{growTo("a", 1), kerr.InvalidPartitions, "would not be an increase"},
		{growTo("a", -1), kerr.InvalidPartitions, "would not be an increase"},
		{growTo("a", 5, []int32{1}), kerr.InvalidReplicaAssignment, "only 1 assignment(s)"},
		{empty, kerr.InvalidReplicaAssignment, "only 0 assignment(s)"},
		{growTo("a", 4, []int32{7}), kerr.InvalidReplicaAssignment, "broker 7"},
		{growTo("a", 4, []int32{}), kerr.InvalidReplicaAssignment, "empty"},
		{growTo("a", 10005), kerr.PolicyViolation, "Excessively large"},
		{growTo("__consumer_offsets", 4), kerr.InvalidPartitions, "cannot change"}, // Kafka grows it, and every group loses its offsets
	} {
		r := ask[*kmsg.CreatePartitionsResponse](b, 3, growing(c.topic)).Topics[0]
		if r.ErrorCode != c.want.Code || !strings.Contains(said(r.ErrorMessage), c.said) {
			t.Errorf("%s %d: %d %s", c.topic.Topic, c.topic.Count, r.ErrorCode, said(r.ErrorMessage))
		}
	}
	if got := b.Catalog.Snapshot().Topic("a").Partitions; got != 3 {
		t.Errorf("%d partitions", got)
	}
}

func TestCreatePartitionsOfATopicThatIsNamedTwice(t *testing.T) {
	b := start(t, nil)
	b.create(topic("a", 1, 1), topic("b", 1, 1))
	resp := ask[*kmsg.CreatePartitionsResponse](b, 3, growing(growTo("a", 2), growTo("b", 2), growTo("a", 3)))
	if len(resp.Topics) != 2 || resp.Topics[0].ErrorCode != kerr.InvalidRequest.Code || resp.Topics[1].ErrorCode != 0 {
		t.Errorf("%+v", resp.Topics)
	}
	s := b.Catalog.Snapshot()
	if s.Topic("a").Partitions != 1 || s.Topic("b").Partitions != 2 {
		t.Errorf("%+v, %+v", s.Topic("a"), s.Topic("b"))
	}
}

func TestCreatePartitionsValidateOnlyChangesNothing(t *testing.T) {
	b := start(t, nil)
	b.create(topic("a", 1, 1))
	req := growing(growTo("a", 9))
	req.ValidateOnly = true
	if r := ask[*kmsg.CreatePartitionsResponse](b, 3, req).Topics[0]; r.ErrorCode != 0 || b.Catalog.Snapshot().Topic("a").Partitions != 1 {
		t.Errorf("%+v", r)
	}
}

package api

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/settings"
)

func creating(topics ...kmsg.CreateTopicsRequestTopic) *kmsg.CreateTopicsRequest {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Topics = topics
	return req
}

// assigned is a topic whose partitions are placed by hand: one list of brokers each, from partition 0.
func assigned(name string, partitions int32, factor int16, replicas ...[]int32) kmsg.CreateTopicsRequestTopic {
	t := topic(name, partitions, factor)
	for i, r := range replicas {
		a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
		a.Partition, a.Replicas = int32(i), r
		t.ReplicaAssignment = append(t.ReplicaAssignment, a)
	}
	return t
}

// T37, P7.7, P7.12.
func TestCreateTopicsTellsWhatWasCreated(t *testing.T) {
	b := start(t, map[string]string{"num.partitions": "4"})
	for v := int16(2); v <= 7; v++ {
		name := "t" + string(rune('0'+v))
		r := ask[*kmsg.CreateTopicsResponse](b, v, creating(topic(name, -1, -1, "retention.ms", " 5 "))).Topics[0]
		created := b.Catalog.Snapshot().Topic(name)
		if r.ErrorCode != 0 || r.ErrorMessage != nil || created == nil || created.Partitions != 4 {
			t.Fatalf("v%d: %+v, %+v", v, r, created)
		}
		if v < 5 {
			continue
		}
		if r.NumPartitions != 4 || r.ReplicationFactor != 1 || len(r.Configs) != len(settings.Topics().All()) {
			t.Errorf("v%d: %+v", v, r)
		}
		i := slices.IndexFunc(r.Configs, func(k kmsg.CreateTopicsResponseTopicConfig) bool { return k.Name == "retention.ms" })
		if k := r.Configs[i]; said(k.Value) != " 5 " || k.Source != int8(settings.DynamicTopic) {
			t.Errorf("v%d: %+v", v, k)
		}
		if (r.TopicID == created.ID) != (v >= 7) {
			t.Errorf("v%d: id %x", v, r.TopicID)
		}
	}
}

// P7.7: an array, also when the topic is refused; and -1 for what is not known.
func TestCreateTopicsConfigsAreNeverNull(t *testing.T) {
	r := ask[*kmsg.CreateTopicsResponse](start(t, nil), 7, creating(topic("a", 0, 1))).Topics[0]
	if r.ErrorCode != kerr.InvalidPartitions.Code || r.Configs == nil || r.NumPartitions != -1 || r.ReplicationFactor != -1 || r.ConfigErrorCode != 0 {
		t.Errorf("%+v", r)
	}
}

// Kafka 4.4's answers, probed one by one.
func TestCreateTopicsRefusals(t *testing.T) {
	b := start(t, nil)
	b.create(topic("there", 1, 1), topic("a.b_c", 1, 1))
	null := topic("a", 1, 1, "retention.ms", "1")
	null.Configs[0].Value = nil
	twice := assigned("a", -1, -1, []int32{1}, []int32{1})
	twice.ReplicaAssignment[1].Partition = 0
	gap := assigned("a", -1, -1, []int32{1}, []int32{1})
	gap.ReplicaAssignment[1].Partition = 2
	for _, c := range []struct {
		topic kmsg.CreateTopicsRequestTopic
		want  *kerr.Error
		said  string
	}{
		{topic("there", 1, 1), kerr.TopicAlreadyExists, "Topic 'there' already exists."},
		{topic("there", 0, 1, "no.such", "1"), kerr.TopicAlreadyExists, "already exists"},
		{topic("a_b.c", 1, 1), kerr.InvalidTopicException, "collides with existing topic: a.b_c"},
		{topic("bad name", 0, 1, "no.such", "1"), kerr.InvalidTopicException, "ASCII alphanumerics"},
		{topic("", 1, 1), kerr.InvalidTopicException, "empty string"},
		{topic("..", 1, 1), kerr.InvalidTopicException, "'..' is not allowed"},
		{topic(strings.Repeat("y", 250), 1, 1), kerr.InvalidTopicException, "249"},
		{topic("__cluster_metadata", 1, 1), kerr.InvalidRequest, "prohibited"},
		{topic("a", 0, 1), kerr.InvalidPartitions, "non-positive"},
		{topic("a", -2, 1), kerr.InvalidPartitions, "non-positive"},
		{topic("a", 1, 0), kerr.InvalidReplicationFactor, "larger than 0"},
		{topic("a", 0, 0), kerr.InvalidReplicationFactor, "larger than 0"},
		{topic("a", 1, 2), kerr.InvalidReplicationFactor, "2 time(s)"},
		{topic("a", 10001, 1), kerr.PolicyViolation, "Excessively large"},
		{topic("a", 0, 1, "no.such", "1"), kerr.InvalidConfig, "Unknown topic config name: no.such"},
		{topic("a", 1, 1, "retention.mss", "1"), kerr.InvalidConfig, "did you mean retention.ms?"},
		{topic("a", 1, 1, "retention.ms", "abc"), kerr.InvalidConfig, "retention.ms"},
		{topic("a", 1, 1, "min.compaction.lag.ms", "5", "max.compaction.lag.ms", "4"), kerr.InvalidConfig, "conflict"},
		{null, kerr.InvalidConfig, "Null value"},
		{assigned("a", 2, -1, []int32{1}), kerr.InvalidRequest, "numPartitions"},
		{assigned("a", -1, 1, []int32{1}), kerr.InvalidRequest, "replication factor"},
		{assigned("a", -1, -1, []int32{7}), kerr.InvalidReplicaAssignment, "broker 7"},
		{assigned("a", -1, -1, []int32{1, 1}), kerr.InvalidReplicaAssignment, "more than once"},
		{assigned("a", -1, -1, []int32{}), kerr.InvalidReplicaAssignment, "empty replica list"},
		{twice, kerr.InvalidReplicaAssignment, "multiple manual"},
		{gap, kerr.InvalidReplicaAssignment, "consecutive"},
	} {
		for _, v := range []int16{2, 7} {
			r := ask[*kmsg.CreateTopicsResponse](b, v, creating(c.topic)).Topics[0]
			if r.ErrorCode != c.want.Code || !strings.Contains(said(r.ErrorMessage), c.said) {
				t.Errorf("v%d %s: %d %s, want %d %s", v, c.topic.Topic, r.ErrorCode, said(r.ErrorMessage), c.want.Code, c.said)
			}
		}
	}
	if n := len(b.Catalog.Snapshot().Topics()); n != 2 {
		t.Errorf("%d topics are there", n)
	}
}

func TestCreateTopicsThatAreNamedTwiceAreRefusedOnceAndTheOthersCreated(t *testing.T) {
	b := start(t, nil)
	got := map[string]int16{}
	for _, r := range ask[*kmsg.CreateTopicsResponse](b, 7, creating(topic("a", 1, 1), topic("b", 1, 1), topic("a", 2, 1))).Topics {
		if _, twice := got[r.Topic]; twice {
			t.Errorf("%s is answered twice", r.Topic)
		}
		got[r.Topic] = r.ErrorCode
	}
	if want := map[string]int16{"a": kerr.InvalidRequest.Code, "b": 0}; !maps.Equal(got, want) || b.Catalog.Snapshot().Topic("a") != nil {
		t.Errorf("%v", got)
	}
}

func TestCreateTopicsByHandAndNamesThatCollideInOneRequest(t *testing.T) {
	b := start(t, nil)
	b.create(assigned("hand", -1, -1, []int32{1}, []int32{1}, []int32{1}), topic("x.1", 1, 1), topic("x_1", 1, 1))
	if got := b.Catalog.Snapshot().Topic("hand"); got.Partitions != 3 {
		t.Errorf("%+v", got)
	}
}

func TestCreateTopicsValidateOnlyCreatesNothing(t *testing.T) {
	b := start(t, nil)
	req := creating(topic("a", 2, 1), topic("b", 0, 1))
	req.ValidateOnly = true
	results := ask[*kmsg.CreateTopicsResponse](b, 7, req).Topics
	if results[0].ErrorCode != 0 || results[0].NumPartitions != 2 || results[1].ErrorCode != kerr.InvalidPartitions.Code {
		t.Errorf("%+v", results)
	}
	if n := len(b.Catalog.Snapshot().Topics()); n != 0 {
		t.Errorf("%d topics are there", n)
	}
}

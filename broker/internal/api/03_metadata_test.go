package api

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/catalog"
	"github.com/skeinstream/skein/internal/vfs"
)

func metadataOf(names ...string) *kmsg.MetadataRequest {
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{}
	for _, name := range names {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = &name
		req.Topics = append(req.Topics, t)
	}
	return req
}

func metadataByIDs(ids ...catalog.ID) *kmsg.MetadataRequest {
	req := metadataOf()
	for _, id := range ids {
		t := kmsg.NewMetadataRequestTopic()
		t.TopicID = id
		req.Topics = append(req.Topics, t)
	}
	return req
}

func topicNames(topics []kmsg.MetadataResponseTopic) (all []string) {
	for _, t := range topics {
		all = append(all, said(t.Topic))
	}
	slices.Sort(all)
	return all
}

// T9: null = all, empty = none from v1; in v0 empty = all.
func TestMetadataNullMeansAllAndEmptyMeansNone(t *testing.T) {
	b := start(t, nil)
	b.create(topic("a", 1, 1), topic("b", 2, 1))
	for v := int16(0); v <= 13; v++ {
		none := metadataOf()
		want := 0
		if v == 0 {
			want = 2
		}
		if got := ask[*kmsg.MetadataResponse](b, v, none); len(got.Topics) != want {
			t.Errorf("v%d, empty list: %v", v, topicNames(got.Topics))
		}
		if v == 0 {
			continue
		}
		all := kmsg.NewPtrMetadataRequest()
		if got := ask[*kmsg.MetadataResponse](b, v, all); !slices.Equal(topicNames(got.Topics), []string{"a", "b"}) {
			t.Errorf("v%d, null: %v", v, topicNames(got.Topics))
		}
	}
}

// T9, T10, P7.16: what every version tells about the cluster and its partitions.
func TestMetadataTellsTheClusterAndItsPartitions(t *testing.T) {
	b := start(t, nil)
	b.create(topic("a", 2, 1))
	for v := int16(0); v <= 13; v++ {
		resp := ask[*kmsg.MetadataResponse](b, v, metadataOf("a"))
		node := resp.Brokers[0]
		if len(resp.Brokers) != 1 || node.NodeID != 1 || node.Host != "broker.example" || node.Port != 1234 || node.Rack != nil {
			t.Errorf("v%d: brokers %+v", v, resp.Brokers)
		}
		if v >= 1 && resp.ControllerID != 1 {
			t.Errorf("v%d: controller %d is not a listed broker", v, resp.ControllerID)
		}
		if v >= 2 && said(resp.ClusterID) != b.Catalog.ClusterID() {
			t.Errorf("v%d: cluster %s", v, said(resp.ClusterID))
		}
		got := resp.Topics[0]
		if v >= 10 && got.TopicID != b.Catalog.Snapshot().Topic("a").ID {
			t.Errorf("v%d: id %x", v, got.TopicID)
		}
		for i, p := range got.Partitions {
			epoch := int32(-1)
			if v >= 7 {
				epoch = 0
			}
			if p.Partition != int32(i) || p.Leader != 1 || p.LeaderEpoch != epoch || !slices.Equal(p.Replicas, []int32{1}) || !slices.Equal(p.ISR, []int32{1}) {
				t.Errorf("v%d: %+v", v, p)
			}
		}
		if resp.AuthorizedOperations != math.MinInt32 || got.AuthorizedOperations != math.MinInt32 {
			t.Errorf("v%d: operations that were not asked for: %d, %d", v, resp.AuthorizedOperations, got.AuthorizedOperations)
		}
	}
}

func TestMetadataAuthorizedOperationsAreThoseOfKafkaWithoutAccessControl(t *testing.T) {
	b := start(t, nil)
	b.create(topic("a", 1, 1))
	for v, cluster := range map[int16]int32{8: 8096, 10: 8096, 11: math.MinInt32, 13: math.MinInt32} {
		req := metadataOf("a")
		req.IncludeClusterAuthorizedOperations, req.IncludeTopicAuthorizedOperations = true, true
		resp := ask[*kmsg.MetadataResponse](b, v, req)
		if resp.AuthorizedOperations != cluster || resp.Topics[0].AuthorizedOperations != 3576 {
			t.Errorf("v%d: %d, %d", v, resp.AuthorizedOperations, resp.Topics[0].AuthorizedOperations)
		}
	}
}

// T9: both the request and the broker must allow it.
func TestMetadataCreatesTopicsOnlyWhenBothSidesAllowIt(t *testing.T) {
	for _, c := range []struct {
		version          int16
		request, setting bool
		want             bool
	}{
		{0, false, true, true}, // v0 to v3 have no flag and always allow it
		{3, false, true, true},
		{4, false, true, false},
		{4, true, true, true},
		{12, true, false, false},
		{12, true, true, true},
		{0, false, false, false},
	} {
		b := start(t, map[string]string{"auto.create.topics.enable": map[bool]string{true: "true", false: "false"}[c.setting], "num.partitions": "3"})
		req := metadataOf("new")
		req.AllowAutoTopicCreation = c.request
		got := ask[*kmsg.MetadataResponse](b, c.version, req).Topics[0]
		if created := b.Catalog.Snapshot().Topic("new") != nil; created != c.want {
			t.Errorf("%+v: created %v", c, created)
		}
		if c.want && len(got.Partitions) != 3 || !c.want && got.ErrorCode != kerr.UnknownTopicOrPartition.Code {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

// P7.11: with auto-creation too.
func TestMetadataOfAnInvalidNameIsInvalidTopic(t *testing.T) {
	b := start(t, nil)
	for _, version := range []int16{4, 12} {
		for _, create := range []bool{false, true} {
			req := metadataOf("bad name", "", ".", "..", strings.Repeat("x", 250))
			req.AllowAutoTopicCreation = create
			for _, got := range ask[*kmsg.MetadataResponse](b, version, req).Topics {
				if got.ErrorCode != kerr.InvalidTopicException.Code || len(got.Partitions) != 0 {
					t.Errorf("v%d %q: %d", version, *got.Topic, got.ErrorCode)
				}
			}
		}
	}
	if n := len(b.Catalog.Snapshot().Topics()); n != 0 {
		t.Errorf("%d topics were created", n)
	}
}

func TestMetadataLeavesACollidingOrInternalNameMissing(t *testing.T) {
	b := start(t, nil)
	b.create(topic("a.b", 1, 1))
	req := metadataOf("a_b", "__consumer_offsets")
	req.AllowAutoTopicCreation = true
	for _, got := range ask[*kmsg.MetadataResponse](b, 9, req).Topics {
		if got.ErrorCode != kerr.UnknownTopicOrPartition.Code || got.IsInternal != (*got.Topic == "__consumer_offsets") {
			t.Errorf("%+v", got)
		}
	}
}

// T13, Kafka 4.4 probed: by id from v12, refused in v10 and v11; unknown is UNKNOWN_TOPIC_ID with a null name; a
// request with an id in it has no names; a topic without either refuses the whole request.
func TestMetadataByID(t *testing.T) {
	b := start(t, nil)
	b.create(topic("a", 1, 1), topic("b", 1, 1))
	id := b.Catalog.Snapshot().Topic("a").ID
	unknown := id
	unknown[3]++
	for v := int16(10); v <= 13; v++ {
		resp := ask[*kmsg.MetadataResponse](b, v, metadataByIDs(id, unknown, id))
		if v < 12 {
			if got := resp.Topics[0]; got.ErrorCode != kerr.InvalidRequest.Code || got.TopicID != id || said(got.Topic) != "" || len(resp.Brokers) != 0 {
				t.Errorf("v%d: %+v", v, resp)
			}
			continue
		}
		if len(resp.Topics) != 2 || *resp.Topics[0].Topic != "a" || len(resp.Topics[0].Partitions) != 1 {
			t.Fatalf("v%d: %+v", v, resp.Topics)
		}
		if got := resp.Topics[1]; got.ErrorCode != kerr.UnknownTopicID.Code || got.Topic != nil || got.TopicID != unknown {
			t.Errorf("v%d: %+v", v, got)
		}
		mixed := metadataByIDs(id)
		mixed.Topics = append(mixed.Topics, metadataOf("b").Topics...)
		if got := ask[*kmsg.MetadataResponse](b, v, mixed); !slices.Equal(topicNames(got.Topics), []string{"a"}) {
			t.Errorf("v%d, mixed: %v", v, topicNames(got.Topics))
		}
		neither := ask[*kmsg.MetadataResponse](b, v, metadataByIDs(catalog.ID{}))
		if neither.Topics[0].ErrorCode == 0 || v == 13 && neither.ErrorCode == 0 {
			t.Errorf("v%d, neither: %+v", v, neither)
		}
	}
}

func TestMetadataAnswersForATopicOnce(t *testing.T) {
	b := start(t, nil)
	b.create(topic("a", 1, 1))
	if got := ask[*kmsg.MetadataResponse](b, 9, metadataOf("a", "missing", "a", "missing")); !slices.Equal(topicNames(got.Topics), []string{"a", "missing"}) {
		t.Errorf("%v", topicNames(got.Topics))
	}
}

func TestMetadataShowsAnOfflinePartitionWithoutLeader(t *testing.T) {
	faults := vfs.NewFaults(vfs.NewMemory())
	inBrokerOver(t, faults, func(b *testBroker) {
		faults.Fail(vfs.Rule{Op: vfs.OpCreate, Name: "data/a-1/*", Err: vfs.ErrLocked})
		b.create(topic("a", 2, 1))
		parts := ask[*kmsg.MetadataResponse](b, 12, metadataOf("a")).Topics[0].Partitions
		if p := parts[0]; p.ErrorCode != 0 || len(p.OfflineReplicas) != 0 {
			t.Errorf("%+v", p)
		}
		if p := parts[1]; p.ErrorCode != kerr.LeaderNotAvailable.Code || p.Leader != -1 || len(p.ISR) != 0 || !slices.Equal(p.OfflineReplicas, []int32{1}) {
			t.Errorf("%+v", p)
		}
	})
}

// Golden bytes of an answer without topics, classic and flexible.
func TestMetadataBytes(t *testing.T) {
	b := start(t, map[string]string{"broker.rack": "r1"})
	v1 := "00000001" + "00000001" + "000e62726f6b65722e6578616d706c65" + "000004d2" + "00027231" + "00000001" + "00000000"
	if got := b.raw(3, 1, false, unhex(t, "00000000")); !slices.Equal(got, unhex(t, v1)) {
		t.Errorf("v1: %x, want %s", got, v1)
	}
	cluster := []byte(b.Catalog.ClusterID())
	v9 := slices.Concat(unhex(t, "00"+"00000000"+"02"+"00000001"+"0f62726f6b65722e6578616d706c65"+"000004d2"+"037231"+"00"+"17"),
		cluster, unhex(t, "00000001"+"01"+"80000000"+"00"))
	if got := b.raw(3, 9, true, unhex(t, "01"+"00"+"00"+"00"+"00")); !slices.Equal(got, v9) {
		t.Errorf("v9: %x, want %x", got, v9)
	}
}

package api

import (
	"bytes"
	"context"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/vfs"
)

// T10: the leader epoch is a real one from v7 on, and goes up with every start.
func TestLeaderEpochsGrowWithEveryStart(t *testing.T) {
	fs := vfs.NewMemory()
	for want := range int32(3) {
		b := startOver(t, fs, nil)
		if want == 0 {
			b.create(topic("a", 1, 1))
		}
		if got := ask[*kmsg.MetadataResponse](b, 12, metadataOf("a")).Topics[0].Partitions[0].LeaderEpoch; got != want {
			t.Errorf("start %d: epoch %d", want, got)
		}
	}
}

// A full disk refuses changes with KAFKA_STORAGE_ERROR, answers everything else, and is forgotten when there is space.
func TestAFullDiskRefusesChangesAndNothingElse(t *testing.T) {
	faults := vfs.NewFaults(vfs.NewMemory())
	b := startOver(t, faults, nil)
	b.create(topic("a", 1, 1))
	space := faults.Fail(vfs.Rule{Op: vfs.OpWrite, Err: syscall.ENOSPC})
	full := kerr.KafkaStorageError.Code
	if r := ask[*kmsg.CreateTopicsResponse](b, 7, creating(topic("b", 1, 1))).Topics[0]; r.ErrorCode != full || r.ErrorMessage == nil {
		t.Errorf("%+v", r)
	}
	if r := ask[*kmsg.DeleteTopicsResponse](b, 6, deleting("a")).Topics[0]; r.ErrorCode != full {
		t.Errorf("%+v", r)
	}
	if r := ask[*kmsg.CreatePartitionsResponse](b, 3, growing(growTo("a", 2))).Topics[0]; r.ErrorCode != full {
		t.Errorf("%+v", r)
	}
	if r := b.increment(incrementing(ofTopic, "a", step{set, "retention.ms", "1"})); r.ErrorCode != full {
		t.Errorf("%+v", r)
	}
	req := metadataOf("a", "new")
	req.AllowAutoTopicCreation = true
	resp := ask[*kmsg.MetadataResponse](b, 12, req)
	if resp.Topics[0].ErrorCode != 0 || resp.Topics[1].ErrorCode != kerr.UnknownTopicOrPartition.Code {
		t.Errorf("%+v", resp.Topics)
	}
	space()
	b.create(topic("b", 1, 1))
}

// FuzzControlRequests feeds arbitrary bodies to every request about the cluster: they are read or refused, and never a
// panic.
func FuzzControlRequests(f *testing.F) {
	for _, e := range controlEntries() {
		for v := e.min; v <= e.max; v++ {
			req := kmsg.RequestForKey(e.key)
			req.SetVersion(v)
			f.Add(e.key, v, req.AppendTo(nil))
		}
	}
	f.Add(int16(3), int16(12), metadataOf("a", "b").AppendTo(nil))
	b := start(f, nil)
	f.Fuzz(func(t *testing.T, key, version int16, body []byte) {
		req := kmsg.RequestForKey(key)
		if req == nil || !b.Supports(key, version) {
			return
		}
		req.SetVersion(version)
		if req.ReadFrom(body) != nil {
			return
		}
		if resp := b.answer(t.Context(), req); resp != nil {
			resp.SetVersion(version)
			readable(t, key, version, resp.AppendTo(nil))
		}
	})
}

// answer calls the handler of a request that has been read.
func (b *testBroker) answer(ctx context.Context, req kmsg.Request) kmsg.Response {
	switch req := req.(type) {
	case *kmsg.MetadataRequest:
		b.autoCreate(ctx, b.topicsToCreate(b.Catalog.Snapshot(), req))
		return b.metadata(testListener, req)
	case *kmsg.ApiVersionsRequest:
		return b.apiVersions(req)
	case *kmsg.CreateTopicsRequest:
		return &kmsg.CreateTopicsResponse{Topics: b.createTopics(ctx, req)}
	case *kmsg.DeleteTopicsRequest:
		return &kmsg.DeleteTopicsResponse{Topics: b.deleteTopics(ctx, req)}
	case *kmsg.CreatePartitionsRequest:
		return &kmsg.CreatePartitionsResponse{Topics: b.createPartitions(ctx, req)}
	case *kmsg.DescribeConfigsRequest:
		return b.describeConfigs(req)
	case *kmsg.AlterConfigsRequest:
		return b.replaceConfigs(ctx, req)
	case *kmsg.IncrementalAlterConfigsRequest:
		return b.incrementConfigs(ctx, req)
	case *kmsg.DescribeClusterRequest:
		return b.describeCluster(testListener, req)
	case *kmsg.ListConfigResourcesRequest:
		return b.listConfigResources(req)
	case *kmsg.DescribeTopicPartitionsRequest:
		return b.describeTopicPartitions(req)
	default:
		return nil
	}
}

// TestHugeRequestsAreRefused: decoded, a request of small parts takes many times its size. Produce carries records.
func TestHugeRequestsAreRefused(t *testing.T) {
	h := New(Deps{})
	for key := range h.table {
		limits := h.Limits(key)
		if data := kmsg.Key(key) == kmsg.Produce; data == (limits.MaxBytes > 0) || data == (limits.Spread > 1) {
			t.Errorf("%s: %+v", kmsg.NameForKey(key), limits)
		}
	}
	b := start(t, nil)
	go func() { _, _ = b.conn.Write([]byte{0, 0x40, 0, 1, 0, 3, 0, 0}) }()
	if n, err := b.conn.Read(make([]byte, 1)); err == nil {
		t.Errorf("Metadata of 4 MiB and a byte: %d bytes of an answer, want the connection closed", n)
	}
}

// readable checks that a response says what its reader reads.
func readable(t *testing.T, key, version int16, body []byte) {
	t.Helper()
	read := kmsg.ResponseForKey(key)
	read.SetVersion(version)
	if err := read.ReadFrom(body); err != nil || !bytes.Equal(read.AppendTo(nil), body) {
		t.Errorf("%s v%d: %x is read with %v", kmsg.NameForKey(key), version, body, err)
	}
}

// TestMessagesFitTheirResponse: they repeat names, which may be as long as a string can be.
func TestMessagesFitTheirResponse(t *testing.T) {
	b := start(t, nil)
	long := strings.Repeat("é", 32767/2)
	altered := replacing(ofTopic, "a", long, long)
	for _, req := range []kmsg.Request{
		&kmsg.CreateTopicsRequest{Version: 4, Topics: []kmsg.CreateTopicsRequestTopic{topic(long, 1, 1)}},
		&kmsg.CreateTopicsRequest{Version: 4, Topics: []kmsg.CreateTopicsRequestTopic{topic("a", 1, 1, long, long)}},
		&kmsg.AlterConfigsRequest{Version: 1, Resources: altered.Resources},
		&kmsg.IncrementalAlterConfigsRequest{Version: 0, Resources: incrementing(ofBroker, long, step{set, long, long}).Resources},
		&kmsg.DescribeConfigsRequest{Version: 3, Resources: []kmsg.DescribeConfigsRequestResource{{ResourceType: ofTopic, ResourceName: long}}},
	} {
		body := b.raw(req.Key(), req.GetVersion(), false, req.AppendTo(nil))
		readable(t, req.Key(), req.GetVersion(), body)
	}
	if cut := short("x" + long); !utf8.ValidString(cut) || len(cut) > messageMax+3 {
		t.Errorf("cut to %d bytes within a letter: %q", len(cut), cut[messageMax-10:])
	}
}

// TestRequestsOfManyPartsAreRefused: each part is answered, however small it was asked for.
func TestRequestsOfManyPartsAreRefused(t *testing.T) {
	many := make([]int32, partitionsMax)
	for name, c := range map[string]struct {
		req     kmsg.Request
		refused bool
	}{
		"as many as may be": {&kmsg.DescribeLogDirsRequest{Topics: []kmsg.DescribeLogDirsRequestTopic{{Partitions: many[1:]}}}, false},
		"in one topic":      {&kmsg.DescribeLogDirsRequest{Topics: []kmsg.DescribeLogDirsRequestTopic{{Partitions: many}}}, true},
		"resources":         {&kmsg.AlterConfigsRequest{Resources: make([]kmsg.AlterConfigsRequestResource, partitionsMax+1)}, true},
	} {
		if err := checkMentions(c.req); (err != nil) != c.refused {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, e := range New(Deps{}).table {
		switch req := kmsg.RequestForKey(e.key); kmsg.Key(e.key) {
		case kmsg.Produce, kmsg.Fetch: // count while they are decoded
		case kmsg.ApiVersions, kmsg.InitProducerID, kmsg.DescribeCluster, kmsg.ListConfigResources: // name nothing
		default:
			if fill(req); mentions(req) == 0 {
				t.Errorf("%s is not counted", kmsg.NameForKey(e.key))
			}
		}
	}
}

// fill gives every array of a request an element.
func fill(req kmsg.Request) {
	v := reflect.ValueOf(req).Elem()
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Slice {
			f.Set(reflect.MakeSlice(f.Type(), 1, 1))
		}
	}
}

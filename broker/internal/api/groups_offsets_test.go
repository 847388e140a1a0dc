package api

import (
	"reflect"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/coordinator"
	"github.com/skeinstream/skein/internal/group"
)

// row is one partition of an answer about offsets.
type row struct {
	topic     string
	partition int32
	code      int16
}

// committing has a machine that answers every commit with code.
func committing(code int16) *fakeGroups {
	return &fakeGroups{answer: func(_ string, in any) (any, error) {
		return committed(in.(group.Commit).Request, code), nil
	}}
}

func (b *testBroker) rows(resp *kmsg.OffsetCommitResponse) (rows []row) {
	for _, t := range resp.Topics {
		name := t.Topic
		for _, known := range b.Catalog.Snapshot().Topics() {
			if t.TopicID == known.ID {
				name = known.Name
			}
		}
		for _, p := range t.Partitions {
			rows = append(rows, row{name, p.Partition, p.ErrorCode})
		}
	}
	return rows
}

// R-K12: partitions that are not there are refused, in the order of the client; the group decides about the others.
func TestCommitOfMissingPartitions(t *testing.T) {
	const missing, unknownID, stale = 3, 100, 22
	for _, version := range []int16{2, 9, 10} {
		g := committing(stale)
		withGroups(t, g, func(b *testBroker) {
			req := kmsg.NewPtrOffsetCommitRequest()
			req.Group = "g"
			req.Topics = []kmsg.OffsetCommitRequestTopic{b.commitOf("b", 0, 1), b.commitOf("none", 0), b.commitOf("a", -1, 3, 4, 2)}
			got := b.rows(ask[*kmsg.OffsetCommitResponse](b, version, req))
			noTopic, topic := int16(missing), "none"
			if version == 10 {
				noTopic, topic = unknownID, ""
			}
			want := []row{{"b", 0, stale}, {"b", 1, missing}, {topic, 0, noTopic}, {"a", -1, missing}, {"a", 3, stale}, {"a", 4, missing}, {"a", 2, stale}}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("v%d: %v\nwant %v", version, got, want)
			}
			in := g.inputs()[0].in.(group.Commit).Request
			want = []row{{"b", 0, 0}, {"a", 3, 0}, {"a", 2, 0}}
			if got := b.rows(committed(in, 0)); !reflect.DeepEqual(got, want) || in.Topics[1].Topic != "a" || in.Topics[1].TopicID != b.idOf("a") {
				t.Errorf("v%d: the group was asked for %v", version, in)
			}
		})
	}
}

func TestCommitOfNothingAsksNoGroup(t *testing.T) {
	g := committing(0)
	withGroups(t, g, func(b *testBroker) {
		for _, topics := range [][]kmsg.OffsetCommitRequestTopic{nil, {b.commitOf("a")}, {b.commitOf("none", 1)}, {b.commitOf("a", 9)}} {
			req := kmsg.NewPtrOffsetCommitRequest()
			req.Group, req.Topics = "g", topics
			resp := ask[*kmsg.OffsetCommitResponse](b, 9, req)
			want := slices.DeleteFunc(topics, func(t kmsg.OffsetCommitRequestTopic) bool { return len(t.Partitions) == 0 })
			if asked := g.inputs(); len(resp.Topics) != len(want) || len(asked) != 0 {
				t.Errorf("%v: %v, and the group was asked for %v", topics, resp, asked)
			}
		}
	})
}

func TestCommitGoesThroughAsItCame(t *testing.T) {
	g := committing(0)
	withGroups(t, g, func(b *testBroker) {
		req := kmsg.NewPtrOffsetCommitRequest()
		req.Group, req.Generation, req.MemberID, req.InstanceID = "g", 7, "m", pointer("i")
		req.Topics = []kmsg.OffsetCommitRequestTopic{b.commitOf("a", 1)}
		if got := b.rows(ask[*kmsg.OffsetCommitResponse](b, 9, req)); !reflect.DeepEqual(got, []row{{"a", 1, 0}}) {
			t.Errorf("%v", got)
		}
		in := g.inputs()[0]
		if got := in.in.(group.Commit).Request; in.key != "g" || !reflect.DeepEqual(got, req) {
			t.Errorf("asked %+v\nwant %+v", got, req)
		}
	})
}

// storedOffsets answers a fetch with offset 10 + partition for each partition, or with those of a and of a topic that is gone.
func storedOffsets(f group.Fetch) *kmsg.OffsetFetchResponseGroup {
	asked := f.Topics
	if f.All {
		asked = []kmsg.OffsetFetchRequestGroupTopic{{Topic: "gone", Partitions: []int32{0}}, {Topic: "a", Partitions: []int32{0, 1}}}
	}
	g := kmsg.NewOffsetFetchResponseGroup()
	g.Group = f.Group
	for _, t := range asked {
		rt := kmsg.NewOffsetFetchResponseGroupTopic()
		rt.Topic = t.Topic
		for _, p := range t.Partitions {
			rp := kmsg.NewOffsetFetchResponseGroupTopicPartition()
			rp.Partition, rp.Offset, rp.LeaderEpoch, rp.Metadata = p, 10+int64(p), 5, pointer("m")
			rt.Partitions = append(rt.Partitions, rp)
		}
		g.Topics = append(g.Topics, rt)
	}
	return &g
}

func fetching() *fakeGroups {
	return &fakeGroups{answer: func(name string, in any) (any, error) {
		switch f := in.(group.Fetch); name {
		case "loading":
			return nil, coordinator.ErrLoading
		case "refused":
			return &kmsg.OffsetFetchResponseGroup{Group: name, ErrorCode: kerr.StaleMemberEpoch.Code}, nil
		default:
			return storedOffsets(f), nil
		}
	}}
}

func TestOffsetFetchOldForms(t *testing.T) {
	g := fetching()
	withGroups(t, g, func(b *testBroker) {
		for v := int16(1); v < fetchManyGroups; v++ {
			req := kmsg.NewPtrOffsetFetchRequest()
			req.Group, req.RequireStable = "g", true
			req.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: "b", Partitions: []int32{7}}, {Topic: "none", Partitions: []int32{1, 0, 1}}}
			got := ask[*kmsg.OffsetFetchResponse](b, v, req)
			in := g.inputs()[0].in.(group.Fetch)
			if in.RequireStable != (v >= 7) || in.All || in.Group != "g" {
				t.Errorf("v%d: asked %+v", v, in)
			}
			if len(got.Topics) != 2 || got.Topics[0].Topic != "b" || got.Topics[1].Topic != "none" || len(got.Topics[1].Partitions) != 2 {
				t.Fatalf("v%d: %+v", v, got)
			}
			p := got.Topics[1].Partitions[0]
			if p.Partition != 1 || p.Offset != 11 || said(p.Metadata) != "m" || p.ErrorCode != 0 || (p.LeaderEpoch == 5) != (v >= 5) {
				t.Errorf("v%d: %+v", v, p)
			}
			req.Topics = nil
			got = ask[*kmsg.OffsetFetchResponse](b, v, req)
			if in := g.inputs()[0].in.(group.Fetch); in.All != (v >= 2) || len(got.Topics) != 2 && v >= 2 {
				t.Errorf("v%d, all: asked %+v, got %+v", v, in, got)
			}
			req.Topics = []kmsg.OffsetFetchRequestTopic{}
			if got = ask[*kmsg.OffsetFetchResponse](b, v, req); len(got.Topics) != 0 || g.inputs()[0].in.(group.Fetch).All {
				t.Errorf("v%d, nothing: %+v", v, got)
			}
		}
	})
}

// Before v2 there is no place for the error of a group, and each partition carries it; never an empty offset (T31).
func TestOffsetFetchErrorsOfAGroup(t *testing.T) {
	withGroups(t, fetching(), func(b *testBroker) {
		req := kmsg.NewPtrOffsetFetchRequest()
		req.Group, req.Topics = "loading", []kmsg.OffsetFetchRequestTopic{{Topic: "a", Partitions: []int32{1, 2}}}
		got := ask[*kmsg.OffsetFetchResponse](b, 1, req)
		if len(got.Topics) != 1 || len(got.Topics[0].Partitions) != 2 {
			t.Fatalf("%+v", got)
		}
		for _, p := range got.Topics[0].Partitions {
			if p.ErrorCode != kerr.CoordinatorLoadInProgress.Code || p.Offset != -1 || said(p.Metadata) != "" {
				t.Errorf("%+v", p)
			}
		}
		if got = ask[*kmsg.OffsetFetchResponse](b, 7, req); got.ErrorCode != kerr.CoordinatorLoadInProgress.Code || len(got.Topics) != 0 {
			t.Errorf("%+v", got)
		}
		req.Groups = []kmsg.OffsetFetchRequestGroup{{Group: "loading"}, {Group: "g"}, {Group: "refused"}, {Group: "g"}}
		got = ask[*kmsg.OffsetFetchResponse](b, 8, req)
		var codes []int16
		for _, g := range got.Groups {
			codes = append(codes, g.ErrorCode)
		}
		if want := []int16{14, 0, 113}; !reflect.DeepEqual(codes, want) || len(got.Groups[1].Topics) != 2 {
			t.Errorf("%v, want %v: %+v", codes, want, got)
		}
	})
}

// v10 names topics by id: an unknown one is an error, in its place, and a topic that has no id any more is left out.
func TestOffsetFetchByTopicID(t *testing.T) {
	g := fetching()
	withGroups(t, g, func(b *testBroker) {
		topicOf := func(name string, partitions ...int32) kmsg.OffsetFetchRequestGroupTopic {
			return kmsg.OffsetFetchRequestGroupTopic{TopicID: b.idOf(name), Partitions: partitions}
		}
		req := kmsg.NewPtrOffsetFetchRequest()
		req.Groups = []kmsg.OffsetFetchRequestGroup{
			{Group: "g", Topics: []kmsg.OffsetFetchRequestGroupTopic{topicOf("b", 0), topicOf("none", 1, 2), topicOf("a", 3)}},
			{Group: "h"},
		}
		got := ask[*kmsg.OffsetFetchResponse](b, 10, req)
		topics := got.Groups[0].Topics
		if len(topics) != 3 || topics[0].TopicID != b.idOf("b") || topics[1].TopicID != b.idOf("none") || topics[2].TopicID != b.idOf("a") {
			t.Fatalf("%+v", topics)
		}
		if p := topics[1].Partitions; len(p) != 2 || p[1].ErrorCode != kerr.UnknownTopicID.Code || p[1].Offset != -1 || p[1].LeaderEpoch != -1 || p[1].Partition != 2 {
			t.Errorf("unknown topic: %+v", p)
		}
		if p := topics[2].Partitions[0]; p.Offset != 13 || p.ErrorCode != 0 {
			t.Errorf("known topic: %+v", p)
		}
		if in := g.inputs()[0].in.(group.Fetch); len(in.Topics) != 2 || in.Topics[0].Topic != "b" || in.Topics[1].Topic != "a" {
			t.Errorf("asked %+v", in)
		}
		if all := got.Groups[1].Topics; len(all) != 1 || all[0].TopicID != b.idOf("a") || len(all[0].Partitions) != 2 {
			t.Errorf("all of h: %+v", all)
		}
	})
}

// An offset of an earlier topic is not one of a topic that has its name now.
func TestOffsetFetchMeansTheTopicThatThereIs(t *testing.T) {
	g := &fakeGroups{answer: func(_ string, in any) (any, error) {
		resp := storedOffsets(in.(group.Fetch))
		for i := range resp.Topics {
			if resp.Topics[i].Topic == "a" {
				resp.Topics[i].TopicID = [16]byte{1} // of a topic that was deleted
			}
		}
		return resp, nil
	}}
	withGroups(t, g, func(b *testBroker) {
		req := kmsg.NewPtrOffsetFetchRequest()
		req.Group, req.Topics = "g", []kmsg.OffsetFetchRequestTopic{{Topic: "none", Partitions: []int32{0}}, {Topic: "b", Partitions: []int32{0}}}
		ask[*kmsg.OffsetFetchResponse](b, 5, req)
		in := g.inputs()[0].in.(group.Fetch)
		if in.Topics[0].TopicID != [16]byte{} || in.Topics[1].TopicID != b.idOf("b") {
			t.Errorf("asked %+v", in)
		}
		req.Topics = nil
		if got := ask[*kmsg.OffsetFetchResponse](b, 5, req); len(got.Topics) != 1 || got.Topics[0].Topic != "gone" {
			t.Errorf("all: %+v", got)
		}
	})
}

func TestOffsetDelete(t *testing.T) {
	var whole int16
	g := &fakeGroups{answer: func(_ string, in any) (any, error) {
		resp := kmsg.NewPtrOffsetDeleteResponse()
		if resp.ErrorCode = whole; whole != 0 {
			return resp, nil
		}
		for _, t := range in.(group.DeleteOffsets).Request.Topics {
			rt := kmsg.NewOffsetDeleteResponseTopic()
			rt.Topic = t.Topic
			for _, p := range t.Partitions {
				rt.Partitions = append(rt.Partitions, kmsg.OffsetDeleteResponseTopicPartition{Partition: p.Partition, ErrorCode: int16(p.Partition) * 86})
			}
			resp.Topics = append(resp.Topics, rt)
		}
		return resp, nil
	}}
	of := func(name string, partitions ...int32) kmsg.OffsetDeleteRequestTopic {
		t := kmsg.NewOffsetDeleteRequestTopic()
		t.Topic = name
		for _, p := range partitions {
			t.Partitions = append(t.Partitions, kmsg.OffsetDeleteRequestTopicPartition{Partition: p})
		}
		return t
	}
	withGroups(t, g, func(b *testBroker) {
		req := kmsg.NewPtrOffsetDeleteRequest()
		req.Group, req.Topics = "g", []kmsg.OffsetDeleteRequestTopic{of("none", 0), of("a", 1, 4, 0), of("b", 1)}
		var rows []row
		for _, t := range ask[*kmsg.OffsetDeleteResponse](b, 0, req).Topics {
			for _, p := range t.Partitions {
				rows = append(rows, row{t.Topic, p.Partition, p.ErrorCode})
			}
		}
		want := []row{{"none", 0, 3}, {"a", 1, 86}, {"a", 4, 3}, {"a", 0, 0}, {"b", 1, 3}}
		if !reflect.DeepEqual(rows, want) {
			t.Errorf("%v, want %v", rows, want)
		}
		g.inputs()
		whole = kerr.NonEmptyGroup.Code
		if got := ask[*kmsg.OffsetDeleteResponse](b, 0, req); got.ErrorCode != whole || len(got.Topics) != 0 {
			t.Errorf("%+v", got)
		}
		g.inputs()
		req.Topics = []kmsg.OffsetDeleteRequestTopic{of("none", 0)}
		if got := ask[*kmsg.OffsetDeleteResponse](b, 0, req); got.ErrorCode != whole || len(g.inputs()) != 1 {
			t.Errorf("nothing that there is, of a group that is unknown: %+v", got)
		}
		whole = 0
		if got := ask[*kmsg.OffsetDeleteResponse](b, 0, req); got.ErrorCode != 0 || len(got.Topics) != 1 || got.Topics[0].Partitions[0].ErrorCode != 3 {
			t.Errorf("nothing that there is: %+v", got)
		}
	})
}

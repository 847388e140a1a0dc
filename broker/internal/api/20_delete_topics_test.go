package api

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/catalog"
)

// deleting asks for names, in the fields of every version.
func deleting(names ...string) *kmsg.DeleteTopicsRequest {
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TopicNames = names
	for _, name := range names {
		t := kmsg.NewDeleteTopicsRequestTopic()
		t.Topic = &name
		req.Topics = append(req.Topics, t)
	}
	return req
}

func deletingIDs(ids ...catalog.ID) *kmsg.DeleteTopicsRequest {
	req := kmsg.NewPtrDeleteTopicsRequest()
	for _, id := range ids {
		t := kmsg.NewDeleteTopicsRequestTopic()
		t.TopicID = id
		req.Topics = append(req.Topics, t)
	}
	return req
}

func TestDeleteTopicsByNameAndByID(t *testing.T) {
	b := start(t, nil)
	for v := int16(1); v <= 6; v++ {
		b.create(topic("a", 1, 1), topic("b", 1, 1))
		id := b.Catalog.Snapshot().Topic("b").ID
		r := ask[*kmsg.DeleteTopicsResponse](b, v, deleting("a")).Topics[0]
		if r.ErrorCode != 0 || *r.Topic != "a" || b.Catalog.Snapshot().Topic("a") != nil {
			t.Errorf("v%d: %+v", v, r)
		}
		if v < 6 {
			ask[*kmsg.DeleteTopicsResponse](b, v, deleting("b"))
			continue
		}
		r = ask[*kmsg.DeleteTopicsResponse](b, v, deletingIDs(id)).Topics[0]
		if r.ErrorCode != 0 || said(r.Topic) != "b" || r.TopicID != id || b.Catalog.Snapshot().Topic("b") != nil {
			t.Errorf("v%d by id: %+v", v, r)
		}
	}
	if n := len(b.Catalog.Snapshot().Deleted()); n != 12 {
		t.Errorf("%d topics wait for their files to go", n)
	}
}

// Kafka 4.4's answers, probed one by one. Each topic is answered for once.
func TestDeleteTopicsRefusals(t *testing.T) {
	b := start(t, nil)
	b.create(topic("a", 1, 1))
	id, unknown := b.Catalog.Snapshot().Topic("a").ID, catalog.ID{1}
	nameAndID := deleting("a")
	nameAndID.Topics = append(nameAndID.Topics, deletingIDs(id).Topics...)
	idAndName := deletingIDs(id)
	idAndName.Topics = append(idAndName.Topics, deleting("a").Topics...)
	both := deleting("a")
	both.Topics[0].TopicID = id
	for _, c := range []struct {
		what    string
		version int16
		req     *kmsg.DeleteTopicsRequest
		want    *kerr.Error
		said    string
	}{
		{"missing", 1, deleting("x"), kerr.UnknownTopicOrPartition, "<null>"},
		{"missing", 5, deleting("x"), kerr.UnknownTopicOrPartition, "does not host"},
		{"missing", 6, deleting("bad name"), kerr.UnknownTopicOrPartition, "does not host"},
		{"unknown id", 6, deletingIDs(unknown), kerr.UnknownTopicID, "topic ID"},
		{"neither", 6, deletingIDs(catalog.ID{}), kerr.InvalidRequest, "Neither"},
		{"both", 6, both, kerr.InvalidRequest, "both topic name and topic id"},
		{"twice", 5, deleting("a", "a"), kerr.InvalidRequest, "Duplicate topic name"},
		{"twice", 6, deleting("a", "a"), kerr.InvalidRequest, "Duplicate topic name"},
		{"id twice", 6, deletingIDs(id, id), kerr.InvalidRequest, "Duplicate topic id"},
		{"name, then id", 6, nameAndID, kerr.InvalidRequest, "maps to an ID"},
		{"id, then name", 6, idAndName, kerr.InvalidRequest, "maps to an ID"},
	} {
		resp := ask[*kmsg.DeleteTopicsResponse](b, c.version, c.req)
		if len(resp.Topics) != 1 {
			t.Errorf("%s: %d answers", c.what, len(resp.Topics))
			continue
		}
		r := resp.Topics[0]
		if r.ErrorCode != c.want.Code || !strings.Contains(said(r.ErrorMessage), c.said) {
			t.Errorf("%s v%d: %d %s", c.what, c.version, r.ErrorCode, said(r.ErrorMessage))
		}
	}
	if b.Catalog.Snapshot().Topic("a") == nil {
		t.Error("a was deleted")
	}
}

func TestDeleteTopicsWhenDeletionIsDisabled(t *testing.T) {
	b := start(t, map[string]string{"delete.topic.enable": "false"})
	b.create(topic("a", 1, 1))
	for v, want := range map[int16]int16{1: kerr.InvalidRequest.Code, 3: kerr.TopicDeletionDisabled.Code, 6: kerr.TopicDeletionDisabled.Code} {
		if r := ask[*kmsg.DeleteTopicsResponse](b, v, deleting("a")).Topics[0]; r.ErrorCode != want {
			t.Errorf("v%d: %d", v, r.ErrorCode)
		}
	}
}

func TestDeleteTopicsDeletesWhatItCan(t *testing.T) {
	b := start(t, nil)
	b.create(topic("a", 1, 1), topic("b", 1, 1))
	resp := ask[*kmsg.DeleteTopicsResponse](b, 6, deleting("a", "x", "b"))
	if len(resp.Topics) != 3 || resp.Topics[1].ErrorCode == 0 || len(b.Catalog.Snapshot().Topics()) != 0 {
		t.Errorf("%+v", resp.Topics)
	}
}
